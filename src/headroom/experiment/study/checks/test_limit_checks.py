"""Limits that decide nothing, and misspelt names of fits, are refused before anything runs."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study

STUDY = """
schema = 1
name = "queue"
title = "queue"
seed = 1
[[experiment]]
name = "load"
system = { name = "model", model = "mm1", completions = 100 }
factors = { utilization = [0.2, 0.5, 0.8] }
replications = { count = 2 }
responses = ["throughput"]
"""
FIT = """
[[experiment]]
name = "fitted"
system = { name = "model", model = "mm1", completions = 100 }
factors = { utilization = [0.9] }
replications = { count = 2 }
[experiment.fit]
from = "load"
method = "least-squares"
options = { parameters = { service_s = [0.01, 10] }, metrics = ["throughput", METRIC] }
"""
BUSY = "station.server.utilization"


def refusal(folder: Path, more: str) -> StudyError:
    (folder / "study.toml").write_text(STUDY + more)
    with pytest.raises(StudyError) as caught:
        make_plan(load_study(folder), quick=False)
    return caught.value


@pytest.mark.parametrize(
    ("metric", "bound", "why", "cure"),
    [
        (BUSY, "at_most = 80", "a share is never above 1", '"80%" or 0.8'),
        (BUSY, "at_least = 0", "a share is never below 0", '"80%"'),
        ("response_s_mean", "at_most = -0.2", "a time is never below 0", "correct the bound"),
        ("throughput", "at_least = 0", "a rate is never below 0", "correct the bound"),
        ("response_s_mean", 'at_most = "200"', '"200" has no unit', "200 without quotes"),
        (BUSY, "at_most = 0.8\ncurrent = 0.9", "beyond the levels", "add a level"),
    ],
)
def test_a_limit_that_decides_nothing_is_refused(
    tmp_path: Path, metric: str, bound: str, why: str, cure: str
) -> None:
    error = refusal(tmp_path, f'[[experiment.limit]]\nmetric = "{metric}"\n{bound}\n')
    assert why in error.message
    assert cure in error.cure
    key = "current" if "current" in bound else bound.partition(" ")[0]
    assert f": limit.{key}" in error.message or key in error.message


def test_a_misspelt_metric_of_a_fit_is_refused_with_what_was_meant(tmp_path: Path) -> None:
    error = refusal(tmp_path, FIT.replace("METRIC", '"response_s_maen"'))
    assert "the system reports no metric 'response_s_maen'" in error.message
    assert "did you mean 'response_s_mean'" in error.cure
    (tmp_path / "study.toml").write_text(STUDY + FIT.replace("METRIC", '"response_s_mean"'))
    assert make_plan(load_study(tmp_path), quick=False).experiments[1].fit is not None


def test_an_error_of_the_system_names_the_key_that_it_is_about(tmp_path: Path) -> None:
    system = 'system = { name = "model", model = "mm1", completions = 100 }'
    table = '[experiment.system]\nname = "model"\ncompletions = 100\nfile = "modl.py"\n'
    text = STUDY.replace(f"{system}\n", "") + table
    (tmp_path / "study.toml").write_text(text)
    line = text.splitlines().index('file = "modl.py"') + 1
    with pytest.raises(StudyError, match=rf'study.toml:{line}: experiment "load": system.file: '):
        make_plan(load_study(tmp_path), quick=False)


def test_the_quick_variant_may_leave_the_current_load_out(tmp_path: Path) -> None:
    limit = f'limit = [{{ metric = "{BUSY}", at_most = 0.9, current = 0.8 }}]\n'
    quick = "quick.factors = { utilization = [0.2, 0.5] }\n"
    (tmp_path / "study.toml").write_text(STUDY + limit + quick)
    plan = make_plan(load_study(tmp_path), quick=True)
    assert [point.levels["utilization"] for point in plan.experiments[0].points] == [0.2, 0.5]
