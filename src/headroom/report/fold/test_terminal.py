"""Output of `headroom show`."""

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headroom.analysis.evidence import Fault
from headroom.analysis.results import StudyResult
from headroom.errors import StudyError
from headroom.report.fold.terminal import render_study
from headroom.report.sentences.claims import claim_sentence
from tests.support.example_results import (
    SHAPES,
    black_box_experiment,
    claims,
    failing_experiment,
    large_study,
    measured_experiment,
    model_experiment,
    study,
)


def _printed(
    shape: str, *, encoding: str = "utf-8", width: int = 80, point: str | None = None
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    render_study(SHAPES[shape], Console(file=stream, width=width), point=point)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("shape", SHAPES)
def test_piped_output_fits_80_columns_and_has_no_colours(shape: str) -> None:
    text = _printed(shape)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("shape", SHAPES)
def test_a_terminal_without_unicode_gets_everything_in_plain_signs(shape: str) -> None:
    """Encoding strictly proves it: one sign too many would raise."""
    assert SHAPES[shape].title in _printed(shape, encoding="ascii")


def test_the_essentials_are_there() -> None:
    text = _printed("everything")
    for words in (
        "How many users does the shop carry? (simulated)",
        'Station "database" is the bottleneck',
        "0.154 ±0.014",
        "3 claims: 1 holds, 1 differs and 1 is undecided.",
        "deadlock: web waits for connections",
        "Report: studies/web-shop/results/report.html",
    ):
        assert words in text


def test_responses_that_do_not_fit_are_named() -> None:
    assert "Also in the report: Throughput" in _printed("numeric sweep", width=50)


def test_one_point_is_shown_in_full() -> None:
    text = _printed("numeric sweep", point="users=120,servers=2")
    for words in ("response_s_p95", "connections (pool)", "Little's law holds", "2200, 2201"):
        assert words in text


def test_an_unknown_point_is_refused_with_a_key_that_exists() -> None:
    with pytest.raises(StudyError) as caught:
        _printed("numeric sweep", point="users=7")
    assert "users=10,servers=2" in caught.value.cure


@pytest.mark.deep
@given(st.text(alphabet="[]/boldred#link=", min_size=1, max_size=20))
def test_words_of_a_study_are_never_read_as_markup(words: str) -> None:
    """Rich would swallow ``[bold]`` or raise at ``[/]`` if titles were read as its markup."""
    assert words in _shown(study(failing_experiment(), title=words), width=200)


def _shown(result: StudyResult, *, width: int = 100, point: str | None = None) -> str:
    stream = io.StringIO()
    render_study(result, Console(file=stream, width=width), point=point)
    return stream.getvalue()


@pytest.mark.parametrize("shape", SHAPES)
def test_piped_lines_have_no_blanks_at_their_ends(shape: str) -> None:
    assert [line for line in _printed(shape).splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("sign", ["\x1b", "\x00", "\x07", "\u202e", "\x9b"])
def test_signs_that_steer_a_terminal_are_written_out(sign: str) -> None:
    """A file name or an error text of somebody else must not move the cursor of the reader."""
    experiment = failing_experiment()
    point = msgspec.structs.replace(
        experiment.points[3], errors=[f"a{sign}[2J"], levels={"users": f"x{sign}", "servers": 2}
    )
    changed = msgspec.structs.replace(experiment, points=[point], title=f"t{sign}")
    text = _shown(study(changed, title=f"w{sign}"))
    assert sign not in text
    assert sign.encode("unicode_escape").decode("ascii") in text


def test_the_cost_of_the_launcher_stands_with_measured_times() -> None:
    facts = {"launcher_overhead_s_median": 0.0012, "launcher_overhead_s_max": 0.0021}
    text = _shown(study(msgspec.structs.replace(measured_experiment(), facts=facts)))
    assert "Launcher   adds 1.20 ms (at most 2.10 ms) to each wall time; never subtracted." in text


def test_claims_that_do_not_hold_say_why() -> None:
    text = _printed("everything", width=200)
    assert f"Twice the servers give twice the throughput. {claim_sentence(claims()[1])}" in text
    assert "90 to 110 allowed" not in text


@pytest.mark.parametrize("published", ["", "about 100 users"])
def test_what_was_published_has_a_column_where_something_was(published: str) -> None:
    claim = msgspec.structs.replace(claims()[0], published=published)
    text = _shown(msgspec.structs.replace(study(model_experiment()), claims=[claim]))
    assert ("Published" in text) == bool(published)


def test_a_point_without_figures_is_not_shown_as_one_that_nothing_limits() -> None:
    experiment = model_experiment()
    point = msgspec.structs.replace(
        experiment.points[0],
        estimates={},
        bottleneck=None,
        faults=[Fault(code="reported", message="no steady state within 74 s")],
    )
    changed = msgspec.structs.replace(experiment, points=[point, experiment.points[1]], knees=[])
    text = _shown(study(changed))
    assert "no figures" in text
    assert "Missing    users = 10, servers = 2: no steady state within 74 s" in text
    assert "Failed" not in text


def test_what_may_mislead_is_told_apart_from_what_is_good_to_know() -> None:
    experiment = measured_experiment()
    point = msgspec.structs.replace(
        experiment.points[0], remarks=["it failed"], notes=["it ran (15 times)"]
    )
    changed = msgspec.structs.replace(experiment, points=[point])
    text = _shown(study(changed), point=point.key)
    assert "Caution    It failed." in text
    assert "Remark     It ran." in text


def test_a_part_without_a_known_number_of_servers_has_no_column_of_its_utilization() -> None:
    point = model_experiment().points[0]
    measured = black_box_experiment()
    assert "Utilization" in _shown(study(model_experiment()), point=point.key)
    text = _shown(study(measured), point=measured.points[0].key)
    assert "device (station)" in text
    assert "Utilization" not in text


def test_of_many_points_the_first_the_best_and_the_worst_are_printed() -> None:
    text = _shown(large_study(2_000), width=80)
    for words in ("The first 20 of 2,000 points:", "(best):", "(worst):", "results/results.json"):
        assert words in text
    assert len(text.splitlines()) < 150
    assert "headroom export" in text
