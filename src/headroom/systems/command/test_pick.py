"""Values extracted from outputs: found, missing, ambiguous, not numeric."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.systems.command import pick as pick_module
from headroom.systems.command.failure import CommandFailedError
from headroom.systems.command.pick import check_metric, divide, pick
from headroom.systems.command.setup_table import MetricTable


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


def by_regex(pattern: str) -> MetricTable:
    return MetricTable(name="rate", unit="1/s", regex=pattern)


def by_json(path: str) -> MetricTable:
    return MetricTable(name="rate", unit="1/s", json_path=path)


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_is_picked_exactly(
    number: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("pick") / "output"
    path.write_text(f"first line\nrate = {number!r} per second\n")
    assert pick(by_regex(r"rate = (\S+)"), path=path) == number
    path.write_text(json.dumps({"jobs": [{"rate": number}]}))
    assert pick(by_json("$.jobs[0].rate"), path=path) == number


def test_the_first_match_counts_and_a_caret_means_a_line(output: Path) -> None:
    output.write_text("all 1\nrate 2\nrate 3\n")
    assert pick(by_regex(r"^rate (\d+)"), path=output) == 2


def test_a_filter_of_the_json_path_standard_is_understood(output: Path) -> None:
    output.write_text('[{"name": "read", "iops": 7}, {"name": "write", "iops": 9}]')
    assert pick(by_json("$[?@.name == 'write'].iops"), path=output) == 9


@pytest.mark.parametrize(
    ("text", "metric", "words"),
    [
        ("rate: none", by_regex(r"rate: (\d+)"), "nothing matches"),
        ("rate: fast", by_regex(r"rate: (\w+)"), "not a finite number"),
        ("rate: inf", by_regex(r"rate: (\w+)"), "not a finite number"),
        ("rate: 3", by_regex(r"rate: 3|(x)"), "nothing matches"),
        ("", by_regex(r"(\d+)"), "it is empty"),
        ("oops", by_json("$.rate"), "not valid JSON"),
        ("{}", by_json("$.rate"), "nothing matches"),
        ('{"rate": true}', by_json("$.rate"), "not a finite number"),
        ('{"rate": null}', by_json("$.rate"), "nothing matches|not a finite number"),
        ('{"rate": [1, 2]}', by_json("$.rate[*]"), "selects 2 values"),
    ],
)
def test_a_figure_that_is_not_one_number_fails_and_shows_the_text(
    output: Path, text: str, metric: MetricTable, words: str
) -> None:
    output.write_text(text)
    with pytest.raises(CommandFailedError, match=words) as caught:
        pick(metric, path=output)
    assert text in caught.value.message


def test_an_output_beyond_the_limit_is_cut_and_the_message_says_so(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pick_module, "LARGEST_TEXT_BYTES", 10)
    output.write_text("x" * 10 + "rate 3")
    with pytest.raises(CommandFailedError, match="only its first 10 bytes"):
        pick(by_regex(r"rate (\d)"), path=output)


def test_a_file_that_the_program_did_not_write_fails(output: Path) -> None:
    with pytest.raises(CommandFailedError, match="did not write the file 'output'"):
        pick(MetricTable(name="size", size_of="output"), path=output)


def test_a_quotient_of_zero_fails_and_names_the_metric() -> None:
    metric = MetricTable(name="ratio", quotient=["in", "out"])
    assert divide(metric, {"in": 6.0, "out": 3.0}) == 2
    with pytest.raises(CommandFailedError, match="'out' is 0"):
        divide(metric, {"in": 6.0, "out": 0.0})


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (MetricTable(name="x"), "sets none of"),
        (MetricTable(name="x", regex="(a)", json_path="$.a"), "regex and json_path"),
        (MetricTable(name="x", regex="(a"), "expression '\\(a' is wrong"),
        (MetricTable(name="x", regex="a"), "0 groups"),
        (MetricTable(name="x", regex="(a)(b)"), "2 groups"),
        (MetricTable(name="x", json_path="a b"), "JSON path 'a b' is wrong"),
        (MetricTable(name="x", quotient=["wall_s"]), "a quotient needs two"),
    ],
)
def test_a_metric_that_cannot_be_found_is_refused_when_the_study_is_read(
    metric: MetricTable, words: str
) -> None:
    with pytest.raises(StudyError, match=words):
        check_metric(metric)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"(?:a+)+(\d)", "a" * 5000), (r"\s+(\d+)$", " " * 500_000)],
    ids=["nested repetitions", "a long run of blanks"],
)
def test_a_pattern_that_backtracks_without_end_fails_its_metric(
    pattern: str, text: str, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: the search ran past every limit of the study."""
    monkeypatch.setattr(pick_module, "SEARCH_LIMIT_S", 0.05)
    output.write_text(text)
    with pytest.raises(CommandFailedError, match="was ended after") as caught:
        pick(by_regex(pattern), path=output)
    assert "'rate'" in caught.value.message
    assert f"`{pattern}`" in caught.value.message
