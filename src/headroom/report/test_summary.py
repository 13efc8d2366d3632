"""The summary agrees with the results."""

from collections.abc import Sequence

import msgspec
import pytest

from headroom.analysis.evidence import Fault
from headroom.analysis.results import ExperimentResult, PointResult
from headroom.report.sentences.knee import knees_sentence, no_knee_sentence
from headroom.report.summary import describe_progress, find
from tests.support.example_results import (
    SHAPES,
    categorical_experiment,
    estimate,
    failing_experiment,
    measured_experiment,
    model_experiment,
    model_point,
)


def _texts(experiment_findings: list[object]) -> str:
    return "\n".join(str(finding) for finding in experiment_findings)


def test_the_limit_is_a_range_per_series() -> None:
    text = _texts([*find(model_experiment())])
    assert "from users = 120 with servers = 2 and at users = 300 with servers = 4" in text
    assert "(99.5% busy)" in text


def test_limited_categories_are_named() -> None:
    """A planner asks which purchase, not how many of them."""
    experiment = model_experiment()
    names = ["nothing", "a disk", "a core"]
    points = [
        msgspec.structs.replace(point, levels={"buy": name})
        for name, point in zip(
            names, [model_point(300, 2), model_point(300, 2), model_point(10, 2)], strict=True
        )
    ]
    factor = msgspec.structs.replace(
        experiment.factors[0], name="buy", is_numeric=False, levels=[*names]
    )
    changed = msgspec.structs.replace(experiment, factors=[factor], points=points, knees=[])
    text = _texts([*find(changed)])
    assert 'Station "database" is the bottleneck at buy = "nothing" and "a disk"' in text


def test_a_gap_in_the_limited_levels_is_not_hidden_in_a_range() -> None:
    """Limited at 120 and 200 but not at 160 must not read as 'from 120 up'."""
    experiment = model_experiment()
    free = model_point(10, 2).bottleneck
    points = [
        msgspec.structs.replace(point, bottleneck=free)
        if point.levels == {"users": 160, "servers": 2}
        else point
        for point in experiment.points
    ]
    text = _texts([*find(msgspec.structs.replace(experiment, points=points))])
    assert "users = 120, 200 and 300 with servers = 2" in text


def test_the_knee_carries_its_interval_and_its_series() -> None:
    experiment = model_experiment()
    assert knees_sentence(experiment.knees[:1]) in _texts([*find(experiment)])


def test_knees_of_several_metrics_share_a_sentence_and_leave_stations_out() -> None:
    """Stations only explain what a user sees, so their knees stay in the figures."""
    experiment = model_experiment()
    knee = experiment.knees[0]
    knees = [
        knee,
        msgspec.structs.replace(knee, metric="throughput", level=120.0, level_low=None),
        msgspec.structs.replace(knee, metric="station.database.utilization"),
    ]
    text = _texts([*find(msgspec.structs.replace(experiment, knees=knees))])
    assert knees_sentence(knees[:2]) in text
    assert "utilization levels off" not in text


def test_a_missing_knee_is_said() -> None:
    experiment = failing_experiment()
    knee = experiment.knees[0]
    assert no_knee_sentence([knee.metric], knee) in _texts([*find(experiment)])


def test_the_best_names_how_many_overlap_with_it() -> None:
    text = _texts([*find(measured_experiment())])
    assert "Lowest wall time: codec = zstd, level = 1 with 9.00 ms (8.82 to 9.18)." in text
    assert "the intervals of 1 other point overlap with it" in text


def test_categories_of_a_model_are_compared_too() -> None:
    assert "Lowest mean response time: policy = round robin" in _texts(
        [*find(categorical_experiment())]
    )


@pytest.mark.parametrize(
    "words",
    [
        "1 of 4 points has no figures: failed",
        "1 point lost some replications",
        "1 point with faults in some replications",
    ],
)
def test_what_went_wrong_is_a_caution(words: str) -> None:
    assert words in _texts([*find(failing_experiment())])


def _unsteady_point() -> PointResult:
    point = model_point(300, 2, is_steady=False)
    return msgspec.structs.replace(
        point, estimates={}, bottleneck=None, faults=[Fault(code="warm_up")]
    )


def test_points_without_figures_come_first_and_are_not_called_free_of_limits() -> None:
    free = [msgspec.structs.replace(model_point(users, 4)) for users in (10, 20)]
    experiment = msgspec.structs.replace(
        model_experiment(), points=[*free, _unsteady_point()], knees=[]
    )
    first, second, *rest = find(experiment)
    assert first.text == ("1 of 3 points has no figures: no steady state; see the messages below.")
    assert second.text == (
        "No station is saturated at any of the 2 points with results; busiest: "
        '"database" (9.1% at users = 20, servers = 4).'
    )
    assert [finding.topic for finding in rest].count("Caution") == 0


def test_nothing_but_points_without_figures_says_nothing_else() -> None:
    experiment = msgspec.structs.replace(
        model_experiment(), points=[_unsteady_point()], knees=[], replications=None
    )
    assert [finding.text for finding in find(experiment)] == [
        "The only point has no figures: no steady state; see the messages below."
    ]


def test_a_simulation_that_is_still_to_run_is_not_called_unmeasured() -> None:
    waiting = PointResult(key="k", levels={"users": 1}, done=0, failed=0)
    experiment = msgspec.structs.replace(model_experiment(), points=[waiting], knees=[])
    assert "1 point not simulated yet." in _texts([*find(experiment)])


def test_many_knees_are_counted_instead_of_listed() -> None:
    experiment = model_experiment()
    knees = [
        msgspec.structs.replace(experiment.knees[0], where={"servers": n}) for n in range(1, 31)
    ]
    found = find(msgspec.structs.replace(experiment, knees=knees))
    texts = [finding.text for finding in found if finding.topic == "Knee"]
    assert len(texts) == 5
    assert texts[-1] == "26 other curves with a knee: see the figures."


def test_a_best_without_an_interval_says_so() -> None:
    experiment = measured_experiment()
    points = [
        msgspec.structs.replace(
            point, estimates={"wall_s": estimate("wall_s", "s", value, relative=None)}
        )
        for point, value in zip(experiment.points[:2], (1.0, 2.0), strict=True)
    ]
    text = _texts([*find(msgspec.structs.replace(experiment, points=points))])
    assert "with 1.00 s; without an interval." in text


def test_an_incomplete_study_says_so() -> None:
    assert describe_progress(SHAPES["failed points"]).endswith("the study is not complete")
    assert describe_progress(SHAPES["measured"]) == "All 135 replications done"


def _sureness(**metrics: tuple[str, float, float]) -> str:
    """Return the sentence for one point whose metrics have this unit, value and half-width."""
    estimates = {
        name.replace("__", "."): msgspec.structs.replace(
            estimate(name.replace("__", "."), unit, value), low=value - half, high=value + half
        )
        for name, (unit, value, half) in metrics.items()
    }
    experiment = model_experiment()
    point = msgspec.structs.replace(experiment.points[0], estimates=estimates)
    changed = msgspec.structs.replace(experiment, points=[point], responses=list(estimates))
    return next(found.text for found in find(changed) if found.topic == "How sure")


def test_a_queue_of_almost_nobody_is_not_called_unsure() -> None:
    """0.001 +/- 0.00165 jobs is 165% of nothing, and 0.17% of one job."""
    text = _sureness(
        throughput=("1/s", 200.0, 2.0), pool__connections__queue_len_mean=("1", 0.001, 0.00165)
    )
    assert "at worst ±1% (throughput" in text


def test_a_long_queue_and_a_vague_rate_are_still_called_unsure() -> None:
    assert "at worst ±30% (cpu mean queue length" in _sureness(
        station__cpu__queue_len_mean=("1", 40.0, 12.0)
    )
    assert "at worst ±165% (throughput" in _sureness(throughput=("1/s", 0.001, 0.00165))


def test_a_wait_is_judged_against_the_response_that_it_is_a_part_of() -> None:
    text = _sureness(response_s_mean=("s", 0.1, 0.001), station__cpu__wait_s_mean=("s", 1e-5, 2e-5))
    assert "at worst ±1% (mean response time" in text


def _measured(*values: float, relative: float = 0.02) -> ExperimentResult:
    """Return the first points of a measurement with these wall times."""
    experiment = measured_experiment()
    points = [
        msgspec.structs.replace(
            point, estimates={"wall_s": estimate("wall_s", "s", value, relative=relative)}
        )
        for point, value in zip(experiment.points, values, strict=False)
    ]
    return msgspec.structs.replace(experiment, points=points, responses=["wall_s"])


def _topics(experiment: ExperimentResult) -> list[str]:
    return [finding.topic for finding in find(experiment)]


def test_the_best_of_equals_is_not_named() -> None:
    """Cause: "Lowest late count: load_share = 0.5 with 0 (all equal)" said nothing."""
    assert "Best" in _topics(_measured(1.0, 2.0, 2.01))
    assert "Best" not in _topics(_measured(0.0, 0.0, 0.0, relative=0.0))
    assert "Best" not in _topics(_measured(1.0, 1.001, 1.002))


def _said(
    notes: Sequence[Sequence[str]], remarks: Sequence[Sequence[str]]
) -> list[tuple[str, str]]:
    """Return notes and cautions of an experiment whose points say this."""
    points = [
        msgspec.structs.replace(point, notes=list(note), remarks=list(remark))
        for point, note, remark in zip(_measured(1.0, 2.0).points, notes, remarks, strict=True)
    ]
    experiment = msgspec.structs.replace(_measured(1.0, 2.0), points=points)
    found = [one for one in find(experiment) if one.topic in {"Note", "Caution"}]
    return [(one.topic, one.text) for one in found]


def test_facts_are_notes_and_only_what_may_mislead_is_a_caution() -> None:
    """Cause: that a file in memory is answered by threads stood under Caution."""
    every = "threads (15 times)"
    found = _said([[every], [every]], [["the tool is measured (15 times)"], []])
    assert found == [("Note", "Threads."), ("Caution", "1 point: the tool is measured.")]
    assert _said([[every], []], [[], []]) == [("Note", "1 point: threads.")]


def test_what_some_runs_say_is_not_said_of_all() -> None:
    """Cause: that the load limits and that the target does stood together as facts."""
    few = "threads (3 times)"
    assert _said([[few], [few]], [[], []]) == [("Note", "In some runs: threads.")]
    assert _said([["threads"], []], [[], []]) == [("Note", "1 point, in some runs: threads.")]


def test_a_lopsided_interval_is_told_by_its_ends() -> None:
    """Cause: 1 s (0.9 to 3) was ±105%, which would reach below zero."""
    lopsided = msgspec.structs.replace(estimate("wall_s", "s", 1.0), low=0.9, high=3.0)
    experiment = _measured(1.0, 2.0)
    point = msgspec.structs.replace(experiment.points[0], estimates={"wall_s": lopsided})
    changed = msgspec.structs.replace(experiment, points=[point, experiment.points[1]])
    text = next(found.text for found in find(changed) if found.topic == "How sure")
    assert "at worst \N{MINUS SIGN}10% to +200% (wall time at" in text


def test_an_interval_beyond_all_proportion_is_printed_itself() -> None:
    """Cause: "at worst +1,322%" left a reader without the value, and without a way to judge it."""
    wide = msgspec.structs.replace(estimate("wall_s", "s", 1.0), low=0.9, high=14.22)
    experiment = _measured(1.0, 2.0)
    point = msgspec.structs.replace(experiment.points[0], estimates={"wall_s": wide})
    changed = msgspec.structs.replace(experiment, points=[point, experiment.points[1]])
    text = next(found.text for found in find(changed) if found.topic == "How sure")
    assert "1 of 2 values is hardly known: wall time at" in text
    assert ", 1.0 s (0.90 to 14)" in text
    assert "1,322%" not in text


def test_a_missed_precision_says_how_far_off_it_is_and_what_helps() -> None:
    """Cause: "5 points missed the precision" said neither which, nor how far, nor what to do."""
    widths = {10: 0.01, 400: 0.041, 300: 0.03}
    points = [
        msgspec.structs.replace(
            model_point(users, 4),
            estimates={"throughput": estimate("throughput", "1/s", 10.0, relative=width)},
            precision_reached=width <= 0.02,
        )
        for users, width in widths.items()
    ]
    experiment = msgspec.structs.replace(
        model_experiment(), points=points, precision_metric="throughput", precision=0.02
    )
    (caution,) = [one.text for one in find(experiment) if "did not reach" in one.text]
    assert caution == (
        "2 points did not reach \u00b12.0% in throughput (worst: \u00b14.1% at users = 400, "
        "servers = 4); raise `replications.maximum` or run longer."
    )
