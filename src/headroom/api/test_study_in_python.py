"""A study in Python and in TOML is the same study: keys, errors, rows, resumption."""

from pathlib import Path

import pytest

import headroom as hr
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import journal_path

MODEL = """
import headroom as hr

def shop(rate: float = 50.0, servers: int = 1):
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till", servers=servers), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(1 / rate))
    return model
"""


def shop(rate: float = 50.0, servers: int = 1) -> hr.Model:
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till", servers=servers), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(1 / rate))
    return model


def study_in(folder: Path, *, replications: int = 2, value: float = 40.0) -> hr.Study:
    load = hr.Experiment(
        "load",
        shop,
        factors={"rate": [40.0, 80.0]},
        replications=replications,
        completions=300,
        responses=["throughput"],
    )
    claim = hr.ValueClaim(
        name="all-come",
        text="All visits are served",
        experiment="load",
        metric="throughput",
        where={"rate": 40.0},
        value=value,
        tolerance=0.5,
    )
    return hr.Study("shop", [load], title="A shop", seed=7, claims=[claim], folder=folder)


def rows(folder: Path) -> list[tuple[object, ...]]:
    """Return the rows of a journal, without times."""
    with Journal.open(journal_path(folder, quick=False), create=False) as journal:
        heads = list(journal.heads("load"))
    return sorted(
        (row.point_key, row.replication, row.seed, row.fingerprint, row.state) for row in heads
    )


def test_a_study_has_the_same_rows_and_results_in_python_and_in_toml(tmp_path: Path) -> None:
    built = study_in(tmp_path / "built")
    in_file = tmp_path / "file"
    in_file.mkdir()
    (in_file / "model.py").write_text(MODEL)
    text = built.to_toml().replace(_file_of(built), "model.py")
    (in_file / "study.toml").write_text(text)
    by_python, by_file = hr.run(built, processes=1), hr.run(in_file, processes=1)
    assert rows(tmp_path / "built") == rows(in_file)
    assert by_python.to_rows() == by_file.to_rows()
    assert by_python.holds
    differing = study_in(tmp_path / "differs", value=400.0)
    assert not hr.run(differing, processes=1).holds
    unclaimed = hr.Study("shop", differing.experiments, folder=tmp_path / "unclaimed")
    assert not hr.run(unclaimed, processes=1).holds
    assert [point["value"] for point in by_python.replications()] == [
        point["value"] for point in by_file.replications()
    ]


def _file_of(study: hr.Study) -> str:
    return str(study.experiments[0].file_content(study.folder)["system"]["file"])


def test_a_study_in_python_is_resumed_and_extended(tmp_path: Path) -> None:
    hr.run(study_in(tmp_path), processes=1)
    longer = hr.run(study_in(tmp_path, replications=3), processes=1)
    assert longer["load"].at(rate=40)["throughput"].count == 3
    assert "4 replications of earlier runs reused" in " ".join(longer.notes)
    assert longer.report is not None
    page, file = hr.load(longer.report), hr.load(longer.report.with_name("results.json"))
    assert page.to_rows() == file.to_rows() == longer.to_rows() == hr.load(tmp_path).to_rows()
    assert "hr.run(study)" in longer.data.command
    assert "no source stated" in longer.report.read_text(encoding="utf-8")


def test_the_text_of_a_study_reads_back_as_the_same_study(tmp_path: Path) -> None:
    built = study_in(tmp_path)
    (tmp_path / "study.toml").write_text(built.to_toml())
    loaded = load_study(tmp_path).study
    assert loaded.claims == built.loaded().study.claims
    assert loaded.experiments[0].factors == {"rate": [40.0, 80.0]}
    assert loaded.experiments[0].system["function"] == "shop"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"factros": {"rate": [1.0]}}, "study 'x': experiment \"load\": factros: unknown key"),
        ({"factors": {"rte": [1.0]}}, "factors.rte: the system has no parameter 'rte'"),
        ({"factors": {"rate": ["fast"]}}, "factors.rate[0]"),
        ({"responses": ["thruput"]}, "responses[0]"),
        ({"replications": {"half_width": 0.1}}, "replications: needs either count"),
    ],
)
def test_errors_name_the_study_and_the_key(
    tmp_path: Path, keys: dict[str, object], message: str
) -> None:
    with pytest.raises(StudyError) as caught:
        hr.run(hr.Study("x", [hr.Experiment("load", shop, **keys)], folder=tmp_path))  # type: ignore[arg-type]
    assert message in caught.value.message
    assert caught.value.cure
    assert ":0" not in caught.value.message


def test_a_model_without_a_file_runs_and_only_its_toml_is_refused(tmp_path: Path) -> None:
    alone = hr.Study("x", [hr.Experiment("load", lambda: shop(rate=20.0))], folder=tmp_path)
    with pytest.raises(StudyError, match="in no file"):
        alone.to_toml()
    ready = shop(rate=20.0)
    found = hr.simulate(ready, completions=200, replications=2, processes=1)
    assert 10 < found["throughput"].value < 40


def test_names_with_quotes_and_other_letters_survive(tmp_path: Path) -> None:
    title = 'Wie viele "Gäste"? 多少\\'
    study = hr.Study("x", [hr.Experiment("load", "mm1")], title=title, folder=tmp_path)
    (tmp_path / "study.toml").write_text(study.to_toml(), encoding="utf-8")
    assert load_study(tmp_path).study.title == title
