"""Models that differ at each look, and factors that change no model, are refused with a cure."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.plan import Plan

STUDY = """
schema = 1
name = "desk"
title = "desk"
seed = 1
[[experiment]]
name = "load"
system = { name = "model", file = "model.py", completions = 100 }
replications = { count = 2 }
responses = ["throughput"]
"""
MODEL = """
from typing import Annotated
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter
Number = Annotated[float, parameter(unit="1", source="assumed", low=0)]
seen = []

def build(*, used: Number = 1.0, unused: Number = 1.0) -> Model:
    seen.append(1)
    model = Model("desk", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("desk"), exponential(SERVICE))
    model.open_class("people", visit, interarrival=exponential(1))
    return model
"""


def planned(folder: Path, factors: str, *, service: str = "0.1 * used") -> Plan:
    (folder / "study.toml").write_text(STUDY + factors)
    (folder / "model.py").write_text(MODEL.replace("SERVICE", service))
    return make_plan(load_study(folder), quick=False)


def test_a_factor_that_changes_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the model is the same at all levels of 'unused'"):
        planned(tmp_path, "factors = { used = [1, 2], unused = [1, 2] }")
    with pytest.raises(StudyError, match="at all levels of 'used' and 'unused'"):
        planned(tmp_path, "zipped = [{ used = [1, 2], unused = [1, 2] }]", service="0.1")


@pytest.mark.parametrize(
    "factors",
    [
        "factors = { used = [1, 2], unused = [1] }",
        "zipped = [{ used = [1, 2], unused = [1, 2] }]",
        "factors = { used = [0, 1], unused = [1, 2] }",
    ],
)
def test_a_factor_that_changes_some_model_is_used(tmp_path: Path, factors: str) -> None:
    """The last one matters only where another one is above zero."""
    assert planned(tmp_path, factors, service="0.1 + 0.1 * used * unused").experiments


def test_a_model_that_differs_at_each_look_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="describes the same point differently each time"):
        planned(tmp_path, "factors = { used = [1, 2] }", service="used * len(seen)")
