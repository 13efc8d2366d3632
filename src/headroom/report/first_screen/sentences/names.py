"""Names in sentences: parts, metrics, levels and settings, in the words of the study.

Invariant: a name is written as its user wrote it, underscores apart.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.answer_evidence import Level, Part
from headroom.analysis.evidence import AppliedChange
from headroom.experiment.protocol.system import Value
from headroom.quantities import brief_levels, format_level, format_plain
from headroom.report.first_screen.sentences.sentence import NO_BREAK, number, plain
from headroom.report.sentences.numbers import list_words
from headroom.report.titles import level_title, title_of

_PLAIN_NAME = re.compile(r"[\w][\w \-./+]*", re.ASCII)
_NUMBERED = re.compile(r"^[\w ]+ \d+$")
_SEVERAL = re.compile(r"[,;:]| and | or |  ")
_AFTER_NOUN = re.compile(r" (?:with|of|near|for|on|in|from|to|at|by|behind|without|that|who) ")
"""What follows the noun of a title."""
_DOING = re.compile(r"\w+ing(?:$| (?:a|an|the|\d))")
_SINGULAR = ("ss", "us", "is")
_PLURAL = ("cpus", "gpus")
_LARGEST_EXACT = 1e15
_ORDINALS: dict[float, str] = {
    2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth",
    9: "ninth", 10: "tenth",
}  # fmt: skip
_BOUGHT = {"cores", "cpus", "processors", "disks", "nodes", "machines", "gpus"}
"""What is bought; everything else is given."""
_UNIT_WORDS = {"bytes": "B", "ms": "ms", "us": "µs", "s": "s", "mhz": "MHz", "kib": "KiB"}


@dataclass(frozen=True, slots=True)
class Noun:
    """A part of a system as the subject of a sentence."""

    text: str
    is_plural: bool

    def verb(self, singular: str, plural: str) -> str:
        """Return the form of a verb that fits."""
        return plural if self.is_plural else singular


def noun(part: Part) -> Noun:
    """Return a part with its article.

    Examples
    --------
    >>> noun(Part(kind="station", name="database")), noun(Part(kind="system", name=""))
    (Noun(text='the database', is_plural=False), Noun(text='the system', is_plural=False))
    >>> noun(Part(kind="station", name="machine.cpu")).text
    'the processors of the machine'
    >>> noun(Part(kind="station", name="machine.server.cpu")).text
    'the processors of the server'
    >>> noun(Part(kind="station", name="program.busiest_thread")).text
    'the busiest thread of the load program'
    >>> noun(Part(kind="station", name="site 1")).text
    'site 1'
    >>> noun(Part(kind="pool", name="connections")), noun(Part(kind="station", name="a, b")).text
    (Noun(text='the connections', is_plural=True), 'the "a, b"')
    """
    if not part.name:
        return Noun("the system", is_plural=False)
    owner, _, kind = plain(part.name).rpartition(".")
    if owner and kind == "cpu":
        for prefix in ("service.", "cgroup.", "machine."):
            owner = owner.removeprefix(prefix)
        return Noun(f"the processors of the {owner}", is_plural=True)
    if owner and kind == "busiest_thread":
        owner = owner.removeprefix("service.")
        whose = "the load program" if owner == "program" else owner
        return Noun(f"the busiest thread of {whose}", is_plural=False)
    if title := title_of(part.name):
        return Noun(title, is_plural=is_plural(title))
    name = plain(part.name)
    if _NUMBERED.search(name):
        return Noun(name, is_plural=False)
    shown = name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
    return Noun(f"the {shown}", is_plural=is_plural(name))


def is_plural(name: str) -> bool:
    """Return whether a name is a plural, by its ending.

    Examples
    --------
    >>> is_plural("users"), is_plural("bus"), is_plural("cpus"), is_plural("load")
    (True, False, True, False)
    >>> is_plural("pages near their writer"), is_plural("a catalogue with connections")
    (True, False)
    >>> is_plural("sorting a million lines")
    False
    """
    if _DOING.match(name):
        return False
    last = _AFTER_NOUN.split(name.replace("_", " "), maxsplit=1)[0].rpartition(" ")[2].lower()
    return last.endswith(_PLURAL) or (last.endswith("s") and not last.endswith(_SINGULAR))


def singular(name: str) -> str:
    """Return the singular of a name that is a plural.

    Examples
    --------
    >>> singular("database cores"), singular("processes"), singular("copies"), singular("cpus")
    ('database core', 'process', 'copy', 'cpu')
    >>> singular("batches"), singular("caches")
    ('batch', 'cache')
    """
    if not is_plural(name):
        return name
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    is_longer = name.endswith(("sses", "shes", "ches", "xes")) and not name.endswith("caches")
    return name[:-2] if is_longer else name[:-1]


def factor_words(name: str, unit: str = "1") -> str:
    """Return the name of a factor or parameter in a sentence, without a unit that follows anyway.

    Examples
    --------
    >>> factor_words("database_cores"), factor_words("block_bytes", "B"), factor_words("bytes", "B")
    ('database cores', 'block', '')
    """
    if title := title_of(name):
        return title
    words = plain(name).split("_")
    is_unit = unit not in {"", "1"} and words[-1].lower() in _UNIT_WORDS
    return " ".join(words[:-1] if is_unit else words)


def unit_of_name(name: str) -> str:
    """Return the unit that a name ends with, ``"1"`` if there is none."""
    return _UNIT_WORDS.get(name.rpartition("_")[2].lower(), "1")


def level_words(level: Level) -> str:
    r"""Return a level with its factor and interval.

    Examples
    --------
    >>> level_words(Level(factor="users", unit="1", value=227.9, low=223.8, high=232.1)
    ...     ).replace(NO_BREAK, " ")
    '228 users \ue000(224 to 232)\ue001'
    >>> level_words(Level(factor="think", unit="ms", value=20)).replace(NO_BREAK, " ")
    'think 20 ms'
    """
    if level.low is None or level.high is None or isinstance(level.value, bool | str):
        return with_factor(level.factor, level.value, level.unit)
    counted = _counted(level.factor, level.unit)
    unit = "1" if counted else level.unit
    shown = number(float(level.value), level.low, level.high, unit)
    if counted:
        digits, space, bracket = shown.partition(" ")
        return f"{digits}{NO_BREAK}{counted}{space}{bracket}"
    return f"{factor_words(level.factor, level.unit)} {shown}".lstrip()


def range_words(start: Level, end: Level) -> str:
    """Return two planned levels of one factor: ``from 25 to 400 users``."""
    first, last = level_words(start), level_words(end)
    if isinstance(start.value, bool | str):
        return f"from {first} to {last}"
    if _counted(start.factor, start.unit) and end.value != 1:
        return f"from {level_number(start.value)} to {last}"
    return f"from {first} to {last.removeprefix(factor_words(start.factor, start.unit)).strip()}"


def level_name(value: str) -> str:
    """Return a level that is a word; in quotes if it would read as several.

    Examples
    --------
    >>> level_name("round robin"), level_name("core and server")
    ('round robin', '"core and server"')
    """
    text = plain(value)
    return f'"{text}"' if not text.strip() or _SEVERAL.search(text) else text


def with_factor(factor: str, value: Value, unit: str) -> str:
    """Return a planned level with its factor: ``228 users``, ``think 20 ms``, ``gzip``."""
    if title := level_title(factor, value):
        return title
    unit = unit if unit not in {"", "1"} else unit_of_name(factor)
    name = factor_words(factor, unit)
    if isinstance(value, bool):
        return f"{name} = {format_level(value)}"
    if isinstance(value, str):
        return level_name(value)
    shown, counted = level_number(value), _counted(factor, unit)
    if counted:
        return f"{shown}{NO_BREAK}{singular(counted) if value == 1 else counted}"
    if unit not in {"", "1"}:
        return f"{name} {shown}{NO_BREAK}{unit.replace('1/s', '/s')}".lstrip()
    return f"{name} {shown}"


def _counted(factor: str, unit: str) -> str:
    """Return the unit that a level counts: ``users``, ``arrivals/s``; empty if it is no count.

    Examples
    --------
    >>> _counted("users", "1"), _counted("arrivals_per_s", "1/s"), _counted("rate", "1/s")
    ('users', 'arrivals/s', '')
    """
    if unit == "1/s" and factor.endswith("_per_s"):
        return f"{factor_words(factor.removesuffix('_per_s'))}/s"
    name = factor_words(factor)
    is_count = unit in {"", "1"} and unit_of_name(factor) == "1"
    return name if is_count and is_plural(name) else ""


def head_words(factor: str, unit: str) -> str:
    """Return the head of a column of levels.

    Examples
    --------
    >>> head_words("users", "1"), head_words("arrivals_per_s", "1/s"), head_words("think_ms", "ms")
    ('users', 'arrivals/s', 'think (ms)')
    """
    if counted := _counted(factor, unit):
        return counted
    name = factor_words(factor, unit) or factor_words(factor)
    return name if unit in {"", "1"} else f"{name} ({unit.replace('1/s', '/s')})"


def level_number(value: float) -> str:
    """Return a planned level as a number with commas; a computed one with four digits.

    Examples
    --------
    >>> level_number(50_000), level_number(0.25), level_number(2.0), level_number(1 / 3)
    ('50,000', '0.25', '2', '0.3333')
    """
    if float(value).is_integer() and abs(value) < _LARGEST_EXACT:
        return format_plain(value, decimals=0)
    return brief_levels([value])[0]


def setting_words(setting: Mapping[str, Value]) -> str:
    """Return the levels of a setting as one name.

    Examples
    --------
    >>> setting_words({"program": "gzip", "level": 1}).replace(NO_BREAK, " ")
    'gzip 1'
    >>> setting_words({"target": "dram", "depth": 8, "share": 0.5}), setting_words({})
    ('dram, depth 8, share 0.5', 'the only setting')
    """
    values = list(setting.items())
    if len(values) == 2:  # noqa: PLR2004 - a word and a number need no names
        (_, first), (_, second) = values
        if (
            isinstance(first, str)
            and not (level_title(values[0][0], first) or level_title(values[1][0], second))
            and isinstance(second, int | float | str)
            and not isinstance(second, bool)
        ):
            shown = level_name(second) if isinstance(second, str) else level_number(second)
            return f"{level_name(first)}{NO_BREAK}{shown}"
    words = [with_factor(name, value, unit_of_name(name)) for name, value in values]
    return ", ".join(words) or "the only setting"


def where_words(where: Mapping[str, Value]) -> str:
    """Return held levels as the start of a sentence; empty if there are none."""
    return f"with {setting_words(where)}, " if where else ""


def applied_words(applied: Sequence[AppliedChange]) -> str:
    """Return the result of changes as a noun: ``a third database core``.

    Examples
    --------
    >>> cores = AppliedChange(kind="parameter", name="database_cores", aspect="value", before=2,
    ...     after=3)
    >>> applied_words([cores]).replace(NO_BREAK, " ")
    'a third database core'
    """
    return list_words([_applied(one) for one in applied])


def _applied(one: AppliedChange) -> str:
    name = factor_words(one.name)
    if one.aspect == "speed":
        return f"{name} {_much(one.factor)}as fast"
    if one.aspect == "repair":
        return f"a repair of the {name} in {_time_of(one.factor)}"
    if one.after is None:
        unit = "" if one.aspect == "value" else f" {one.aspect}"
        return f"{_much(one.factor)}the {name}{unit}"
    if one.kind == "station":
        return _counted_things(one, name if is_plural(name) else f"{name} servers")
    if one.kind == "pool" or (is_plural(name) and not isinstance(one.after, str)):
        return _counted_things(one, name)
    return with_factor(one.name, one.after, unit_of_name(one.name))


def _much(factor: float | None) -> str:
    """Return a factor before what it multiplies: ``twice``, ``3 times``."""
    is_double = factor == 2.0  # noqa: PLR2004
    return "twice " if is_double else f"{level_number(factor or 1.0)}{NO_BREAK}times "


def _time_of(factor: float | None) -> str:
    """Return a factor of a time: ``half the time``, ``0.25 times the time``."""
    is_half = factor == 0.5  # noqa: PLR2004
    return "half the time" if is_half else f"{level_number(factor or 1.0)}{NO_BREAK}times the time"


def _counted_things(one: AppliedChange, things: str) -> str:
    """Return ``a third core`` for one more of a few, else ``16 disks``."""
    if ordinal := _ordinal(one):
        return f"{_article(ordinal)} {ordinal} {singular(things)}"
    return f"{_value(one.after)}{NO_BREAK}{things if one.after != 1 else singular(things)}"


def _ordinal(one: AppliedChange) -> str:
    """Return the ordinal of the one thing that a change adds; empty if it adds another number."""
    is_next = isinstance(one.before, int | float) and one.after == one.before + 1
    return _ORDINALS.get(one.after, "") if is_next and isinstance(one.after, int | float) else ""


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def advice(applied: Sequence[AppliedChange], part: Part) -> str:
    """Return the advice as an imperative.

    Examples
    --------
    >>> cores = AppliedChange(kind="parameter", name="database_cores", aspect="value", before=2,
    ...     after=3)
    >>> disks = AppliedChange(kind="station", name="disk", aspect="servers", before=8, after=16)
    >>> advice([cores], Part(kind="station", name="database"))
    'buy it a third core'
    >>> advice([disks], Part(kind="station", name="disk")).replace(NO_BREAK, " ")
    'give it 16 servers instead of 8'
    >>> repair = AppliedChange(kind="station", name="disk", aspect="repair", factor=0.5)
    >>> advice([repair], Part(kind="station", name="disk")), applied_words([repair])
    ('repair it in half the time', 'a repair of the disk in half the time')
    """
    return list_words([_advice(one, part) for one in applied])


def _advice(one: AppliedChange, part: Part) -> str:
    is_it = (one.kind, one.name) == (part.kind, part.name)
    name = factor_words(one.name)
    what = "it" if is_it else name
    if one.aspect in {"speed", "repair"}:
        is_speed = one.aspect == "speed"
        faster = f"make {what} {_much(one.factor)}as fast"
        return faster if is_speed else f"repair {what} in {_time_of(one.factor)}"
    if one.after is None or isinstance(one.after, str):
        return f"take {_applied(one)}"
    if one.kind == "station":
        return f"give {what if is_it else f'the {name}'} {_more_things(one, 'servers')}"
    if one.kind == "pool":
        return f"raise {'them' if is_it and is_plural(name) else what} {_from_to(one)}"
    if not is_plural(name):
        return f"{'set' if one.before is None else 'change'} {name} {_from_to(one)}"
    owner = factor_words(part.name)
    is_own = bool(owner) and name.startswith(f"{owner} ")
    things = name.removeprefix(f"{owner} ") if is_own else name
    other = "add" if _ordinal(one) else "use"
    is_bought = things.rpartition(" ")[2] in _BOUGHT
    verb = "buy" if is_bought else "give" if is_own else other
    return f"{verb} {'it ' if is_own else ''}{_more_things(one, things)}"


def _more_things(one: AppliedChange, things: str) -> str:
    """Return what to have more of, with its number so far unless one is added."""
    is_known = isinstance(one.before, int | float) and not _ordinal(one)
    before = f" instead of {_value(one.before)}" if is_known else ""
    return f"{_counted_things(one, things)}{before}"


def _from_to(one: AppliedChange) -> str:
    """Return ``from 1 to 2``; ``to 2`` if the present value is unknown.

    Examples
    --------
    >>> _from_to(AppliedChange(kind="pool", name="buffers", aspect="tokens", before=1, after=2))
    'from 1 to 2'
    >>> _from_to(AppliedChange(kind="pool", name="buffers", aspect="tokens", after=2))
    'to 2'
    """
    start = "" if one.before is None else f"from {_value(one.before)} "
    return f"{start}to {_value(one.after)}"


def _value(value: Value | None) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return level_number(value) if is_number else format_level(value)  # type: ignore[arg-type]
