"""Suites under measurement: what is measured again, what it costs, and what is decided.

A fake suite draws its samples; `tests/test_gate_suites.py` checks the rates of whole suites.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.gate.question import Question
from headroom.gate.result import ComparisonResult
from headroom.gate.suites.compare import compare_suite
from headroom.gate.suites.tool import Choice, Sample, SuiteFailedError

BASE, HEAD = Path("base"), Path("head")


@pytest.fixture(autouse=True)
def one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the same random order each time, so that the answers of a test are certain."""
    monkeypatch.setattr("headroom.gate.suites.measuring.secrets.randbits", lambda _: 7)


class Drawn:
    """A suite of rows whose samples are drawn: the head is slower in some."""

    any_exit_code = False

    def __init__(
        self, rows: int, slow: dict[str, float] | None = None, scatter: float = 0.01
    ) -> None:
        self.name = "go"
        self.rows = [f"row {number}" for number in range(rows)]
        self.slow, self.scatter = slow or {}, scatter
        self.random = np.random.default_rng(5)
        self.choices: list[Choice] = []
        self.metric = "wall_s"
        self.alternates = ""
        """A row whose values in the head are 0.7 and 1.4 in turn."""

    def run(self, folder: Path, choice: Choice) -> list[Sample]:
        """Draw the samples of a process."""
        self.choices.append(choice)
        return [
            Sample(name=name, metric=self.metric, value=self._value(name, folder == HEAD))
            for name in (choice.wanted or self.rows)
            if name in self.rows
        ]

    def _value(self, name: str, is_head: bool) -> float:  # noqa: FBT001 - a test's own
        if name == self.alternates and is_head:
            self.slow[name] = 0.4 if self.slow.get(name) == -0.3 else -0.3
        slower = 1.0 + self.slow.get(name, 0.0) * is_head
        return float(np.exp(self.scatter * self.random.normal())) * slower


def decided(suite: Drawn, **more: object) -> ComparisonResult:
    question = Question(fail_on_regression=0.03, **more)  # type: ignore[arg-type]
    return compare_suite(
        suite,  # type: ignore[arg-type]  # it draws what the other runs
        [BASE, HEAD],
        labels=["old", "new"],
        question=question,
    )


def test_only_suspects_are_measured_again_in_new_processes() -> None:
    suite = Drawn(20, {"row 7": 0.05})
    found = decided(suite)
    assert found.gate is not None
    assert found.gate.verdict == "regression"
    (regression,) = [one for one in found.gate.suspicions if one.verdict == "regression"]
    assert regression.first.experiment == "row 7"
    assert regression.again is not None
    assert regression.again.pairs >= 24
    assert [len(choice.wanted) for choice in suite.choices[:24]] == [0] * 24
    again = {name for choice in suite.choices[24:] for name in choice.wanted}
    assert "row 7" in again
    assert len(again) <= 5


def test_noisy_rows_alone_are_measured_further_and_stay_blind() -> None:
    suite = Drawn(4, scatter=0.004)
    suite.alternates = "row 3"
    found = decided(suite, max_runs=16)
    assert found.gate is not None
    assert found.gate.verdict == "blind"
    assert [one.experiment for one in found.gate.blind] == ["row 3"]
    assert {tuple(choice.wanted) for choice in suite.choices[24:]} == {("row 3",)}
    assert {row.experiment: row.pairs for row in found.rows} == {
        "row 0": 8, "row 1": 8, "row 2": 8, "row 3": 16,
    }  # fmt: skip


def test_if_nearly_all_rows_are_slower_a_few_are_enough_to_stop_the_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headroom.gate.suites.measuring.LEAST_BUDGET_S", 0.0)
    suite = Drawn(40, {f"row {number}": 0.1 for number in range(40)})
    found = decided(suite)
    assert found.gate is not None
    assert found.gate.verdict == "regression"
    verdicts = [one.verdict for one in found.gate.suspicions]
    assert len(verdicts) == 40
    assert 1 <= verdicts.count("regression") <= 20
    assert verdicts.count("unconfirmed") == 40 - verdicts.count("regression")


def test_a_fixed_number_of_blocks_is_kept() -> None:
    found = decided(Drawn(2), runs=12)
    assert found.blocks == 12
    assert {row.pairs for row in found.rows} == {12}
    assert found.gate is not None
    assert found.gate.verdict == "passed"


def test_a_row_that_the_head_lost_is_missing_and_one_that_it_brings_is_listed() -> None:
    suite = Drawn(3)

    def run(folder: Path, choice: Choice) -> Sequence[Sample]:
        found = Drawn.run(suite, folder, choice)
        return found[1:] if folder == HEAD else found[:2]

    suite.run = run  # type: ignore[method-assign, assignment]
    found = decided(suite)
    assert found.gate is not None
    assert found.gate.verdict == "missing"
    assert found.gate.missing == ["row 0 wall_s (B)"]
    assert found.left_out == ["row 2, which only the head has"]


def test_rows_of_a_metric_may_be_chosen_and_none_is_an_error() -> None:
    assert len(decided(Drawn(2), metrics=("wall_s",)).rows) == 2
    with pytest.raises(SuiteFailedError, match="the suite has no rows"):
        decided(Drawn(2), metrics=("rate",))


def test_too_few_blocks_are_refused() -> None:
    with pytest.raises(StudyError, match="3 blocks can never show a regression"):
        decided(Drawn(2), runs=3)


def test_the_noise_is_that_of_the_base_against_itself_in_the_same_blocks() -> None:
    found = decided(Drawn(1, scatter=0.01), runs=32)
    (noise,) = found.noise
    assert noise.scatter == pytest.approx(0.01, rel=0.4)
    assert noise.low is not None
    assert noise.high is not None
    assert noise.low < 1.0 < noise.high
