"""Impossible machines are rejected with the reason; derived values of valid ones."""

from pathlib import Path
from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.machine import FIELDS, Machine

SPAX = machine_model("spax")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"io_nodes": 0}, "30% of the accesses need an I/O node, and there is none"),
        (
            {"processing_nodes": 8, "io_nodes": 3},
            "a cluster has 12 nodes (8 processing, 3 I/O, 1 communication), and its switch has 10 "
            "ports for them",
        ),
        (
            {"processing_nodes": 6, "io_nodes": 2, "clusters": 2},
            "its switch has 8 ports for them next to 2 that lead to other clusters",
        ),
        ({"packets_per_buffer": 0}, "a buffer of 0 B holds no packet of 64 B"),
        ({"clusters": 3, "switch_ports": 3, "uplinks": 2}, "join at most 2 clusters, not 3"),
    ],
)
def test_an_impossible_machine_is_refused_with_the_reason(
    changed: dict[str, Any], reason: str
) -> None:
    with pytest.raises(StudyError) as refused:
        SPAX(**changed)
    assert reason in refused.value.message
    assert refused.value.cure


def test_all_reasons_are_said_at_once() -> None:
    with pytest.raises(StudyError, match=r"12 nodes.*holds no packet") as refused:
        SPAX(processing_nodes=8, io_nodes=3, packets_per_buffer=0)
    assert "keep to 10 nodes" in refused.value.cure
    assert "packets_per_buffer" in refused.value.cure


def test_the_largest_machine_that_the_switch_has_ports_for_is_built() -> None:
    assert SPAX(processing_nodes=8, io_nodes=1).stations
    assert SPAX(processing_nodes=5, io_nodes=2, clusters=2).stations


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"plane_choice": "by luck"}, "not one of its choices"),
        ({"processing_nodes": 0}, "below its lowest value 1"),
        ({"io_probability": 1.5}, "above its highest value 1"),
        ({"disks": 2.5}, "its type is int"),
        ({"processor_count": 4}, "has no 'processor_count'"),
    ],
)
def test_a_number_out_of_its_range_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        SPAX(**changed)


@pytest.mark.parametrize("name", [name for name, kind in FIELDS.items() if kind in (int, float)])
def test_no_machine_has_a_negative_number(name: str) -> None:
    with pytest.raises(StudyError, match=f"{name} is -1"):
        _raw(**{name: -1}).check()


@pytest.mark.parametrize("name", ["processor_mhz", "disk_mb_s", "cycles_per_instruction"])
def test_nothing_is_divided_by_zero(name: str) -> None:
    with pytest.raises(StudyError, match=f"{name} is 0.*|set {name} above 0"):
        _raw(**{name: 0.0}).check()


def test_a_plane_choice_that_a_file_declares_by_itself_is_refused() -> None:
    with pytest.raises(StudyError, match="choose 'by node' or 'by chance'"):
        _raw(plane_choice="by luck").check()


def _raw(**changed: Any) -> Machine:
    """Return a machine that no file has checked."""
    return Machine(
        **({parameter.name: parameter.default for parameter in SPAX.parameters} | changed)
    )


def test_times_follow_from_clocks_and_rates() -> None:
    machine = SPAX.machine(
        processor_mhz=100.0, cycles_per_instruction=2.0, path_length_factor=1.0, switch_mhz=50.0
    )
    assert machine.processor_ms(5.0) == pytest.approx(0.1)  # 5,000 x 2 cycles at 100 MHz
    assert machine.link_ms == pytest.approx(1e-3 * (20 + 64 / 4) / 50)
    assert machine.page_packets == 4096 // 64
    assert machine.packets(65) == 2
    assert machine.disk_read_ms - machine.disk_write_ms == pytest.approx(8.8 * 0.81)


def test_a_machine_file_of_ones_own_is_a_model(tmp_path: Path) -> None:
    copy = tmp_path / "mine.toml"
    text = (Path(__file__).parent / "machines" / "spax.toml").read_text()
    copy.write_text(
        text.replace("processor_mhz = { value = 200.0", "processor_mhz = { value = 400.0")
    )
    assert machine_model(copy).machine().processor_mhz == 400
