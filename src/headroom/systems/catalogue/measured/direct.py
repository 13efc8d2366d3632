"""The SQL that the catalogue leaves in the database's log, for clients of the database.

The paper took the statements of its case 4 from the log of case 3. So does this module: it lets the
database log one operation, and replaces the entry's name and GUID by the load's placeholders.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headroom.errors import EnvironmentUnfitError
from headroom.recording.observers.postgres import Connection
from headroom.systems.catalogue.measured.jobs import KNOWN_PREFIX

_STATEMENT = re.compile(r"LOG: {2}(?:execute [^:]*|statement): ")
_PARAMETERS = re.compile(r"DETAIL: {2}parameters: ", re.IGNORECASE)
_OTHER = re.compile(r"^\S.*(?:LOG|DETAIL|ERROR|WARNING|FATAL|STATEMENT|HINT): {2}")
_VALUE = re.compile(r"\$(\d+) = ('(?:[^']|'')*'|NULL)")
_NUMBER = re.compile(r"\$(\d+)")
_GUID = re.compile(r"(?<=')[0-9a-f]{32}(?=')")
_OWN = ("alter system", "select pg_reload_conf")
_LATER = re.compile(r"^(begin|start transaction|commit)\b", re.IGNORECASE)
_TRIES = 100
_PAUSE_S = 0.05
"""Operations by which the log must show their statements, and the time between two of them."""


def statements_of(
    connection: Connection, log: Path, operate: Callable[[str], object], *, new_prefix: str
) -> list[str]:
    """Return the statements of one operation, without those that begin and end a transaction.

    The sessions of a database learn of a setting some time after it was made, each by itself. So
    the operation is repeated until two in a row leave the same statements.

    Parameters
    ----------
    connection
        To the database, of a user who may change its settings.
    log
        Its log.
    operate
        Carries the operation out by way of the catalogue; it gets the beginning of the name of an
        entry that it inserts, which is new each time.
    new_prefix
        What all those beginnings have in common.

    Raises
    ------
    EnvironmentUnfitError
        The log shows no statement that names the entry, or never the same statements twice.
    """
    connection.rows("alter system set log_statement = 'all'")
    connection.rows("select pg_reload_conf()")
    before: list[str] = []
    try:
        for number in range(_TRIES):
            begun = log.stat().st_size
            operate(f"{new_prefix}{number}-")
            with log.open("rb") as file:
                file.seek(begun)
                found = _of_entry(file.read().decode(errors="replace"), new_prefix)
            if found and found == before:
                return found
            before = found
            time.sleep(_PAUSE_S)
    finally:
        connection.rows("alter system reset log_statement")
        connection.rows("select pg_reload_conf()")
    raise EnvironmentUnfitError(
        "the database's log does not show the catalogue's statements",
        cure="take a PostgreSQL that logs `execute` with its parameters",
    )


def _of_entry(text: str, new_prefix: str) -> list[str]:
    """Return the statements of a log that may be repeated; empty if none names the entry."""
    found = [general(one, new_prefix) for one in logged(text)]
    kept = [one for one in found if not _LATER.match(one) and not one.startswith(_OWN)]
    return kept if any("{name}" in one for one in kept) else []


def logged(text: str) -> list[str]:
    r"""Return the statements of a log, each with its values in place of `$1`, `$2`.

    Examples
    --------
    >>> logged("x LOG:  execute s1: SELECT a\n\tFROM t WHERE b = $1\n"
    ...        "x DETAIL:  Parameters: $1 = 'it''s'\nx LOG:  statement: COMMIT\n")
    ["SELECT a FROM t WHERE b = 'it''s'", 'COMMIT']
    """
    found: list[str] = []
    is_statement = False
    for line in text.splitlines():
        if begin := _STATEMENT.search(line):
            found.append(line[begin.end() :])
            is_statement = True
        elif parameters := _PARAMETERS.search(line):
            if found:
                found[-1] = _with_values(found[-1], dict(_VALUE.findall(line[parameters.end() :])))
            is_statement = False
        elif _OTHER.match(line):
            is_statement = False
        elif is_statement:
            found[-1] += f" {line.strip()}"
    return found


def _with_values(statement: str, values: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda found: values.get(found[1], found[0]), statement)


def general(statement: str, new_prefix: str) -> str:
    """Return a statement with `{name}` and `{guid}` in place of those of its entry.

    Examples
    --------
    >>> general("VALUES ('new-0-7', '0000000000000000b4d055fcf2cbbd7b')", "new-")
    "VALUES ('{name}', '{guid}')"
    """
    names: Sequence[str] = (re.escape(new_prefix), re.escape(KNOWN_PREFIX))
    named = re.sub(rf"'(?:{'|'.join(names)})[0-9-]+'", "'{name}'", statement)
    return _GUID.sub("{guid}", named)
