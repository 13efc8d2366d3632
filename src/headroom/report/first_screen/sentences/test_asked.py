"""Answers to what is asked read as people would say them, with what they do not know."""

import msgspec
import pytest

from headroom.analysis.answer_evidence import (
    Bounded,
    Effect,
    Effects,
    Enough,
    Goal,
    Incomplete,
    Level,
    Outage,
    Part,
    Safe,
    Saturated,
    Scale,
    Share,
    SinglePoint,
    Statement,
    Sweep,
    TradeOff,
    Undecided,
)
from headroom.analysis.evidence import Absent
from headroom.report.first_screen.sentences.limits import incomplete_reason
from headroom.report.first_screen.sentences.sentence import NO_BREAK
from headroom.report.first_screen.sentences.statements import statement_sentence
from headroom.report.titles import study_titles

replace = msgspec.structs.replace


def said(statement: Statement, **titles: str | dict[str, str]) -> str:
    with study_titles(titles):
        return statement_sentence(statement).text.replace(NO_BREAK, " ")


def share(level: int, of_best: float, value: float) -> Share:
    return Share(
        level=Level(factor="io_nodes", unit="1", value=level),
        share=Bounded(value=of_best),
        value=Bounded(value=value, metric="throughput", unit="1/s"),
    )


ENOUGH = Enough(
    metric="throughput",
    goal=0.95,
    least=share(3, 0.97, 194.0),
    best=Level(factor="io_nodes", unit="1", value=6),
    less=share(2, 0.81, 162.0),
)


def test_enough_says_what_one_less_gives() -> None:
    assert said(ENOUGH) == (
        "3 io nodes are enough: throughput 194 /s, 97% of what 6 give; 2 give 81%."
    )
    assert said(ENOUGH, io_nodes="I/O nodes").startswith("3 I/O nodes are enough")
    assert said(replace(ENOUGH, is_open=True)) == (
        "6 io nodes give the most that was tried, 194 /s, and more may give more; 2 give 81%."
    )
    one = replace(ENOUGH, least=share(1, 1.0, 200.0), less=None)
    assert said(one) == (
        "1 io node is enough: throughput 200 /s, as much as 6 give, the fewest tried."
    )


def test_what_is_not_enough_does_not_read_as_if_it_were() -> None:
    found = replace(ENOUGH, goal=0.99, less=share(2, 0.988, 162.0))
    assert said(found).endswith("; 2 give not quite 99%.")
    assert said(replace(found, goal=0.995)).endswith("; 2 give 99%.")


def test_what_is_best_of_a_part_says_of_which() -> None:
    goal = Goal(metric="wall_s", better="low", settings=[{"p": "xz"}, {"p": "lz4"}],
                value=Bounded(value=1.0))  # fmt: skip
    found = TradeOff(goals=[goal], beaten=[], settings=2, where={"level": 3})
    assert said(found) == "With level 3, xz or lz4 for wall time: no clear difference."
    only = replace(goal, settings=[{"p": "xz"}], saturated=[{"p": "lz4"}])
    assert said(replace(found, goals=[only])) == "With level 3, xz for wall time: lz4 is saturated."
    open_ = Undecided(code="ranking", metric="wall_s", better="low", where={"level": 3})
    assert said(open_) == "Not decided: with level 3, by wall time, no setting is clearly best."


def test_a_single_point_is_saturated_or_not() -> None:
    part = Part(kind="station", name="desk")
    found = Saturated(level=None, points=1, judged=1, part=part, where={"growth": 3})
    assert said(found) == "With growth 3, saturated: the desk is offered more than it can do."
    full = replace(found, load=Bounded(value=1.0))
    assert said(full) == "With growth 3, saturated: the desk is offered exactly what it can do."


def effects(*ratios: float, better: str = "high") -> Effects:
    names = ("lu", "fft", "ocean", "barnes", "radix")
    told = []
    for name, ratio in zip(names, ratios, strict=False):
        is_better = (ratio > 1.0) == (better == "high")
        verdict = "same" if ratio == 1.0 else "better" if is_better else "worse"
        bounds = Bounded(value=ratio, low=ratio - 0.02, high=ratio + 0.02)
        told.append(Effect(where={"program": name}, ratio=bounds, verdict=verdict))  # type: ignore[arg-type]
    return Effects(
        metric="throughput" if better == "high" else "run_s",
        better=better,  # type: ignore[arg-type]
        first={"case": 1},
        second={"case": 3},
        effects=told,
    )


CASES: dict[str, str | dict[str, str]] = {
    "case": {"1": "new TLS connections", "3": "lasting ones"},
    "throughput": "calls a second",
}


def test_an_effect_is_a_share_that_it_costs_or_saves_or_times_what_it_is() -> None:
    alone = effects(0.43)
    alone = replace(alone, effects=[replace(alone.effects[0], where={})])
    assert said(alone, **CASES) == (
        "New TLS connections cost 57% (55 to 59) of the calls a second of lasting ones."
    )
    saved = replace(alone, metric="run_s", better="low")
    saved = replace(saved, effects=[replace(saved.effects[0], verdict="better")])
    assert "save 57% (55 to 59) of the run time of lasting ones" in said(saved, **CASES)
    more = replace(alone, effects=[replace(effects(2.0).effects[0], where={})])
    assert "have 2.00 times (1.98 to 2.02) the calls a second" in said(more, **CASES)


def test_an_open_effect_is_no_gain_and_no_cost() -> None:
    ratio = Bounded(value=0.98, low=0.9, high=1.1)
    found = replace(effects(1.0), effects=[Effect(where={}, ratio=ratio, verdict="undecided")])
    assert said(found, **CASES) == (
        "Not decided: new TLS connections have 90% to 110% of the calls a second of lasting ones."
    )


def test_a_percentile_that_is_withheld_is_not_called_left_out() -> None:
    absent = Absent(code="few_bursts", percent=99.9, needed=20.0, found=4.0)
    found = Incomplete(
        code="withheld", metric="response_s_p99_9", absent=absent,
        done=5, failed=0, planned=5, points=1, points_without=0,
    )  # fmt: skip
    assert said(found) == "No answer: the runs are too short for response time p99.9."
    assert incomplete_reason(found).startswith("a p99.9 needs 20 independent bursts beyond it")
    assert "run 5 times as long" in incomplete_reason(found)


def test_where_an_effect_is_not_known_is_said() -> None:
    found = replace(effects(0.43), missing=[{"clients": 64}, {"clients": 128}])
    told = statement_sentence(found).text.replace("\N{NO-BREAK SPACE}", " ")
    assert told.endswith(
        "; not known at 64 clients and 128 clients, where one of both has no steady value."
    )


def test_effects_are_grouped_and_of_many_the_least_is_said() -> None:
    words = said(effects(2.0, 1.0, 0.5), **CASES)
    assert "2 times for lu" in words
    assert "0.5 times for ocean" in words
    assert "no difference for fft" in words
    many = said(effects(2.0, 3.0, 2.5, 2.2, 4.0), **CASES)
    assert many == (
        "New TLS connections have at least 1.98 times the calls a second of lasting ones "
        "at 5 of 5 points."
    )
    own = replace(effects(2.0, 0.5), first={}, second={}, metric="gain")
    assert said(own, gain="the cache") == (
        "The cache: better for lu (2 times); worse for fft (0.5 times)."
    )


def test_growth_is_a_power_or_a_proportion() -> None:
    ends = [Level(factor="lines", unit="1", value=value) for value in (50_000, 400_000)]
    found = Scale(
        metric="wall_s", power=Bounded(value=1.08, low=1.05, high=1.11), start=ends[0],
        end=ends[1], ratio=Bounded(value=9.4, low=9.1, high=9.8), worst=0.01,
    )  # fmt: skip
    assert said(found) == (
        "Wall time grows with lines to the power 1.08 (1.05 to 1.11): "
        "9.4 times (9.1 to 9.8) from 50,000 to 400,000 lines."
    )
    even = said(replace(found, proportional_to=ends[1]))
    assert even.startswith("Wall time grows in proportion to lines: 9.4 times")
    assert "to the power 1.08 (1.05 to 1.11), up to 40% off" in said(replace(found, worst=0.4))


def test_settings_that_are_the_same_everywhere_are_named() -> None:
    assert said(effects(1.0, 1.0), **CASES) == (
        "Calls a second of new TLS connections against lasting ones: no difference for lu and fft."
    )


def safe(**fields: object) -> Safe:
    known: dict[str, object] = {
        "counts": [Bounded(value=0.0, metric="lost_count")], "tries": 27, "excluded": 0.105,
        "points": 3,
    }  # fmt: skip
    return Safe(**(known | fields))  # type: ignore[arg-type]


def test_zero_of_27_says_what_it_leaves_open() -> None:
    outages = [
        Outage(setting={"fault": fault}, seconds=Bounded(value=value, metric="errors_s", unit="s"))
        for fault, value in {"killed server": 0.07, "killed database": 14.0}.items()
    ]
    assert said(safe(outages=outages), lost_count="operations lost") == (
        "No operations lost in 27 runs (at most 1 in 9 by this many); errors at most 70 ms with "
        "killed server and 14 s with killed database."
    )


def test_what_went_wrong_is_said_with_its_place() -> None:
    found = safe(
        counts=[Bounded(value=2.0, metric="lost_count")], excluded=None, bad=[{"fault": "killed"}]
    )
    assert said(found) == "Lost count 2 in 27 runs (at killed)."
    seconds = Outage(setting={}, seconds=Bounded(value=3.0, metric="errors_s", unit="s"))
    assert said(replace(found, outages=[seconds])).endswith("(at killed); errors at most 3 s.")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (3, "Each of the 3 conditions of SCI is needed: without it there are violations."),
        (
            2,
            "2 of 3 conditions of SCI are needed; without the others there are no violations.",
        ),
    ],
)
def test_a_condition_is_needed_if_something_goes_wrong_without_it(bad: int, words: str) -> None:
    found = safe(
        counts=[Bounded(value=7.0, metric="violations")], tries=0, excluded=None, expects="some",
        subject="conditions of SCI", bad=[{"without": str(n)} for n in range(bad)],
    )  # fmt: skip
    assert said(found) == words


def test_a_value_has_its_place_or_its_subject() -> None:
    wall = Bounded(value=0.412, low=0.398, high=0.431, metric="wall_s", unit="s")
    memory = Bounded(value=3e7, metric="peak_memory_bytes", unit="B")
    found = SinglePoint(values=[wall, memory], where={"lines": 1_000_000})
    assert said(found) == "Wall time 412 ms (398 to 431) at 1,000,000 lines, peak memory 30 MB."
    subject = said(replace(found, subject="sorting a file"))
    assert subject == (
        "Sorting a file takes 412 ms (398 to 431) at 1,000,000 lines, peak memory 30 MB."
    )


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.97, 1.02), "Wall time does not clearly change from p 9 to 12."),
        ((0.1, 1.9), "Whether wall time changes from p 9 to 12 is undecided."),
        ((0.2, 0.4), "Wall time falls to 30% (20 to 40) from p 9 to 12."),
    ],
)
def test_a_wide_interval_does_not_say_that_nothing_changes(
    ends: tuple[float, float], words: str
) -> None:
    """Cause: "does not clearly change" stood above 170 ms at 9 cores and 45 ms at 12."""
    low, high = ends
    found = Sweep(
        metric="wall_s", unit="s", better="low",
        start=Level(factor="p", unit="1", value=9), end=Level(factor="p", unit="1", value=12),
        ratio=Bounded(value=(low + high) / 2.0, low=low, high=high),
        before=Bounded(value=0.17), after=Bounded(value=0.045),
    )  # fmt: skip
    assert said(found) == words
