"""Formulas next to runs: which values are kept, and old results that lack them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import msgspec

from headroom.analysis.results import Estimate, PointResult
from headroom.analysis.solver_answers import solver_answer, with_solver_answer
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.forecasts import Forecast, Limits


@dataclass(frozen=True)
class Oracle:
    """A system that knows nothing but formulas."""

    answer: Forecast

    def forecast(self, config: Mapping[str, Value], changes: Sequence[Change]) -> Forecast:
        """Return the answer that it was given."""
        del config, changes
        return self.answer


def planned(system: object) -> PlannedExperiment:
    return cast("PlannedExperiment", SimpleNamespace(system=system))


POINT = Point(experiment="load", key="k", levels={}, config={}, fingerprint="f")
LIMITS = Limits(class_name="users", throughput_low=1, throughput_high=2, response_s_low=1,
                response_s_high=2, knee=21.0, resource="cpu", kind="asymptotic")  # fmt: skip


def estimated(*metrics: str) -> PointResult:
    return PointResult(
        key="k",
        levels={},
        done=5,
        failed=0,
        estimates={
            metric: Estimate(
                metric=metric, unit="1/s", better="none", count=5, value=1.0, low=0.9, high=1.1,
                method="student-t", centre="mean", mean=1.0, median=1.0, stdev=0.1, minimum=0.9,
                maximum=1.1,
            )
            for metric in metrics
        },
    )  # fmt: skip


def test_only_metrics_that_were_estimated_are_kept_to_ten_digits() -> None:
    answer = Forecast(
        values={"throughput": 1 / 3, "station.gone.utilization": 0.5},
        is_exact=True,
        method="exact (convolution)",
        limits=(LIMITS,),
    )
    found = solver_answer(planned(Oracle(answer)), POINT, ["throughput"])
    assert found is not None
    assert found.values == {"throughput": 0.3333333333}
    assert found.knee == 21.0
    assert found.is_exact


def test_overload_is_told_as_the_reason() -> None:
    answer = solver_answer(planned(Oracle(Forecast(overload="cpu is asked for 1.2"))), POINT, [])
    assert answer is not None
    assert (answer.method, answer.reasons) == ("", ["cpu is asked for 1.2"])


def test_a_system_without_formulas_has_no_answer() -> None:
    result = estimated("throughput")
    assert with_solver_answer(result, planned(object()), POINT) == result


def test_a_point_without_figures_asks_no_formula() -> None:
    result = PointResult(key="k", levels={}, done=0, failed=3)
    answered = with_solver_answer(result, planned(Oracle(Forecast(method="exact"))), POINT)
    assert answered.solver is None


def test_results_that_were_stored_before_are_still_read() -> None:
    stored = msgspec.to_builtins(estimated("throughput"))
    del stored["solver"]
    assert msgspec.convert(stored, PointResult).solver is None
