"""A run that slows a part says by how much, and a run that slows none is as any other."""

from pathlib import Path

import msgspec
import pytest

from headroom.systems.command.setup_table import CommandSetup
from headroom.systems.command.slowed import parts_of, slowed_parameter
from headroom.systems.command.system import CommandSystem

SETUP = {
    "argv": ["{python}", "-c", "import time; time.sleep(0.4)"],
    "slowed": {"by": 0.25, "slice_s": 0.002},
    "observe": False,
}
SERVED = SETUP | {
    "service": [
        {"name": "db", "argv": ["sleep", "60"], "ports": [], "limits": {"cpus": 0.5}},
        {"name": "web", "argv": ["sleep", "60"], "ports": []},
    ]
}


def system_of(table: dict[str, object], folder: Path) -> CommandSystem:
    return CommandSystem.load(msgspec.convert(table, CommandSetup), base=folder)


def test_every_part_and_every_limit_can_be_slowed() -> None:
    setup = msgspec.convert(SERVED, CommandSetup)
    assert parts_of(setup) == ("program", "db", "web", "db.limit")
    assert slowed_parameter(setup).default == "nothing"


@pytest.mark.parametrize(("part", "share"), [("program", 0.25), ("nothing", 0.0)])
def test_the_share_of_the_program_is_measured(part: str, share: float, tmp_path: Path) -> None:
    run = system_of(SETUP, tmp_path).run({"slowed": part}, seed=1)
    assert run.values["slowed_share"] == pytest.approx(share, abs=0.1)
    assert run.values["exit_code"] == 0.0


def test_a_service_is_slowed_and_lives_on(tmp_path: Path) -> None:
    system = system_of(SERVED, tmp_path)
    try:
        first = system.run({"slowed": "web"}, seed=1)
        again = system.run({"slowed": "nothing"}, seed=1)
    finally:
        system.close_session()
    assert first.values["slowed_share"] == pytest.approx(0.25, abs=0.1)
    assert again.values["slowed_share"] == 0.0


def test_without_the_table_nothing_is_added(tmp_path: Path) -> None:
    system = system_of({"argv": ["true"], "observe": False}, tmp_path)
    assert [one.name for one in system.parameters()] == []
    assert "slowed_share" not in system.run({}, seed=1).values
