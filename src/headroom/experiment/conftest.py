"""Fixtures of the engine's tests: fake systems, and studies built from text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.experiment.protocol import registry
from headroom.experiment.study.design import Plan, make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.fake_systems import fake_entries

HEADER = """\
schema = 1
name = "test-study"
title = "A study for the tests"
seed = 7
"""

MakePlan = Callable[..., Plan]


@pytest.fixture
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the fake systems instead of the real ones."""
    monkeypatch.setattr(registry, "registered", fake_entries)


@pytest.fixture
def plan_of(tmp_path: Path, _fakes: None) -> MakePlan:
    """Return a function from the text of a study, without its header, to its plan."""

    def plan(text: str, *, quick: bool = False, seed: int | None = None) -> Plan:
        (tmp_path / "study.toml").write_text(HEADER + text, encoding="utf-8")
        return make_plan(load_study(tmp_path), quick=quick, seed=seed)

    return plan
