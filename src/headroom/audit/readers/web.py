"""What load generators for web servers print: hey and oha, ApacheBench."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.audit.readers.fields import UNITS_S, UnreadableError
from headroom.audit.readers.format import Format
from headroom.audit.readers.text import ratio, shares
from headroom.audit.result import Result, Stated

_UNITS = {"secs": "s", "sec": "s"}
_TIME = r"([\d.]+) ?(secs|sec|s|ms|us|µs|ns)"
_STATUS = re.compile(r"^\s*\[(\d{3})\]\s+(\d+) responses", re.MULTILINE)
_ERROR = re.compile(r"^\s*\[(\d+)\]\s+(?!\d+ responses)(\S.*)$", re.MULTILINE)
_FINE = 400
"""Status of HTTP from which a reply is an error."""
_OWN_END = "aborted due to deadline"
"""What oha calls requests that were in flight when its time was over."""


def is_hey(text: str) -> bool:
    """Return whether a text is a summary of hey or oha."""
    return "Slowest:" in text and "Requests/sec:" in text and "Status code distribution" in text


def read_hey(text: str, source: str) -> Sequence[Result]:
    """Return the result of a summary; its rate counts requests without an answer, too."""
    times = {name: _time(text, rf"^\s*{name}:\s+{_TIME}") for name in _NAMED}
    total, rate = times["Total"], re.search(r"^\s*Requests/sec:\s+([\d.]+)", text, re.MULTILINE)
    if total is None or rate is None:
        raise UnreadableError(f"{source}: the summary is incomplete", cure="give the whole output")
    codes = {int(code): int(count) for code, count in _STATUS.findall(text)}
    answers = text.partition("Status code distribution")[2]
    errors = [(int(n), said) for n, said in _ERROR.findall(answers) if said != _OWN_END]
    done, lost = sum(codes.values()), float(sum(count for count, _ in errors))
    clients = re.search(r"\s-c[ =]?(\d+)", text)
    is_oha = "Success rate:" in text
    said = [f"{n} of status {code}" for code, n in codes.items() if code >= _FINE]
    return [
        Result(
            tool="oha" if is_oha else "hey", source=source, name=_target(text) or source,
            loop="closed", clients=float(clients[1]) if clients else None,
            think_s=None if re.search(r"\s-q[ =]?\d", text) else 0.0, duration_s=total, count=done,
            throughput=ratio(done, total), mean=times["Average"], low=times["Fastest"],
            high=times["Slowest"], failed=float(sum(n for c, n in codes.items() if c >= _FINE)),
            lost=lost, percentiles=shares(_distribution(text)),
            settings={"errors": ", ".join([*said, *(f"{n} {what[:60]}" for n, what in errors)])},
            levels={"connections": int(clients[1])} if clients else {},
        )
    ]  # fmt: skip


_NAMED = ("Total", "Slowest", "Fastest", "Average")


def _time(text: str, pattern: str) -> Stated | None:
    match = re.search(pattern, text, re.MULTILINE)
    return None if match is None else _stated(match[1], match[2])


def _stated(number: str, unit: str) -> Stated:
    return Stated.printed(number, scale=UNITS_S[_UNITS.get(unit, unit)])


def _distribution(text: str) -> Iterator[tuple[str, Stated]]:
    for percent, number, unit in re.findall(rf"([\d.]+)%+ in {_TIME}", text):
        yield percent, _stated(number, unit)


def _target(text: str) -> str:
    match = re.search(r"https?://\S+", text.partition("Summary:")[0])
    return "" if match is None else match[0]


def is_ab(text: str) -> bool:
    """Return whether a text is a report of ApacheBench."""
    return "Concurrency Level:" in text and "Time per request:" in text


def read_ab(text: str, source: str) -> Sequence[Result]:
    """Return the result of a report, whose times are whole milliseconds.

    `Time per request` is concurrency x time over requests; the row `Total` is measured.
    """
    facts = dict(re.findall(r"^([A-Z][\w /-]+?):[ \t]+(.+)$", text, re.MULTILINE))
    clients, count = float(facts["Concurrency Level"]), int(facts["Complete requests"])
    length = Stated.printed(facts["Time taken for tests"].split()[0])
    row = re.search(r"^Total:\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)", text, re.MULTILINE)
    measured: dict[str, Any] = {
        "mean": Stated.printed(facts["Time per request"].split()[0], scale=1e-3),
        "mean_is_derived": True,
    }
    if row:
        low, mean, stdev, _, high = (Stated.printed(one, scale=1e-3) for one in row.groups())
        # Cut to whole milliseconds, all but the deviation.
        measured = {"low": _cut(low), "mean": _cut(mean), "high": _cut(high), "stdev": stdev}
    kinds = re.search(r"\((Connect: \d+, .*?)\)", text)
    bad = [
        int(str(facts[name]).split()[0])
        for name in ("Failed requests", "Non-2xx responses")
        if name in facts
    ]
    name = f"{facts.get('Server Hostname', source)}{facts.get('Document Path', '')}"
    percentiles = re.findall(r"^\s+(\d+)%\s+(\d+)", text, re.MULTILINE)
    return [
        Result(
            tool="ab", source=source, name=name, loop="closed", clients=clients, think_s=0.0,
            duration_s=length, count=count, failed=float(min(sum(bad), count)),
            throughput=Stated.printed(facts["Requests per second"].split()[0]),
            percentiles=shares(
                (share, _cut(Stated.printed(time, scale=1e-3))) for share, time in percentiles
            ),
            levels={"target": name, "connections": int(clients)},
            settings={"errors": kinds[1] if kinds else ""}, **measured,
        )
    ]  # fmt: skip


def _cut(one: Stated) -> Stated:
    return Stated(one.value + 0.5e-3, 0.5e-3 + 0.5e-3)


HEY = Format(
    kind="text",
    expected='lines "Summary:", "Slowest:" and "Status code distribution"',
    fits=is_hey,
    read=read_hey,
    start=re.compile(r"^[ \t]*\**Summary:", re.MULTILINE),
    header=re.compile(r"\b(?:hey|oha) +.*\S"),
)
AB = Format(
    kind="text",
    expected='lines "Concurrency Level:" and "Time per request:"',
    fits=is_ab,
    read=read_ab,
    start=re.compile(r"^[ \t]*\**Concurrency Level:", re.MULTILINE),
    header=re.compile(r"This is ApacheBench|Server Software:|\bab +-"),
)
