"""Jobs: every client of every process is another one, and the database's log gives the SQL."""

from contextlib import nullcontext
from itertools import cycle
from pathlib import Path

import msgspec
import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Value
from headroom.recording.observers.postgres import Connection
from headroom.systems.catalogue.measured import direct
from headroom.systems.catalogue.measured.direct import general, logged, statements_of
from headroom.systems.catalogue.measured.jobs import fill_job, load_jobs
from headroom.systems.catalogue.measured.parameters import Served, line_names

CONFIG: dict[str, Value] = msgspec.to_builtins(Served())
SQL = {"insert": ["insert"], "query": ["select"]}


def jobs(**levels: Value) -> list[dict[str, object]]:
    found = load_jobs(
        {**CONFIG, **levels}, seed=7, certificates=Path("/c"),
        addresses=["127.0.0.1:1", "127.0.0.1:2"],
        statements=SQL, known=5, seconds=1.0, new_prefix="run1-",
    )  # fmt: skip
    return list(found)


@pytest.mark.parametrize("clients", [1, 3, 10])
def test_processes_share_clients_without_a_gap(clients: int) -> None:
    numbers: list[int] = []
    for job in jobs(clients=clients, processes=4):
        load, entries = job["load"], job["entries"]
        assert isinstance(load, dict)
        assert isinstance(entries, dict)
        first = entries["first_client"]
        numbers += range(first, first + load["clients"])
    assert numbers == list(range(clients))


def test_processes_share_a_rate_and_have_seeds_of_their_own() -> None:
    found = jobs(clients=10, processes=4, rate_per_s=50.0)
    rates = [job["load"]["rate_per_s"] for job in found if isinstance(job["load"], dict)]
    assert rates == pytest.approx([15.0, 15.0, 10.0, 10.0])
    assert len({job["seed"] for job in found}) == len(found)


@pytest.mark.parametrize(
    ("case", "kind", "has_tls", "connections"),
    [
        (1, "amga", True, "per_operation"),
        (2, "amga", False, "per_operation"),
        (3, "amga", False, "per_client"),
        (4, "postgres", False, "per_client"),
    ],
)
def test_a_case_decides_target_and_connections(
    case: int, kind: str, *, has_tls: bool, connections: str
) -> None:
    (job,) = jobs(case=case)
    target = job["target"]
    assert isinstance(target, dict)
    assert (target["kind"], "tls" in target, job["connections"]) == (kind, has_tls, connections)
    assert ("insert" in target) == (case == 4)


@pytest.mark.parametrize("word", ["Parameters", "parameters"])
def test_a_log_gives_statements_with_values(word: str) -> None:
    """PostgreSQL 15 and older write the word small."""
    log = (
        "1 [7] LOG:  statement: BEGIN\n"
        "1 [7] LOG:  execute s3: SELECT a\n\tFROM t WHERE n = $1 AND v = $2\n"
        f"1 [7] DETAIL:  {word}: $1 = 'it''s $2', $2 = NULL\n"
        "1 [7] ERROR:  nothing\n"
        "1 [7] LOG:  execute <unnamed>: COMMIT\n"
    )
    whole = "SELECT a FROM t WHERE n = 'it''s $2' AND v = NULL"
    assert logged(log) == ["BEGIN", whole, "COMMIT"]


def test_the_name_of_an_entry_and_guid_become_placeholders() -> None:
    text = "INSERT VALUES ('12', 'probe-0-3', '0000000000000000b4d055fcf2cbbd7b')"
    assert general(text, "probe-") == "INSERT VALUES ('12', '{name}', '{guid}')"
    assert general("SELECT 'known-17', 'other-1'", "probe-") == "SELECT '{name}', 'other-1'"


def test_a_direct_architecture_opens_connections_to_the_database() -> None:
    for case, has_tls in ((1, True), (2, False)):
        (job,) = jobs(case=case, architecture="direct", pause_s=0.5)
        target = job["target"]
        assert isinstance(target, dict)
        assert (target["kind"], "tls" in target) == ("postgres", has_tls)
        assert (job["connections"], job["pause_s"]) == ("per_operation", 0.5)


def test_a_fill_has_no_more_connections_than_there_are_processes() -> None:
    config = {**CONFIG, "architecture": "process", "workers": 3}
    assert fill_job(config, address="127.0.0.1:1", known=5)["load"]["connections"] == 3


def test_ten_thousand_clients_share_two_lines() -> None:
    far = {**CONFIG, "clients": 10_000, "rtt_s": 0.3}
    assert line_names({**far, "processes": 2}) == ["line", "line1"]
    assert line_names({**far, "processes": 1}) == ["line"]
    assert line_names({**far, "rtt_s": 0.0}) == []
    targets = [job["target"] for job in jobs(clients=10_000, processes=2, rtt_s=0.3)]
    addresses = [target["address"] for target in targets if isinstance(target, dict)]
    assert addresses == ["127.0.0.1:1", "127.0.0.1:2"]


class Settings(Connection):
    """Connected to nothing."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def rows(self, query: str) -> list[list[str]]:
        """Remember what the database is told."""
        self.told.append(query)
        return []


INSERT = "LOG:  execute s1: INSERT VALUES ('{0}0-0')\n"
LINKED = "LOG:  execute s2: UPDATE dir SET last = '{0}0-0'\n"


@pytest.mark.parametrize(
    ("operations", "statements"),
    [
        pytest.param(
            ["", "", LINKED, INSERT + LINKED, INSERT + LINKED],
            ["INSERT VALUES ('{name}')", "UPDATE dir SET last = '{name}'"],
            id="sessions learn of the setting one after the other",
        ),
        pytest.param(["", "LOG:  statement: COMMIT\n"], None, id="no entry is named"),
        pytest.param([LINKED, INSERT], None, id="others come each time"),
    ],
)
def test_the_log_counts_once_all_sessions_write_to_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    operations: list[str],
    statements: list[str] | None,
) -> None:
    monkeypatch.setattr(direct, "_PAUSE_S", 0.0)
    log = tmp_path / "log"
    log.write_text(INSERT.format("probe-before-"))
    coming = cycle(operations)
    names: list[str] = []

    def operate(prefix: str) -> None:
        names.append(prefix)
        with log.open("a") as file:
            file.write(next(coming).format(prefix))

    settings = Settings()
    with pytest.raises(EnvironmentUnfitError) if statements is None else nullcontext():
        assert statements_of(settings, log, operate, new_prefix="probe-") == statements
    assert len({*names}) == len(names), "no entry is inserted twice"
    assert settings.told[-2:] == ["alter system reset log_statement", "select pg_reload_conf()"]
