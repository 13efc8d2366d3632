"""The model of an observed server against its law."""

from pathlib import Path

import msgspec
import pytest

from headroom.analysis.formulas import forecast_at
from headroom.experiment.protocol.registry import find_system


@pytest.mark.parametrize("processors", [0.5, 1.0, 1.4, 3.0])
def test_the_capacity_is_processors_over_demand_also_for_a_part_of_one(processors: float) -> None:
    """Oracle: U = load rate demand / processors; M/M/1 with half a processor is half as fast."""
    kind = find_system("model")
    setup = msgspec.convert({"model": "observed_server"}, kind.setup_type)
    system = kind.load(setup, base=Path())
    config = {"load": 1.5, "rate": 100.0, "service_s": 0.002, "processors": processors}
    forecast = forecast_at(system, config)
    assert forecast is not None
    share = 0.3 / processors
    assert forecast.values["station.processors.utilization"] == pytest.approx(share)
    if processors <= 1.0:
        mean_s = 0.002 / processors / (1.0 - share)
        assert forecast.values["response_s_mean"] == pytest.approx(mean_s)
