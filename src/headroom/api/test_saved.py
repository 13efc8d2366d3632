"""Saved results are compared as the command compares them."""

from pathlib import Path

import pytest

import headroom as hr
from headroom.errors import StudyError


def result(folder: Path, seed: int, *, servers: int = 1) -> hr.Result:
    load = hr.Experiment(
        "load",
        system={"name": "model", "model": "mmc"},
        fixed={"servers": servers},
        factors={"utilization": [0.3, 0.6]},
        replications=3,
        completions=2_000,
        responses=["response_s_mean"],
        what_if={"parts": "none"},
    )
    study = hr.Study("queue", [load], title="A queue", seed=seed, folder=folder)
    return hr.run(study, progress=False)


def test_results_of_one_study_have_a_ratio_for_each_point(tmp_path: Path) -> None:
    before, after = result(tmp_path / "one", 1), result(tmp_path / "two", 2)
    found = hr.compare(before, after, names=["before", "after"])
    assert [row.levels for row in found.rows] == [{"utilization": 0.3}, {"utilization": 0.6}]
    for row in found.rows:
        assert row.ratio is not None
        assert 0.7 < row.ratio < 1.4, "the same queue with other random numbers"
    assert "after" in found.summary()
    assert found.to_rows()[0]["utilization"] == 0.3
    with pytest.raises(StudyError, match="two results with different names"):
        hr.compare(before)


def test_results_of_other_parameters_are_refused_unless_forced(tmp_path: Path) -> None:
    one, two = result(tmp_path / "one", 1), result(tmp_path / "two", 1, servers=2)
    with pytest.raises(StudyError, match="servers"):
        hr.compare(one, two)
    assert hr.compare(one, two, force=True).data.forced


def test_results_and_models_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be compared with models"):
        hr.compare(result(tmp_path, 1), "mmc")  # type: ignore[call-overload] # on purpose
