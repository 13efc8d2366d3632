"""Instructions are counted, not drawn: the effect on the published throughputs."""

import pytest

from headroom.simulation import Program, draw, exponential
from headroom.systems.transactions.calibrate import PUBLISHED, throughput
from headroom.systems.transactions.parts.processes import Processes

SEEDS = (1, 2)
SHORT = {"transactions_per_terminal": 20}


def _drawn(self: Processes) -> Program:
    run = self._model.program("run")
    time = self._burst * draw(exponential(1))
    run.use_one_of(self._elements.processors, time, policy="index", by=self._place)
    return run


@pytest.mark.deep
def test_exponential_bursts_would_change_the_published_throughputs_by_less_than_three_percent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = [throughput({**point.changed, **SHORT}, SEEDS) for point in PUBLISHED]
    monkeypatch.setattr(Processes, "_running", _drawn)
    drawn = [throughput({**point.changed, **SHORT}, SEEDS) for point in PUBLISHED]
    assert drawn != counted
    assert drawn == pytest.approx(counted, rel=0.03)
