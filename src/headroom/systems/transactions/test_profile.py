"""The parameters that the fit determines, and evidence about the others."""

from dataclasses import replace

import numpy as np
import pytest

from headroom.systems.transactions import profile
from headroom.systems.transactions.calibrate import (
    CALIBRATED,
    PUBLISHED,
    as_parameters,
    as_published,
    held,
    throughput,
)
from headroom.systems.transactions.profile import Figures, Interval, figures, intervals

pytestmark = pytest.mark.deep

SEEDS = (1, 2)
TRUTH = {"path_length_factor": 4.0, "handling_us": 14.0, "elevator_factor": 0.5}


@pytest.fixture(scope="module")
def found() -> dict[str, Interval]:
    short = [
        replace(point, changed={**point.changed, "terminals": 4, "transactions_per_terminal": 10})
        for point in PUBLISHED
    ]
    published = as_published(TRUTH, SEEDS, published=short)
    return {interval.name: interval for interval in intervals(TRUTH, SEEDS, published=published)}


def test_every_fitted_number_has_an_interval_around_the_fit(found: dict[str, Interval]) -> None:
    assert tuple(found) == CALIBRATED
    for name, interval in found.items():
        assert interval.low < TRUTH[name] < interval.high
    assert found["elevator_factor"].high <= 1


def test_the_interval_of_the_paths_is_that_of_the_throughput_they_limit(
    found: dict[str, Interval],
) -> None:
    """Processors limit two of the four: a twentieth more work, a twentieth fewer transactions."""
    interval = found["path_length_factor"]
    assert interval.high / interval.value == pytest.approx(1.06, abs=0.04)
    assert interval.low / interval.value == pytest.approx(0.94, abs=0.04)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_no_published_throughput_depends_on_how_the_handling_is_shared(share: float) -> None:
    where_packets_limit = PUBLISHED[1].changed
    tps = [
        throughput({**where_packets_limit, **as_parameters(held(), part)}, (1,))
        for part in (share, 0.25)
    ]
    assert tps[0] == pytest.approx(tps[1], rel=0.02)


def test_the_figures_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower of DMA and port has the queue, in short runs as in long ones."""
    monkeypatch.setattr(profile, "TRANSACTIONS", 5)
    at_dma, at_port = (figures(as_parameters(held(), share), (1,)) for share in (0.9, 0.1))
    assert at_dma.dma[1] > 5
    assert at_port.port[1] > 5
    assert max(abs(at_dma.port[1]), abs(at_port.dma[1])) < 0.1
    assert np.isfinite(at_dma.bend)


def test_what_the_paper_says_is_counted() -> None:
    paper = Figures(bend=0.5, shortened=(0.5, 0.8), dma=(1, 5), port=(2, 9), gained=(1.0, 1.01))
    assert paper.agree() == 9
    assert replace(paper, bend=0.8, dma=(1, 0)).agree() == 7
