"""Looking at a study shows what its runs left, and never runs what its folder holds."""

import base64
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import headroom as hr
from headroom.analysis.results_file import read_results
from headroom.cli.app import app
from headroom.errors import StudyError
from headroom.experiment.protocol.kept_code import answering, kept_function
from headroom.experiment.protocol.plain_form import from_bytes, to_bytes
from tests.support.strangers_study import CODE, write_study

LOOKS = (
    ["show"],
    ["show", "--all"],
    ["status"],
    ["report"],
    ["export"],
    ["export", "--what", "replications"],
    ["history"],
    ["run", "--dry-run"],
)
MARKUP = "<script>document.title=1</script><img src=x onerror=alert(1)>"


def headroom(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def study_that_ran(tmp_path: Path) -> tuple[Path, Path]:
    """Return a study that was run, and the mark that its code leaves, which is taken away."""
    folder = write_study(tmp_path / "study", CODE["model"])
    assert headroom("run", folder).exit_code == 0
    mark = folder / "mark"
    mark.unlink()
    return folder, mark


@pytest.mark.parametrize("system", CODE)
@pytest.mark.parametrize("look", LOOKS, ids=" ".join)
def test_no_look_runs_code_that_was_never_run(look: list[str], system: str, tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", CODE[system])
    answer = headroom(*look, folder)
    assert not isinstance(answer.exception, Exception) or isinstance(answer.exception, SystemExit)
    assert not (folder / "mark").exists()


def test_looks_show_the_same_as_the_run_and_run_nothing(tmp_path: Path) -> None:
    folder, mark = study_that_ran(tmp_path)
    ran = read_results(folder / "results" / "results.json")
    for kept in (folder / "results").glob("*.cache"):
        kept.unlink()  # so that everything is planned and analysed anew
    assert hr.load(folder).data.experiments == ran.experiments
    assert "6 of 6" in headroom("status", folder).stdout
    assert headroom("report", folder).exit_code == 0
    assert len(headroom("export", folder, "--what", "replications").stdout.splitlines()) > 6
    assert hr.load(folder)["load"].at(rate=20)["throughput"].count == 3
    assert not mark.exists()


FITTED = """
schema = 1
name = "fitted"
title = "A fit of a model that only simulation answers"
seed = 1

[[experiment]]
name = "seen"
system = { name = "model", file = "model.py", completions = 400 }
fixed = { service_s = 0.01 }
factors.users = [1, 3, 6]
replications.count = 3

[[experiment]]
name = "predicted"
system = { name = "model", file = "model.py", completions = 400 }
factors.users = [9]
replications.count = 3

[experiment.fit]
from = "seen"
method = "least-squares"

[experiment.fit.options]
parameters = { service_s = [0.001, 0.1] }
metrics = ["response_s_mean"]
"""
CROWDED = """
from headroom.simulation import Model, draw, exponential


def build(users: int = 1, service_s: float = 0.02):
    model = Model("crowded", time_unit="s")
    ask = model.program("ask")
    server = model.station("server", discipline="infinite")
    ask.use(server, draw(exponential(service_s)) * (1 + model.jobs(server)))
    model.closed_class("users", ask, population=users)
    return model
"""


def test_an_interval_that_needs_the_code_is_that_of_the_run(tmp_path: Path) -> None:
    """Cause: `show` left out the error of a fit, and called certain what the run did not."""
    (tmp_path / "study.toml").write_text(FITTED, encoding="utf-8")
    (tmp_path / "model.py").write_text(CROWDED, encoding="utf-8")
    assert headroom("run", tmp_path, "--jobs", 2).exit_code == 0
    ran = read_results(tmp_path / "results" / "results.json")
    for kept in (tmp_path / "results").glob("*.cache"):
        kept.unlink()
    looked = hr.load(tmp_path).data
    assert looked.experiments[1].points[0].estimates == ran.experiments[1].points[0].estimates
    assert looked.experiments[1].points[0].estimates["response_s_mean"].low is not None


def test_a_changed_folder_is_named_and_what_ran_is_shown(tmp_path: Path) -> None:
    folder, mark = study_that_ran(tmp_path)
    before = headroom("show", folder).stdout
    text = (folder / "model.py").read_text()
    (folder / "model.py").write_text(text.replace("0.01", "0.02"))
    answer = headroom("show", folder)
    assert answer.stdout == before
    assert "model.py has changed since it was run" in answer.stderr
    assert not mark.exists()


def test_levels_that_never_ran_show_the_last_results_and_their_points(tmp_path: Path) -> None:
    folder, mark = study_that_ran(tmp_path)
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("[20, 60]", "[20, 60, 80]"))
    answer = headroom("show", folder)
    assert "results of the last run" in answer.stderr
    assert "rate" in answer.stdout
    points = headroom("run", "--dry-run", folder)
    assert points.stdout.splitlines()[-1] == "3 points"
    assert "not checked" in points.stderr
    assert not mark.exists()


def test_results_of_before_the_journal_kept_models_still_open(tmp_path: Path) -> None:
    folder, mark = study_that_ran(tmp_path)
    for kept in (folder / "results").glob("*.cache"):
        kept.unlink()
    with sqlite3.connect(folder / "results" / "journal.sqlite") as connection:
        connection.execute("DROP TABLE code")
    connection.close()
    assert "results of the last run" in headroom("show", folder).stderr
    assert hr.load(folder)["load"].at(rate=20)["throughput"].count == 3
    assert not mark.exists()


class Planted:
    """Runs a command as soon as it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.mark,)  # type: ignore[return-value] # pickle takes any


@pytest.mark.parametrize("place", ["[experiment.system]", "[experiment.quick.system]"])
@pytest.mark.parametrize("look", [*LOOKS, ["run"], ["solve"]], ids=" ".join)
def test_no_file_reaches_a_class_or_a_pickle(look: list[str], place: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    packed = base64.b64encode(pickle.dumps((Planted(mark), ()))).decode()
    name = "headroom.systems.model.function:FunctionSystem"
    table = f'{place}\nname = "{name}"\npacked = "{packed}"\n'
    base = "" if place == "[experiment.system]" else 'model = "mm1"\ncompletions = 500\n'
    folder = write_study(tmp_path / "study", base + table)
    answer = headroom(*look, folder)
    assert answer.exit_code == 2
    assert "a file cannot name a class" in answer.stderr
    assert not mark.exists()


@pytest.mark.parametrize(
    "planted",
    [
        ["builtins:print", ["x"]],
        ["os:system", ["touch mark"]],
        ["headroom.simulation.language.model:copy", []],
        ["headroom.simulation.language.model:Model", ["__class__", "x"]],
        ["headroom.systems.model.function:FunctionSystem", ["packed", "x"]],
    ],
)
def test_a_journal_of_a_stranger_makes_data_alone(planted: list[object], tmp_path: Path) -> None:
    import zlib  # noqa: PLC0415 - the format as a stranger writes it

    import msgspec  # noqa: PLC0415 - as above

    content = zlib.compress(msgspec.msgpack.encode([[0], [planted]]))
    with pytest.raises(StudyError, match="damaged"):
        from_bytes(content)
    folder, mark = study_that_ran(tmp_path)
    for kept in (folder / "results").glob("*.cache"):
        kept.unlink()
    with sqlite3.connect(folder / "results" / "journal.sqlite") as connection:
        connection.execute("UPDATE code SET content = ?", (content,))
    connection.close()
    assert headroom("show", folder).exit_code == 2
    assert not mark.exists()


def test_shared_parts_stay_shared_and_code_is_no_data() -> None:
    inner = (1, 2.5, "a")
    again = from_bytes(to_bytes([inner, inner, {3: inner}, {4}]))
    assert again == [inner, inner, {3: inner}, {4}]
    assert again[0] is again[1] is again[2][3]
    with pytest.raises(TypeError):
        to_bytes([print])


def test_texts_of_a_stranger_are_texts_on_every_page(tmp_path: Path) -> None:
    system = CODE["model"] + f"responses = ['throughput']\ntitle = '''{MARKUP}'''\n"
    folder = write_study(tmp_path / "study", CODE["model"], title=MARKUP)
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace(CODE["model"], system))
    assert headroom("run", folder).exit_code == 0
    page = (folder / "results" / "report.html").read_text()
    assert "<img src=x" not in page
    assert "<script>document.title" not in page
    assert "&lt;img src=x" in page
    stored = tmp_path / "sent"
    stored.mkdir()
    (stored / "results.json").write_bytes((folder / "results" / "results.json").read_bytes())
    assert headroom("report", stored).exit_code == 0
    assert "<img src=x" not in (stored / "report.html").read_text()


@pytest.mark.parametrize("record", [{}, {"digest": 1, "parameters": 3}, ["no record"], "text"])
def test_a_strange_record_of_a_model_is_damage_and_no_defect(
    record: object, tmp_path: Path
) -> None:
    """Whoever sends a journal chooses what stands in it."""
    path = tmp_path / "model.py"
    path.write_text("def build(): ...\n")
    records: Any = {"model": record}
    with answering(records), pytest.raises(StudyError, match="is damaged"):
        kept_function("model", path, "build", lambda _: "digest")
