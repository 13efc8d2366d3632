"""An invalid study file is rejected with file, line, key and the likely correction."""

import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.study import Range, ValueClaim
from tests.support.fake_systems import fake_entries

GOOD = """\
schema = 1
name = "web"
title = "Web"
seed = 1

[[experiment]]
name = "load"
system = { name = "fake-model" }
fixed = { rate = { value = 2.5, source = "assumed: a guess" } }

[experiment.factors]
users = { from = 1, to = 9, step = 2 }
mode = ["plain", "faulty"]

[experiment.replications]
count = 3

[[claim]]
kind = "value"
name = "fast"
text = "It is fast."
experiment = "load"
metric = "throughput"
where = { users = 1, mode = "plain" }
value = 2.0
tolerance = 0.1
"""


def refusal(folder: Path, text: str) -> StudyError:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load_study(path)
    return caught.value


def test_a_good_study_is_read_by_file_or_folder(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(GOOD)
    loaded = load_study(tmp_path)
    assert loaded.study == load_study(tmp_path / "study.toml").study
    assert loaded.folder == tmp_path
    assert loaded.study.experiments[0].factors["users"] == Range(start=1, stop=9, step=2)
    assert isinstance(loaded.study.claims[0], ValueClaim)
    assert loaded.locate(["experiment", 0, "factors", "mode", 1]) == 13


@pytest.mark.parametrize(
    "case",
    [
        ("count = 3", "runs = 3", 16, "replications.runs", "unknown key", "'count'"),
        ("count = 3", "counts = 3", 16, "replications.counts", "unknown key", "'count'"),
        ("count = 3", "count = 0", 16, "replications.count", "outside", "1 or more"),
        ("count = 3", 'count = "3"', 16, "replications.count", "whole number", "whole"),
        ("count = 3", "count = 2.5", 16, "replications.count", "whole number", "whole"),
        ("count = 3", "count = true", 16, "replications.count", "whole number", "whole"),
        ("step = 2 }", "stepp = 2 }", 12, "factors.users.stepp", "unknown key", "'step'"),
        ('["plain", "faulty"]', "[[1]]", 13, "factors.mode[0]", "a list", "text"),
        ('"plain", "faulty"', '"plain", 1979-05-27', 13, "factors.mode[1]", "date", "text"),
        ("value = 2.5", "valu = 2.5", 9, "fixed.rate.valu", "unknown key", "'value'"),
        ('kind = "value"', 'kind = "valeu"', 19, 'claim "fast": kind', "unknown kind", "'value'"),
        ('kind = "value"\n', "", 18, 'claim "fast"', "'kind' is missing", "choose one of"),
        ('title = "Web"\n', "", 1, "", "neither a title nor a question", "add title"),
        ('name = "web"', 'name = "my web"', 2, "name", "not a valid name", "start with a letter"),
        ("schema = 1", "schema = 2", 1, "schema", "is 2", "1"),
        ('name = "load"', 'name = "the load"', 7, "experiment[0].name", "valid name", "start with"),
        ("seed = 1", "seed = -1", 4, "seed", "outside", "0 or more"),
        ("tolerance = 0.1", "tolerance = -0.1", 26, "tolerance", "outside", "0 or more"),
        ("value = 2.0", "value = nan", 25, 'claim "fast": value', "nan", "finite"),
        ("value = 2.5", "value = inf", 9, "fixed.rate", "inf", "finite"),
        ("from = 1", f"from = {10**30}", 12, "factors.users.from", "range", "at most"),
        ("seed = 1", f"seed = {2**63}", 4, "seed", "range", "at most"),
        ("[[experiment]]", "[experiment]", 6, "experiment", "a table", "[[experiment]]"),
        ("[[claim]]", "[claim]", 18, "claim", "a table", "write [[claim]] with two brackets"),
        ('users = 1, mode = "plain" }', 'users = { n = 1 } }', 24, "where.users", "table", "give"),
        ("schema = 1\n", "", 1, "", "'schema' is missing", "add schema = 1 here"),
        ("count = 3", "count = 3\ncounts = 3", 17, "replications.counts", "unknown", "count, half"),
    ],
)  # fmt: skip
def test_a_wrong_key_or_value_is_named_with_its_line(
    tmp_path: Path, case: tuple[str, str, int, str, str, str]
) -> None:
    old, new, line, key, cause, cure = case
    assert old in GOOD
    error = refusal(tmp_path, GOOD.replace(old, new, 1))
    assert error.message.startswith(f"{tmp_path / 'study.toml'}:{line}: ")
    assert key in error.message
    assert cause in error.message
    assert cure in error.cure


@pytest.mark.parametrize(
    ("text", "line", "cure"),
    [
        ("schema = 1\nname = web\n", 2, "quotes"),
        ("a = [1,\n2\n", 2, "close the list"),
        ("a = 1\na = 2\n", 2, "twice"),
        ("[a]\nx = 1\n[a]\n", 3, "twice"),
        ('a = "x\n', 1, "quote"),
        ("a\n", 1, "key = value"),
        ("[a\nb = 1\n", 1, "https://toml.io"),
        ("a = 3 s\n", 1, "https://toml.io"),
        ("x = True\n", 1, "small letters"),
        ("x = { a = 1 }\nx.b = 2", 2, "inside the braces"),
    ],
)
def test_broken_toml_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, cure: str
) -> None:
    error = refusal(tmp_path, text)
    assert f"study.toml:{line}: " in error.message
    assert cure in error.cure


@pytest.mark.parametrize(
    ("text", "cause"),
    [("a = " + "[" * 5000, "nested too deeply"), ("a = " + "1" * 5000, "digits")],
)
def test_absurd_files_are_refused(tmp_path: Path, text: str, cause: str) -> None:
    assert cause in refusal(tmp_path, text).message


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    loaded = load_study(tmp_path)
    assert loaded.locate(["claim", 0, "kind"]) == 19


PIECES = [
    *GOOD.split("\n"), "[[claim]]", "users = []", "quick.skip = 1", "kind = 'knee'", "= 1",
    "[experiment.quick]", "factors.users = [1, 'a']", "a.b.c = 1", "x = nan", "count = 1e400",
    "metric = 5", "system = 3", "zipped = [[1]]", "[[experiment.zipped]]", "where = []",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25), st.data())
def test_any_text_is_a_study_or_refused_with_a_cure(pieces: list[str], data: st.DataObject) -> None:
    """Property: no text ends in anything but a study or a message with a hint."""
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, len(GOOD)))
    text = GOOD[:start] + "\n".join(pieces) + GOOD[end:]
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(registry, "registered", fake_entries),
    ):
        (Path(folder) / "study.toml").write_text(text, encoding="utf-8")
        error = refusal_or_none(Path(folder), quick=data.draw(st.booleans()))
    assert error is None or (error.cure and "study.toml" in error.message)


def refusal_or_none(folder: Path, *, quick: bool) -> StudyError | None:
    try:
        make_plan(load_study(folder), quick=quick)
    except StudyError as error:
        return error
    return None


def test_a_file_that_is_no_study_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("x = 1\n")
    with pytest.raises(StudyError, match=r"model\.py is not a study file.*end in \.toml") as caught:
        load_study(tmp_path / "model.py")
    assert "its folder" in caught.value.cure


def test_an_empty_file_says_how_to_begin(tmp_path: Path) -> None:
    assert refusal(tmp_path, "").cure == "add schema = 1 here"


def test_a_missing_study_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no study file") as caught:
        load_study(tmp_path / "nothing")
    assert "headroom init" in caught.value.cure


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(b"name = \xff\xfe")
    with pytest.raises(StudyError, match="UTF-8"):
        load_study(tmp_path)
