"""The essential results of a study in the terminal.

The output works at 80 columns, without colours and without Unicode: characters that the console
cannot show are spelled out. Texts of the study are never read as markup.

Invariant: prints what `StudyResult` holds; the page holds more, never something else.
"""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import msgspec
from rich.console import Console

from headroom.analysis.answer.design import telling_factors
from headroom.analysis.results import ExperimentResult, PointResult, StudyResult
from headroom.errors import StudyError
from headroom.experiment.study.paths import PAGE_NAME, RESULTS_NAME, results_folder
from headroom.quantities import format_level, format_quantity
from headroom.report.findings.beside import pairs_of
from headroom.report.findings.comparisons import render_comparisons
from headroom.report.findings.derived import render_derived
from headroom.report.findings.laws import basis_sentences
from headroom.report.findings.predictions import render_predictions
from headroom.report.findings.profiles import render_profiles
from headroom.report.findings.what_if import render_what_if_table
from headroom.report.first_screen.sentences.answer import asked_words
from headroom.report.first_screen.sentences.sentence import NO_BREAK
from headroom.report.fold.chosen_points import (
    MESSAGES_AT_MOST,
    ROWS_AT_MOST,
    point_groups,
    rest_words,
)
from headroom.report.notes.remarks import cautions_of, remarks_of
from headroom.report.notes.saturation import SATURATED, is_unbounded
from headroom.report.numbers import format_estimate, format_short
from headroom.report.sentences.claims import claim_figure, claim_sentence
from headroom.report.sentences.intervals import absent_words
from headroom.report.sentences.runs import messages_of
from headroom.report.summary import count_verdicts, describe_progress, find
from headroom.report.tables.replication_table import render_replications
from headroom.report.tables.tables import column_scale
from headroom.report.terminal.columns import Column, narrow_width_of, width_of
from headroom.report.terminal.screen import Screen
from headroom.report.titles import in_words_of_study
from headroom.report.words import (
    COLUMN_WORDS,
    count_noun,
    label_factor,
    label_point,
    title_metric,
    why_no_figures,
)

_GAP = 3
_ADDED = "+"
"""Mark before the replications of a point that a limit added."""


@in_words_of_study
def render_study(
    result: StudyResult, console: Console, *, point: str | None = None, reused: int = 0
) -> None:
    """Print the essentials of `result`, or everything about one point.

    Parameters
    ----------
    result
        Results of a study.
    console
        Where to print; its width, colours and encoding are respected.
    point
        Key of a point, None for the whole study.
    reused
        Measurements that a run which has just ended did not have to take.

    Raises
    ------
    StudyError
        Where no point has that key.

    Examples
    --------
    >>> result = StudyResult(format=1, name="empty", title="An empty study", question="",
    ...     folder="studies/empty", seed=1, is_quick=False, is_complete=False, done=0, failed=0,
    ...     planned=4, experiments=[], claims=[], environments=[], command="headroom run .",
    ...     generated="2026-01-01T00:00:00Z", headroom_version="0.1.0")
    >>> render_study(result, Console(width=60, no_color=True))
    An empty study
    0 of 4 replications done; the study is not complete
    <BLANKLINE>
    Report: studies/empty/results/report.html
    """
    screen = Screen(console)
    if point is None:
        _render_whole(result, screen, reused)
    else:
        _render_point(*_find_point(result, point), screen)


def _render_whole(result: StudyResult, screen: Screen, reused: int) -> None:
    screen.line(result.title, "bold")
    if result.question:
        screen.line(result.question, "italic")
    quick = " (quick variant)" if result.is_quick else ""
    of_before = f", {count_noun(reused, 'measurement')} reused" if reused else ""
    screen.line(describe_progress(result) + of_before + quick, "dim")
    for question, kind, answer in asked_words(result):
        told = " ".join(filter(None, [f"Asked {kind}:", question, answer]))
        screen.line(told.replace(NO_BREAK, " "))
    results = results_folder(Path(result.folder), result.is_quick)
    for experiment in result.experiments:
        screen.line()
        _render_experiment(experiment, screen, results)
    if result.claims:
        screen.line()
        _render_claims(result, screen)
        render_predictions(result.claims, screen)
    screen.line()
    screen.line(f"Report: {(results / PAGE_NAME).as_posix()}")


def _render_experiment(experiment: ExperimentResult, screen: Screen, folder: Path) -> None:
    column = COLUMN_WORDS[experiment.column]
    screen.line(f"{experiment.title or experiment.name} ({column})", "bold")
    topic = ""
    for finding in find(experiment):
        head = "" if finding.topic == topic else finding.topic
        screen.item(head, finding.text, "yellow" if finding.topic == "Caution" else "")
        topic = finding.topic
    render_profiles(experiment, screen)
    _render_groups(experiment, screen, folder)
    for text in _absent_words(experiment):
        screen.item("Blank", text)
    render_comparisons(experiment, screen)
    render_derived(experiment, screen)
    _render_messages(experiment, screen)
    _render_launcher(experiment, screen)


def _render_messages(experiment: ExperimentResult, screen: Screen) -> None:
    spoken = [point for point in experiment.points if messages_of(point)]
    is_short = len(experiment.points) > ROWS_AT_MOST and len(spoken) > MESSAGES_AT_MOST
    shown = spoken[:MESSAGES_AT_MOST] if is_short else spoken
    for point in shown:
        label = label_point(point, experiment.factors)
        for kind, message in messages_of(point):
            screen.item(kind, f"{label}: {message}", "red")
    if is_short:
        more = count_noun(len(spoken) - len(shown), "more point")
        screen.item("", f"... and {more} with messages: see results.json", "red")


def _absent_words(experiment: ExperimentResult) -> list[str]:
    """Return for each response that points with figures lack at how many, and one reason."""
    said = []
    for metric in experiment.responses:
        reasons = [
            p.absent[metric] for p in experiment.points if p.estimates and metric in p.absent
        ]
        if reasons:
            points = count_noun(len(reasons), "point")
            said.append(f"{title_metric(metric)} at {points}: {absent_words(reasons[0])}")
    return said


def _render_launcher(experiment: ExperimentResult, screen: Screen) -> None:
    median = experiment.facts.get("launcher_overhead_s_median")
    largest = experiment.facts.get("launcher_overhead_s_max")
    if isinstance(median, float) and isinstance(largest, float):
        screen.item(
            "Launcher",
            f"adds {format_quantity(median, 's')} (at most {format_quantity(largest, 's')}) to "
            "each wall time; never subtracted.",
        )


def _render_groups(experiment: ExperimentResult, screen: Screen, folder: Path) -> None:
    """Print the points, or a choice of them with what is left out."""
    for group in point_groups(experiment):
        if group.heading:
            screen.line(f"{group.heading}:", "bold")
        _render_points(msgspec.structs.replace(experiment, points=list(group.points)), screen)
    study = folder.parent if folder.name == "results" else folder.parent.parent
    results = (folder / RESULTS_NAME).as_posix()
    if rest := rest_words(experiment, study.as_posix(), results):
        screen.line(rest, "dim")


def _render_points(experiment: ExperimentResult, screen: Screen) -> None:
    levels, states = _level_columns(experiment), _state_columns(experiment)
    found = [_response_column(experiment, metric) for metric in experiment.responses]
    room = screen.console.width - sum(width_of(column) + _GAP for column in (*levels, *states))
    fitting = max(1, _count_fitting([width_of(column) + _GAP for column in found], room))
    if fitting < len(found):
        # Rather two lines for a number and its interval than a response less.
        narrow = [narrow_width_of(one, width_of(one), breaks_numbers=False) for one in found]
        fitting = max(fitting, _count_fitting([width + _GAP for width in narrow], room))
    if experiment.points:
        screen.table([*levels, *found[:fitting], *states])
    if any(point.is_added for point in experiment.points):
        screen.line(f"{_ADDED} Added where a limit breaks.", "dim")
    if found[fitting:]:
        heads = ", ".join(column.head for column in found[fitting:])
        screen.line(f"Also in the report: {heads}.", "dim")


def _count_fitting(widths: Sequence[int], room: int) -> int:
    """Return how many of the first `widths` fit into `room`."""
    return sum(total <= room for total in accumulate(widths))


def _level_columns(experiment: ExperimentResult) -> list[Column]:
    points = experiment.points
    return [
        Column(
            label_factor(factor),
            [format_level(point.levels.get(factor.name)) for point in points],
            is_number=factor.is_numeric,
        )
        for factor in telling_factors(experiment.factors)
    ]


def _response_column(experiment: ExperimentResult, metric: str) -> Column:
    found = [point.estimates.get(metric) for point in experiment.points]
    scale = column_scale(estimate for estimate in found if estimate)
    unit = f" ({scale.label})" if scale and scale.label else ""
    cells = [
        format_short(estimate, scale=scale)
        if estimate
        else (SATURATED if is_unbounded(point, metric) else "")
        for point, estimate in zip(experiment.points, found, strict=False)
    ]
    return Column(f"{title_metric(metric)}{unit}", cells, is_number=True)


def _state_columns(experiment: ExperimentResult) -> list[Column]:
    points = experiment.points
    columns = [Column("n", [_done(point) for point in points], is_number=True)]
    if any(point.bottleneck or not point.estimates for point in points):
        head = "Limit" if any(point.bottleneck for point in points) else "State"
        columns.append(Column(head, [_limit(point) for point in points]))
    return columns


def _done(point: PointResult) -> str:
    return f"{_ADDED} {point.done}" if point.is_added else str(point.done)


def _limit(point: PointResult) -> str:
    if why := why_no_figures(point):
        return "failed" if why == "failed" else "no figures"
    if not point.done:
        return "not run"
    return point.limiter or "-"


def _render_claims(result: StudyResult, screen: Screen) -> None:
    claims = result.claims
    screen.line(count_verdicts(claims), "bold")
    for sentence in basis_sentences(claims):
        screen.line(sentence)
    columns = [
        Column("Verdict", [claim.verdict for claim in claims]),
        Column("Claim", [claim.text for claim in claims]),
    ]
    published = [claim.published for claim in claims]
    if any(published):
        columns.append(Column("Published", published))
    if any(claim.basis for claim in claims):
        columns.append(Column("Rests on", [claim.basis for claim in claims]))
    figures = [claim_figure(claim) for claim in claims]
    screen.table([*columns, Column("Ours (95% interval)", figures)])
    for claim in claims:
        if claim.verdict != "holds":
            screen.item("Why", f"{claim.text.rstrip('.')}. {claim_sentence(claim)}")


def _find_point(result: StudyResult, key: str) -> tuple[ExperimentResult, PointResult]:
    for experiment in result.experiments:
        for point in experiment.points:
            if point.key == key:
                return experiment, point
    known = ", ".join(p.key for e in result.experiments[:1] for p in e.points[:3])
    raise StudyError(
        f"study {result.name!r} has no point {key!r}",
        cure=f"take a key of the plan, such as {known}" if known else "run the study first",
    )


def _render_point(experiment: ExperimentResult, point: PointResult, screen: Screen) -> None:
    screen.line(experiment.title or experiment.name, "bold")
    screen.line(label_point(point, experiment.factors), "bold")
    screen.line(f"{point.done} done, {point.failed} failed; key {point.key}", "dim")
    for head, message in messages_of(point):
        screen.item(head, message, "red")
    for caution in cautions_of(point):
        screen.item("Caution", caution, "yellow")
    for remark in remarks_of(point):
        screen.item("Remark", remark)
    _render_estimates(point, screen)
    for metric, why in point.absent.items():
        screen.item("Absent", f"{metric}: {absent_words(why)}.")
    render_replications([e for e in point.estimates.values() if e.metric in experiment.responses],
                        screen)  # fmt: skip
    _render_theory(point, screen)
    _render_resources(point, screen)
    render_what_if_table(point, screen)
    if point.seeds:
        screen.item("Seeds", ", ".join(str(seed) for seed in point.seeds))


def _render_estimates(point: PointResult, screen: Screen) -> None:
    estimates = list(point.estimates.values())
    if estimates:
        screen.table(
            [
                Column("Metric", [estimate.metric for estimate in estimates]),
                Column("Value (95% interval)", [format_estimate(e) for e in estimates]),
                Column("Centre", [estimate.centre for estimate in estimates]),
                Column("n", [str(estimate.count) for estimate in estimates], is_number=True),
            ]
        )


def _render_theory(point: PointResult, screen: Screen) -> None:
    """Print the results of formulas next to simulated results."""
    if point.solver is None:
        return
    screen.item("Theory", point.solver.method or "no formula applies")
    for number, reason in enumerate(point.solver.reasons):
        screen.item("" if number else "Because", reason)
    pairs = [pair for pair in pairs_of(point) if not _is_repeated(pair.estimate.metric, point)]
    if pairs:
        screen.table(
            [
                Column("Metric", [pair.estimate.metric for pair in pairs]),
                Column("Theory", [pair.theory_text for pair in pairs]),
                Column("Simulated", [pair.difference_text for pair in pairs], is_number=True),
                Column("Interval", [pair.words for pair in pairs]),
            ]
        )


def _is_repeated(metric: str, point: PointResult) -> bool:
    """Return whether a metric is that of the only class, which the point's own one repeats."""
    kind, _, rest = metric.partition(".")
    return kind == "class" and rest.rpartition(".")[2] in point.estimates


def _render_resources(point: PointResult, screen: Screen) -> None:
    if point.resources:
        names = [f"{resource.name} ({resource.kind})" for resource in point.resources]
        metrics = ("utilization", "queue_len_mean", "wait_s_mean")
        columns = [_resource_column(point, metric) for metric in metrics]
        screen.table([Column("Part", names), *(column for column in columns if any(column.cells))])


def _resource_column(point: PointResult, metric: str) -> Column:
    found = [resource.estimates_among(point.estimates).get(metric) for resource in point.resources]
    cells = [format_short(estimate) if estimate else "" for estimate in found]
    return Column(title_metric(metric), cells, is_number=True)
