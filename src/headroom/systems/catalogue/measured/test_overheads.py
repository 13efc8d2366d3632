"""Overheads: the paper's split of a known throughput."""

import pytest

from headroom.experiment.protocol.section import SectionPoint, StackedBars, problem_of
from headroom.systems.catalogue.measured.overheads import overheads


def points(
    throughput: dict[int, float], clients: int = 8, architecture: str = "pool"
) -> list[SectionPoint]:
    return [
        SectionPoint(
            label=f"{case}", levels={"case": case, "clients": clients},
            config={"case": case, "clients": clients, "architecture": architecture},
            estimates={"throughput": value},
        )
        for case, value in throughput.items()
    ]  # fmt: skip


def test_the_papers_overheads_add_up_to_700_percent() -> None:
    paper = {4: 800.0, 3: 800.0 / 1.8, 2: 800.0 / 4.5, 1: 100.0}
    (bars,) = overheads(points(paper))
    assert isinstance(bars, StackedBars)
    assert bars.bars == ["clients 8"]
    assert bars.values[0] == pytest.approx([1.0, 0.8, 2.7, 3.5])
    assert problem_of(bars) == ""


def test_each_group_needs_all_cases() -> None:
    lacking = points({4: 1.0, 3: 1.0, 2: 1.0}, clients=1)
    whole = points({4: 2.0, 3: 4.0, 2: 2.0, 1: 1.0}, clients=2)
    (bars,) = overheads([*lacking, *whole])
    assert isinstance(bars, StackedBars)
    assert bars.bars == ["clients 2"]
    assert bars.values == [[1.0, 0.0, 0.5, 1.0]]
    assert overheads(lacking) == []


def test_each_architecture_has_bars_and_direct_access_lacks_a_catalogue() -> None:
    process = points({4: 8.0, 3: 4.0, 2: 2.0, 1: 1.0}, architecture="process")
    direct = points({4: 8.0, 2: 2.0, 1: 1.0}, architecture="direct")
    of_process, of_direct = overheads([*process, *direct])
    assert isinstance(of_process, StackedBars)
    assert isinstance(of_direct, StackedBars)
    assert of_process.values == [[1.0, 1.0, 2.0, 4.0]]
    assert of_direct.values == [[1.0, 0.0, 3.0, 4.0]]
    assert of_process.title != of_direct.title
