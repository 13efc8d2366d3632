"""Recorded runs are replayed in order, once each, and never run."""

import json
from pathlib import Path

import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.systems.imported.system import ImportedSetup, ImportedSystem


def written(folder: Path, runs: list[dict[str, object]], **more: object) -> ImportedSystem:
    metrics = [{"name": "wall_s", "unit": "s", "better": "low"}, {"name": "spare", "unit": "1"}]
    content = {"metrics": metrics, "runs": runs, **more}
    (folder / "runs.json").write_text(json.dumps(content), encoding="utf-8")
    return ImportedSystem.load(ImportedSetup(file="runs.json"), base=folder)


def run(size: object, wall_s: float) -> dict[str, object]:
    return {"levels": {"size": size}, "values": {"wall_s": wall_s}, "source": "a.txt"}


def test_each_recorded_run_is_one_replication_of_its_point(tmp_path: Path) -> None:
    system = written(tmp_path, [run(8, 1.0), run(16, 5.0), run(8, 2.0)])
    assert [system.recorded({"size": size}) for size in (8, 16)] == [2, 1]
    replayed = [system.replay({"size": 8}, replication=at).values["wall_s"] for at in (0, 1)]
    assert replayed == [1.0, 2.0]
    assert [metric.name for metric in system.metrics({"size": 8})] == ["wall_s"]


def test_levels_are_parameters_of_their_type_and_sources_and_rows_are_known(
    tmp_path: Path,
) -> None:
    rows = [{**run(8, 1.0), "source": "b.txt"}, run(16.5, 5.0), {**run(8, 2.0), "source": "b.txt"}]
    system = written(tmp_path, rows)
    (size,) = system.parameters()
    assert (size.name, size.type, size.unit, size.default) == ("size", "float", "", None)
    assert size.source == "recorded"
    (wall,) = system.metrics({"size": 8})
    assert (wall.unit, wall.better) == ("s", "low")
    assert system.prepare() == {"imported from": "b.txt, a.txt"}
    prints = {system.fingerprint({"size": size}) for size in (8, 16.5)}
    assert len(prints) == 2
    assert all(len(one) == 16 for one in prints)
    assert written(tmp_path, rows[::-1]).fingerprint({"size": 16.5}) in prints


def test_recorded_values_are_in_base_units_whatever_the_file_says(tmp_path: Path) -> None:
    metrics = [{"name": "wall_s", "unit": "ms"}, {"name": "score", "unit": "points"}]
    runs: list[dict[str, object]] = [
        {"levels": {}, "values": {"wall_s": 20.0, "score": 3.0}, "source": "a.txt"}
    ]
    system = written(tmp_path, runs, metrics=metrics)
    assert [metric.unit for metric in system.metrics({})] == ["s", "points"]
    assert system.replay({}, replication=0).values == {"wall_s": 0.02, "score": 3.0}


def test_an_exact_value_is_the_same_in_each_of_its_replications(tmp_path: Path) -> None:
    written(tmp_path, [run(8, 1.0), run(8, 2.0)])
    setup = ImportedSetup(file="runs.json", exact=True)
    system = ImportedSystem.load(setup, base=tmp_path)
    count = system.recorded({"size": 8})
    values = [system.replay({"size": 8}, replication=at).values["wall_s"] for at in range(count)]
    assert values == [1.0] * (count // 2) + [2.0] * (count // 2)
    assert count > 2


def test_the_fingerprint_covers_the_runs_of_its_point_and_no_others(tmp_path: Path) -> None:
    before = written(tmp_path, [run(8, 1.0), run(16, 5.0)])
    after = written(tmp_path, [run(8, 1.0), run(16, 5.5)])
    assert before.fingerprint({"size": 8}) == after.fingerprint({"size": 8})
    assert before.fingerprint({"size": 16}) != after.fingerprint({"size": 16})


def test_nothing_is_run_and_no_other_point_is_known(tmp_path: Path) -> None:
    system = written(tmp_path, [run(8, 1.0)])
    with pytest.raises(StudyError, match="no run at"):
        system.recorded({"size": 9})
    with pytest.raises(StudyError, match="no seed 7"):
        system.run({"size": 8}, seed=7)


@pytest.mark.parametrize(
    ("runs", "more", "message"),
    [
        ([], {}, "has no runs"),
        ([run(8, 1.0)], {"format": 9}, "has format 9, not 1"),
        ([run(8, 1.0), {**run(8, 1.0), "levels": {}}], {}, "run 2 differs from the others in size"),
        ([{**run(8, 1.0), "values": {"speed": 1.0}}], {}, "run 1 differs from the others in speed"),
        ([{"levels": {}}], {}, "not a file of recorded runs"),
    ],
)
def test_an_incomplete_file_is_refused_with_its_fault(
    runs: list[dict[str, object]], more: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(HeadroomError, match=message):
        written(tmp_path, runs, **more)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"absent\.json: no such file"):
        ImportedSystem.load(ImportedSetup(file="absent.json"), base=tmp_path)
