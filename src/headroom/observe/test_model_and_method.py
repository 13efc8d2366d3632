"""The model of an observed server against its law, and its fit to bands of load."""

import pytest

from headroom.analysis.formulas import forecast_at
from headroom.experiment.protocol.fit_method import FitError, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column
from headroom.observe.method import ObservedDemand, ObservedOptions
from headroom.systems.model import ModelSystem
from headroom.systems.model.system import ModelSetup

SYSTEM = ModelSystem.load(ModelSetup(model="observed_server"), base=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("processors", [0.5, 1.0, 1.4, 3.0])
def test_the_capacity_is_processors_over_demand_also_for_a_part_of_one(processors: float) -> None:
    """Oracle: utilization = load rate demand / processors; half a processor is half as fast."""
    config = {"load": 1.5, "rate": 100.0, "service_s": 0.002, "processors": processors}
    forecast = forecast_at(SYSTEM, config)
    assert forecast is not None
    share = 1.5 * 100.0 * 0.002 / processors
    assert forecast.values["station.processors.utilization"] == pytest.approx(share)
    if processors <= 1.0:
        mean_s = 0.002 / processors / (1.0 - share)
        assert forecast.values["response_s_mean"] == pytest.approx(mean_s)


def point(rate: float, busy: float) -> SourcePoint:
    observed = {"throughput": Observed(value=rate), "limiting": Observed(value=busy)}
    return SourcePoint(
        experiment="observed", column=Column.MEASURE, levels={"band": rate}, config={},
        observed=observed,
    )  # fmt: skip


def test_the_fitted_demand_fills_the_processors_at_the_load_there_is_room_for() -> None:
    """Oracle: U = 0.05 + 0.004 X with room for 0.85: full at X = 200, twice the load of 100."""
    target = Target(system=SYSTEM, config={"processors": 0.85, "rate": 100.0})
    points = [point(rate, 0.05 + 0.004 * rate) for rate in (60.0, 100.0, 80.0, 120.0, 180.0)]
    options = ObservedOptions(busy="limiting")
    found = ObservedDemand().fit(points, target, options)
    (service,) = found.parameters
    assert service.value == pytest.approx(0.85 / 200.0)
    assert service.low is not None
    assert service.high is not None
    assert service.low < float(service.value) < service.high
    assert [one["service_s"] for one in found.alternatives] == [service.high, service.low]
    assert all(one.fitted == pytest.approx(one.observed) for one in found.residuals)
    with pytest.raises(FitError, match="too few or too much alike"):
        ObservedDemand().fit(points[:2], target, options)
