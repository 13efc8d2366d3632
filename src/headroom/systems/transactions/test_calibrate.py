"""The calibration recovers numbers from the throughputs they gave, and is reproducible."""

from dataclasses import replace

import pytest

from headroom.systems.transactions.calibrate import (
    CALIBRATED,
    PUBLISHED,
    as_published,
    fitted,
    held,
    throughput,
    told,
)
from headroom.systems.transactions.model import SPAX, MachineModel


def small() -> MachineModel:
    """Return SPAX with fewer terminals, so that one throughput is found in little time."""
    fewer = {"terminals": 4}
    parameters = (
        replace(parameter, default=fewer.get(parameter.name, parameter.default))
        for parameter in SPAX.parameters
    )
    return replace(SPAX, parameters=tuple(parameters))


def test_only_the_four_throughputs_of_the_paper_are_used() -> None:
    assert [point.tps for point in PUBLISHED] == [204.1, 148.6, 107.417, 204.122]


@pytest.mark.deep
def test_numbers_are_found_again_from_the_throughputs_that_they_gave() -> None:
    machine = small()
    truth = {"path_length_factor": 4.0, "handling_us": 14.0, "elevator_factor": 0.5}
    start = {"path_length_factor": 4.6, "handling_us": 12.0, "elevator_factor": 0.6}
    assert set(truth) == set(CALIBRATED)
    seeds = (1,)
    short = [
        replace(point, changed={**point.changed, "transactions_per_terminal": 8})
        for point in PUBLISHED
    ]
    published = as_published(truth, seeds, published=short, machine=machine)
    assert (
        max(abs(point.tps - two.tps) for point, two in zip(published, PUBLISHED, strict=True)) > 5
    )
    numbers = fitted(start, seeds, published=published, machine=machine)
    # Seeks are a third of the time of a disk, so that throughputs determine their factor least
    # well.
    within = {"path_length_factor": 0.05, "handling_us": 0.05, "elevator_factor": 0.12}
    for name, value in truth.items():
        assert numbers[name] == pytest.approx(value, rel=within[name]), name


@pytest.mark.deep
def test_the_machine_file_meets_the_paper_within_five_percent() -> None:
    for point in PUBLISHED:
        assert throughput(point.changed, (1,)) == pytest.approx(point.tps, rel=0.05), point.place


@pytest.mark.deep
def test_what_is_printed_has_the_numbers_and_the_throughputs() -> None:
    lines = told(held(), held(), (1,)).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == list(CALIBRATED)
    assert "15.6 million cycles" in lines[-2]
    assert "us at a DMA" in lines[-1]
    for point, line in zip(PUBLISHED, lines[6:10], strict=True):
        assert line.startswith(point.place)
        assert f"{point.tps:.1f}" in line
        assert line.count("%") == 2 + point.place.count("%")
