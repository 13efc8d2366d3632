"""Several results in one text, and results in whatever people paste around them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.audit.audit import audit
from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.recognise import read_all
from headroom.audit.readers.tables import told
from headroom.audit.result import Level, Result

SOUND = Path(__file__).parents[3] / "tests" / "data" / "audit" / "sound"
PGBENCH, WRK, FIO, HEY = (
    (SOUND / name).read_text(encoding="utf-8")
    for name in ("pgbench.txt", "wrk.txt", "fio.json", "hey.txt")
)
TWO_RUNS = """\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 50
number of clients: {clients}
number of threads: 1
duration: 20 s
number of transactions actually processed: {count}
latency average = 6.667 ms
tps = {rate} (without initial connection time)
"""


def read(text: str) -> list[Result]:
    return [one for part in read_all(text, "post.md") for one in part.results]


def fenced(text: str) -> str:
    return f"Here it is:\n\n```text\n{text}\n```\nand more.\n"


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def indented(text: str) -> str:
    return "As it says:\n\n" + "\n".join(f"    {line}" for line in text.splitlines())


def logged(text: str) -> str:
    return "\n".join(f"2026-11-29T10:00:00.1234567Z {line}" for line in text.splitlines())


def in_compose(text: str) -> str:
    return "\n".join(f"load-1  | {line}" for line in text.splitlines())


@pytest.mark.parametrize("wrapped", [fenced, quoted, indented, logged, in_compose])
@pytest.mark.parametrize(
    ("text", "tool"), [(PGBENCH, "pgbench"), (WRK, "wrk"), (FIO, "fio"), (HEY, "hey")]
)
def test_a_result_is_read_within_what_is_around_it(
    wrapped: Callable[[str], str], text: str, tool: str
) -> None:
    (plain,) = read(text)
    (found,) = read(wrapped(text))
    assert found.tool == plain.tool == tool
    assert (found.count, found.throughput, found.mean) == (
        plain.count,
        plain.throughput,
        plain.mean,
    )
    assert found.rates.tolist() == plain.rates.tolist()


def test_all_runs_of_a_text_are_read_in_their_order() -> None:
    """Cause: pgbench kept the last run, wrk and HammerDB the first; fio was refused."""
    runs = [(1, 3000, 150), (10, 9600, 480)]
    text = "".join(TWO_RUNS.format(clients=n, count=c, rate=f"{x}.0") for n, c, x in runs)
    found = read(text)
    assert [(one.clients, one.count) for one in found] == [(1.0, 3000), (10.0, 9600)]
    assert [one.name for one in found] == [
        "builtin: TPC-B (sort of), run 1", "builtin: TPC-B (sort of), run 2"
    ]  # fmt: skip
    assert len(read(FIO + "\n" + FIO)) == 2
    assert len(read(WRK + "\n$ wrk -t2 -c8 -R100 http://x/\n" + WRK)) == 2
    assert [one.tool for one in read(fenced(WRK) + fenced(FIO))] == ["wrk", "fio"]


def test_bold_type_and_colours_do_not_hide_a_result() -> None:
    (plain,) = read(WRK)
    bold = WRK.replace("Requests/sec:", "**Requests/sec:**").replace("Running", "\x1b[1mRunning")
    (found,) = read(bold)
    assert found.throughput == plain.throughput


def test_states_of_a_run_before_its_end_are_not_runs() -> None:
    text = (SOUND / "fio_status.json").read_text(encoding="utf-8")
    assert text.count('"fio version"') > 2
    (one,) = read(text)
    assert one.duration_s is not None
    assert one.duration_s.value > 2.9


def test_a_part_that_is_not_complete_is_told_and_hides_no_other() -> None:
    cut = WRK.replace("Requests/sec", "Requests")
    good, bad = read_all(WRK + "\n" + cut, "two.txt")
    assert len(good.results) == 1
    assert bad.problem is not None
    assert "the text of wrk is incomplete" in bad.problem.message
    with pytest.raises(UnreadableError, match="the text of wrk is incomplete"):
        read_all(cut, "one.txt")


TABLE = """\
| Framework | Connections | Req/s | Avg latency (ms) | p99 (ms) | Errors |
|:--|--:|--:|--:|--:|--:|
| **alpha** | 32 | 9,880 | 6.80 | 9.1 | 0 |
| beta | 32 | 7.9k | 4.01 | 12.2 | 0 |
"""


def test_a_table_of_markdown_is_read_by_the_names_of_its_columns() -> None:
    alpha, beta = read(f"# Results\n\nOurs is faster:\n\n{TABLE}\n")
    assert (alpha.name, alpha.clients, alpha.failed) == ("alpha", 32.0, 0.0)
    assert alpha.throughput is not None
    assert alpha.throughput.value == 9880.0
    assert beta.throughput is not None
    assert (beta.throughput.value, beta.throughput.error) == (7900.0, 50.0)
    assert alpha.mean is not None
    assert alpha.mean.value == pytest.approx(0.0068)
    assert alpha.percentiles.keys() == {0.99}
    found = audit([alpha, beta])
    assert [one.result for one in found.contradictions] == ["alpha"]


@pytest.mark.parametrize(
    "text",
    [
        "clients;tps;lat avg (ms)\n8;100;80.0\n",
        "clients\ttps\tlat avg (ms)\n8\t100\t80.0\n",
        "clients   tps   lat avg (ms)\n-------   ---   ------------\n8         100   80.0\n",
        "clients,tps,avg_ms\n8,100,80.0\n",
        "| clients | tps | avg |\n|--|--|--|\n| 8 | 100 | 80.0 ms |\n",
    ],
)
def test_tables_are_read_in_each_form(text: str) -> None:
    (one,) = read(text)
    assert (one.clients, one.throughput and one.throughput.value) == (8.0, 100.0)
    assert one.mean is not None
    assert one.mean.value == pytest.approx(0.08)


def test_a_time_without_a_unit_is_never_guessed_and_can_be_given() -> None:
    text = "threads,ops/s,latency\n8,100,80.0\n"
    (unsure,) = read(text)
    assert (unsure.clients, unsure.mean) == (8.0, None)
    assert "not used: latency (a time without a unit)" in next(told(text, {}))
    (part,) = read_all(text, "t.csv", columns={"latency": "response_ms_mean"})
    assert part.results[0].mean is not None
    assert part.results[0].mean.value == pytest.approx(0.08)


def test_nothing_that_could_be_judged_is_not_possible() -> None:
    found = audit([Result(tool="csv", source="", name="")])
    assert found.done == ()


def test_one_connection_shows_that_a_mean_is_not_of_its_requests() -> None:
    text = WRK.replace("8 connections", "1 connections").replace("2.16ms", "8.00ms")
    found = audit(read(text))
    (one,) = found.of(Level.MISLEADING)
    assert one.check == "longest mean"
    assert "1 connection at" in one.figure


@pytest.mark.parametrize("cells", ["error rate (%) |\n|--|--|--|--|\n| 8 | 100 | 70 | 32",
                                   "errors |\n|--|--|--|--|\n| 8 | 100 | 70 | 32%"])  # fmt: skip
def test_a_share_of_failures_without_a_count_is_not_called_possible(cells: str) -> None:
    found = audit(read(f"| clients | req/s | avg (ms) | {cells} |\n"))
    (one,) = found.findings
    assert (one.check, one.figure) == ("failures", "32.0% of the requests failed")


def test_processors_of_a_table_with_failures_are_held_against_their_number() -> None:
    text = "clients,req/s,avg (ms),errors,cpus,cpu_utilization\n8,100,70,0,2,1.3\n"
    found = audit(read(text))
    assert [one.check for one in found.contradictions] == ["utilization"]
