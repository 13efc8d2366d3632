"""The sentences of an answer are true: a small form of `python -m benches.answers`."""

import ast
from pathlib import Path

import pytest

from benches.answers import judged
from benches.answers.asked_kinds import ASKED
from benches.answers.exact import Load, Network, Station, solve
from benches.answers.judge import Judge
from benches.answers.judge_asked import AskedJudge
from benches.answers.kinds import KINDS, drawn

pytestmark = pytest.mark.deep

SEED = 7


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_no_sentence_of_a_study_of_each_kind_is_wrong(number: int, tmp_path: Path) -> None:
    judge = judged(drawn(SEED, number), tmp_path)
    assert judge.sentences
    assert [(text, faults) for _, text, faults in judge.sentences if faults] == []


def test_who_knows_another_truth_finds_faults(tmp_path: Path) -> None:
    judge = judged(drawn(SEED, 0), tmp_path)
    judge.study.stations["desk"]["service"] *= 1.5
    other = Judge(judge.study, judge.result, judge.printed)
    other.judge()
    assert any(faults for _, _, faults in other.sentences)
    assert not all(other.held.values())


@pytest.mark.parametrize("number", [2, 5, 7, 11, 13, 16])
def test_no_answer_to_what_a_study_asks_is_wrong(number: int, tmp_path: Path) -> None:
    judge = judged(drawn(SEED, number, ASKED), tmp_path)
    assert [text for kind, text, _ in judge.sentences if kind.startswith("headline")]
    assert [(text, faults) for _, text, faults in judge.sentences if faults] == []


@pytest.mark.parametrize("number", [0, 1, 3, 4, 6])
def test_a_false_answer_to_what_a_study_asks_is_found(number: int, tmp_path: Path) -> None:
    judge = judged(drawn(SEED, number, ASKED), tmp_path)
    assert [(text, faults) for _, text, faults in judge.sentences if faults] == []
    service = str(judge.study.stations["desk"]["service"])
    judge.study.stations["desk"]["service"] = f"({service}) * 0.6"
    other = AskedJudge(judge.study, judge.result, judge.printed)
    other.judge()
    assert any(faults for kind, _, faults in other.sentences if kind.startswith("headline"))


def one(servers: int, service: float, *rates: float, places: int | None = None) -> Network:
    station = Station(servers=servers, service=service, places=places, is_priority=len(rates) > 1)
    loads = {str(n): Load(route="a", rate=rate, priority=-n) for n, rate in enumerate(rates)}
    return Network(stations={"a": station}, loads=loads)


def test_exact_values_are_those_of_textbooks() -> None:
    """Sources: Erlang's call centre, M/M/1 by hand, Cobham, and Reiser's closed network."""
    calls = solve(one(15, 180.0, 240 / 3600))
    assert calls["station.a.wait_s_mean"] == pytest.approx(19.1514, abs=1e-4)
    assert solve(one(1, 1.0, 0.5))["response_s_p95"] == pytest.approx(2 * 2.995732, abs=1e-5)
    assert solve(one(1, 1.0, 1.0, places=1))["class.0.lost_ratio"] == pytest.approx(1 / 3)
    urgent = solve(one(1, 1.0, 0.4, 0.4))
    assert urgent["class.0.response_s_mean"] == pytest.approx(1 + 0.8 / 0.6)
    assert urgent["class.1.response_s_mean"] == pytest.approx(1 + 0.8 / (0.6 * 0.2))
    times = {"a": 0.05, "b": 0.03, "c": 0.04}
    stations = {name: Station(servers=1, service=time) for name, time in times.items()}
    closed = solve(Network(stations=stations, loads={"x": Load(route="abc", users=20, think=1.0)}))
    assert closed["throughput"] == pytest.approx(15.359464, abs=1e-6)
    assert closed["response_s_mean"] == pytest.approx(0.302129, abs=1e-6)


def test_exact_solutions_share_no_code_with_headroom() -> None:
    for name in ("answers/exact.py", "known/formulas.py"):
        path = Path(__file__).parents[1] / "benches" / name
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not any("headroom" in ast.unparse(node).lower() for node in ast.walk(tree)
                       if isinstance(node, ast.Import | ast.ImportFrom))  # fmt: skip
