"""Rooms in Rust: a module uses only modules of its own room and of the rooms below it.

The rooms of Python are contracts in `pyproject.toml`. Tests inside a module may use any room.
"""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src" / "headroom"
KERNEL = ("run", "statistics", "places", "plan", "random")
"""Rooms of the kernel, from the top down; `error` and `time` are below all of them."""
LAYER_USES = {
    "storage": {
        "workloads": (),
        "devices": ("workloads",),
        "postmark": ("blocks", "workloads"),
    },
    "shared_memory": {
        "protocol": (),
        "checker": ("protocol",),
        "hook": (),
        "machine": ("programs", "protocol"),
        "programs": (),
        "traced": ("hook", "machine", "protocol"),
    },
}
"""Layer -> its rooms -> the other rooms that they may use."""


def uses(file: Path, prefix: str) -> set[str]:
    """Return the rooms below `prefix` that the code of a file names, without its tests."""
    text = file.read_text(encoding="utf-8")
    text = re.sub(
        r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{.*?^\}$", "", text, flags=re.M | re.S
    )
    code = re.sub(r"^\s*//.*$|\bpub\(in [\w:]+\)", "", text, flags=re.M)
    return set(re.findall(rf"\bcrate::{prefix}::(\w+)", code))


def files_of(room: Path) -> list[Path]:
    """Return the files of a room that are no tests."""
    files = [file for file in room.rglob("*.rs") if "test" not in file.stem + file.parent.name]
    assert files, f"{room} has no files"
    return [file for file in files if file.stem != "random_models"]


@pytest.mark.parametrize("room", KERNEL)
def test_a_room_of_the_kernel_uses_the_rooms_below_it_alone(room: str) -> None:
    above = set(KERNEL[: KERNEL.index(room)])
    for file in files_of(SOURCES / "simulation" / "kernel" / room):
        assert not uses(file, "simulation::kernel") & above, file


def test_every_file_of_the_kernel_lies_in_a_room() -> None:
    kernel = SOURCES / "simulation" / "kernel"
    assert {path.name for path in kernel.iterdir() if path.is_dir()} == set(KERNEL)
    assert {path.name for path in kernel.glob("*.rs")} == {"mod.rs", "error.rs", "time.rs"}


def test_the_kernel_knows_no_system() -> None:
    for file in files_of(SOURCES / "simulation"):
        assert "crate::systems" not in file.read_text(encoding="utf-8"), file


def test_no_layer_uses_another() -> None:
    layers = {path.name for path in (SOURCES / "systems").iterdir() if path.is_dir()}
    for layer in layers:
        for file in (SOURCES / "systems" / layer).rglob("*.rs"):
            assert not uses(file, "systems") & (layers - {layer}), file


@pytest.mark.parametrize(
    ("layer", "room"), [(layer, room) for layer, rooms in LAYER_USES.items() for room in rooms]
)
def test_a_room_of_a_layer_uses_the_rooms_below_it_alone(layer: str, room: str) -> None:
    folder = SOURCES / "systems" / layer
    rooms = {path.name for path in folder.iterdir() if path.is_dir()}
    for file in files_of(folder / room):
        found = uses(file, f"systems::{layer}") & rooms
        assert found <= {room, *LAYER_USES[layer][room]}, file


def test_the_store_of_records_knows_nobody_who_uses_it() -> None:
    for file in files_of(SOURCES / "systems" / "records" / "store"):
        assert uses(file, "systems::records") <= {"store"}, file


def test_memory_knows_no_other_part() -> None:
    for file in (SOURCES / "memory").rglob("*.rs"):
        found = set(re.findall(r"\bcrate::(\w+)", file.read_text(encoding="utf-8")))
        assert found <= {"memory", "python"}, file
