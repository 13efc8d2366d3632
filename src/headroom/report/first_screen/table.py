"""The decisive figure of an answer as a table with bars.

Invariant: shows estimates of the result alone; a row for each point of the figure.
"""

import dataclasses
from collections.abc import Sequence

from msgspec.structs import replace

from headroom.analysis.answer.asks.cells import shown_part
from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer_evidence import (
    FigureChoice,
    Level,
    Mark,
    Saturated,
    Setting,
    Target,
    TradeOff,
)
from headroom.analysis.results import (
    ClaimResult,
    Estimate,
    ExperimentResult,
    PointResult,
    StudyResult,
)
from headroom.quantities import (
    Scale,
    brief_levels,
    format_given,
    format_level,
    format_quantity,
    format_scaled,
    half_width_of,
)
from headroom.report.first_screen.evidence import claim_groups, claim_of
from headroom.report.first_screen.grid import Grid, GridColumn
from headroom.report.first_screen.scales import is_at
from headroom.report.first_screen.sentences.names import (
    head_words,
    level_number,
    level_words,
    setting_words,
)
from headroom.report.first_screen.sentences.sentence import NO_BREAK, Sentence
from headroom.report.first_screen.sentences.targets import break_words
from headroom.report.numbers import format_estimate
from headroom.report.tables.tables import column_scale
from headroom.report.words import label_metric

_COLUMNS = 4
"""Responses in columns, the one with bars not counted."""
_MAX_SQUARES = 40
_MIN_LINES = 6
_MIN_LINES_OF_CLAIMS = 9
_MAX_TITLE = 44
_MAX_MIXED = 12
"""Points of several curves that one table shows."""
_SIGNS = {"holds": "■", "differs": "✗", "undecided": "?", "left out": "."}
_ORDER = ("holds", "differs", "undecided", "left out")


@dataclasses.dataclass(frozen=True, slots=True)
class Decisive:
    """A table, and the rows that must stay if not all fit."""

    grid: Grid
    important: Sequence[int]

    @property
    def least_lines(self) -> int:
        """Lines below which other parts of the screen give way."""
        wanted = _MIN_LINES if self.grid.bars else _MIN_LINES_OF_CLAIMS
        return min(wanted, self.grid.count + self.grid.has_heads + len(self.grid.rules))


def decisive_table(result: StudyResult, *, is_unicode: bool) -> Decisive | None:
    """Return the table of the decisive figure, or of the only point; None without results."""
    answer = result.answer
    figure = answer.figure if answer else None
    if figure is None:
        own = result.experiment_named(answer.experiment) if answer else None
        return _point(own, is_unicode=is_unicode) if own else None
    if figure.kind == "claims":
        return _claims(result, is_unicode=is_unicode)
    if figure.kind == "errors":
        return _errors(claim_of(figure, result), is_unicode=is_unicode)
    experiment = result.experiment_named(figure.experiment)
    if experiment is None:
        return None
    draw = _curve if figure.factor else _settings
    shown = shown_part(experiment, figure.part, next(iter(figure.metrics), ""))
    return draw(shown, figure, is_unicode=is_unicode)


def _point(experiment: ExperimentResult, *, is_unicode: bool) -> Decisive | None:
    """Return the responses of the only point with results, with their intervals."""
    points = [point for point in experiment.points if point.estimates]
    if len(points) != 1:
        return None
    found = points[0].estimates
    known = [found[name] for name in experiment.responses if name in found]
    if not known:
        return None
    labels = [label_metric(estimate.metric) for estimate in known]
    values = [format_estimate(estimate) for estimate in known]
    columns = [GridColumn("", labels), GridColumn("95% interval", values, is_kept=True)]
    return Decisive(Grid(columns=columns, is_unicode=is_unicode), [0])


def _curve(experiment: ExperimentResult, figure: FigureChoice, *, is_unicode: bool) -> Decisive:
    where = getattr(figure.finding, "where", {})
    held_everywhere = {name: level for name, level in where.items() if name != figure.series}
    points = [point for point in experiment.points if is_at(point, held_everywhere)]
    if len(points) > _MAX_MIXED:  # Several curves would hide each other.
        last = where or setting_of(experiment, points[-1], but=figure.factor)
        points = [one for one in points if is_at(one, last)]
    elif where != held_everywhere:
        where, figure = held_everywhere, replace(figure, marks=[])  # Of one of the curves.
    points.sort(key=lambda point: float(point.levels[figure.factor]))
    held = {name for name in setting_of(experiment, points[0]) if name not in where}
    held -= {figure.factor}
    head = _head(experiment, figure.factor)
    labels = [GridColumn(head, _levels(points, figure.factor), is_number=True)]
    labels += [
        GridColumn(name.replace("_", " "), [format_level(p.levels[name]) for p in points])
        for name in setting_of(experiment, points[0])
        if name in held
    ]
    rules, important = _rules(figure, points)
    return Decisive(
        _grid(experiment, points, figure.metrics[0], labels, rules, is_unicode=is_unicode),
        important,
    )


def _head(experiment: ExperimentResult, factor: str) -> str:
    unit = next((one.unit for one in experiment.factors if one.name == factor), "1")
    return head_words(factor, unit)


def _levels(points: Sequence[PointResult], factor: str) -> list[str]:
    return brief_levels([point.levels[factor] for point in points])


def _rules(
    figure: FigureChoice, points: Sequence[PointResult]
) -> tuple[list[tuple[int, str]], list[int]]:
    """Return the knee, limit or saturation as a rule before a row, and the rows around it."""
    rules = []
    for mark in figure.marks:
        if mark.kind not in {"knee", "limit", "target", "saturated"} or mark.level is None:
            continue
        if isinstance(mark.level.value, str) or (mark.kind == "target" and mark.setting):
            continue
        levels = [float(point.levels[figure.factor]) for point in points]
        row = _row_of(figure.finding, float(mark.level.value), levels)
        if row is None or (row == 0 and mark.kind != "saturated"):
            continue
        where = _place_of(figure.finding, mark.level)
        word = {
            "knee": "knee at",
            "limit": f"{mark.name} limits from",
            "saturated": "saturated from",
        }
        head = word.get(mark.kind) or _target_head(figure.finding, mark)
        if isinstance(figure.finding, Saturated) and figure.finding.is_up_to:
            row, head = row + 1, "saturated up to"
        rules.append((row, f"{head} {where}"))
    return rules, [row for row, _ in rules]


def _place_of(finding: object, level: Level) -> str:
    """Return the level of a rule as text."""
    if isinstance(finding, Target) and finding.is_between:
        return f"{level_number(level.low or 0.0)} to {level_number(level.high or 0.0)}"
    if isinstance(finding, Target) and finding.is_open:
        return break_words(finding).replace(NO_BREAK, " ")
    named = finding.level if isinstance(finding, Target) and finding.kept == "above" else level
    return Sentence.of(level_words(named)).text.replace(NO_BREAK, " ")


def _row_of(finding: object, at: float, levels: Sequence[float]) -> int | None:
    """Return the row under a rule: rows that keep a limit are above its break."""
    kept = finding.kept_at if isinstance(finding, Target) and finding.kept == "below" else []
    for row, level in enumerate(levels):
        if level > at or (level == at and level not in kept):
            return row
    return None


def _target_head(finding: object, mark: Mark) -> str:
    bound = _bound(mark.value)
    is_below = not isinstance(finding, Target) or finding.kept == "below"
    if isinstance(finding, Target) and finding.is_between:
        return f"{bound} at {finding.level.factor}"
    return f"{bound} at" if is_below else f"{bound} kept from"


def _bound(value: object) -> str:
    number, unit, metric = (getattr(value, name) for name in ("value", "unit", "metric"))
    return format_given(number, unit, metric=metric)


def _settings(experiment: ExperimentResult, figure: FigureChoice, *, is_unicode: bool) -> Decisive:
    metric = figure.metrics[0]
    known = [point for point in experiment.points if metric in point.estimates]
    better = known[0].estimates[metric].better if known else "none"
    sign = -1.0 if better == "high" else 1.0
    points = sorted(known, key=lambda point: sign * point.estimates[metric].value)
    settings = [setting_of(experiment, point) for point in points]
    labels = [GridColumn("", [_text(setting) for setting in settings])]
    notes, important = _notes(figure, settings, best="◀" if is_unicode else "<")
    grid = _grid(
        experiment, points, metric, labels, [], is_unicode=is_unicode, first=figure.metrics
    )
    return Decisive(dataclasses.replace(grid, notes=notes), important)


def _text(setting: Setting) -> str:
    return setting_words(setting).replace(NO_BREAK, " ")


def _notes(
    figure: FigureChoice, settings: Sequence[Setting], *, best: str
) -> tuple[list[tuple[str, str]], list[int]]:
    """Return which setting is best for what, and which is beaten by which."""
    finding = figure.finding
    notes = [("", "")] * len(settings)
    if isinstance(finding, TradeOff):
        for beaten in finding.beaten:
            notes[settings.index(beaten.setting)] = (f"beaten by {_text(beaten.by)}", "dim")
        for goal in finding.goals:
            for setting in goal.settings:
                note = f"{best} best {label_metric(goal.metric)}"
                notes[settings.index(setting)] = (note, "green")
    important = [place for place, (text, _) in enumerate(notes) if text.startswith(best)]
    return notes, important


def _grid(
    experiment: ExperimentResult,
    points: Sequence[PointResult],
    metric: str,
    labels: Sequence[GridColumn],
    rules: Sequence[tuple[int, str]],
    *,
    is_unicode: bool,
    first: Sequence[str] = (),
) -> Grid:
    known = {metric, *(factor.name for factor in experiment.factors)}
    ranked = dict.fromkeys([*first, *experiment.responses])
    others = [name for name in ranked if name not in known][:_COLUMNS]
    behind = [_response(points, name) for name in others]
    limits = [_limit(point) for point in points]
    if any(limit != "-" for limit in limits):
        behind.append(GridColumn("limits", limits, style="orange3", is_kept=True))
    return Grid(
        columns=[*labels, _response(points, metric, is_kept=True)],
        bars=_bars(points, metric),
        behind=behind,
        rules=rules,
        is_unicode=is_unicode,
    )


def _limit(point: PointResult) -> str:
    if point.saturation is not None:
        return f"{point.saturation.name} saturated".strip()
    return point.limiter or "-"


def _bars(points: Sequence[PointResult], metric: str) -> list[float | None]:
    values = [point.estimates[metric].value for point in points if metric in point.estimates]
    largest = max(values, default=0.0)
    if largest <= 0.0 or min(values) < 0.0:
        return []
    return [
        point.estimates[metric].value / largest if metric in point.estimates else None
        for point in points
    ]


def _response(points: Sequence[PointResult], metric: str, *, is_kept: bool = False) -> GridColumn:
    """Return a response in one unit if its values allow that, and that unit in the head."""
    found = [point.estimates.get(metric) for point in points]
    scale = column_scale(estimate for estimate in found if estimate)
    cells = ["-" if estimate is None else _cell(estimate, scale) for estimate in found]
    if not is_kept and scale is not None:
        cells = [cell if cell == "-" else f"{cell}{scale.suffix}" for cell in cells]
        cells = [cell.replace("100.0%", "100%") for cell in cells]
        return GridColumn(short_head(metric), cells, is_number=True)
    unit = f" ({scale.label})" if scale is not None and scale.label else ""
    return GridColumn(f"{label_metric(metric)}{unit}", cells, is_number=True, is_kept=is_kept)


def short_head(metric: str) -> str:
    """Return the head of a column whose cells have their unit.

    Examples
    --------
    >>> short_head("response_s_p95"), short_head("station.cpu.utilization"), short_head("wall_s")
    ('p95', 'cpu', 'wall time')
    """
    if metric.startswith("response_s_"):
        return metric.removeprefix("response_s_").replace("_", ".")
    kind, _, rest = metric.partition(".")
    if kind in {"station", "pool"} and rest.endswith(".utilization"):
        return rest.removesuffix(".utilization")
    return label_metric(metric)


def _cell(estimate: Estimate, scale: Scale | None) -> str:
    """Return a value in the digits that its interval supports; with its unit if no head has it."""
    half = half_width_of(estimate.low, estimate.high)
    if scale is None:
        return format_quantity(
            estimate.value, estimate.unit, half_width=half, metric=estimate.metric
        )
    return format_scaled(estimate.value, scale, half_width=half)


def _claims(result: StudyResult, *, is_unicode: bool) -> Decisive:
    """Return a sign for each claim, a row for each experiment."""
    titles, rows = zip(*claim_groups(result), strict=True)
    grid = Grid(
        columns=[
            GridColumn("", titles),
            GridColumn("", [_signs(row, is_unicode=is_unicode) for row in rows], is_kept=True),
        ],
        notes=[(_exception(row), "") for row in rows],
        is_unicode=is_unicode,
        max_label=_MAX_TITLE,
    )
    important = [
        place for place, row in enumerate(rows) if any(one.verdict != "holds" for one in row)
    ]
    return Decisive(grid, important)


def _signs(claims: Sequence[ClaimResult], *, is_unicode: bool) -> str:
    verdicts = sorted(map(_verdict, claims), key=_ORDER.index)
    signs = "".join(_SIGNS[verdict] for verdict in verdicts[:_MAX_SQUARES])
    return signs if is_unicode else signs.replace("■", "#").replace("✗", "x")


def _verdict(claim: ClaimResult) -> str:
    """Return the verdict of a claim, or that the quick variant leaves it out."""
    is_left_out = getattr(claim.evidence, "is_quick", False)
    return "left out" if is_left_out else claim.verdict


def _exception(claims: Sequence[ClaimResult]) -> str:
    differs = sum(claim.verdict == "differs" for claim in claims)
    return f"{differs} {'differs' if differs == 1 else 'differ'}" if differs else ""


def _errors(claim: ClaimResult | None, *, is_unicode: bool) -> Decisive | None:
    """Return predicted and measured values, with the error as a bar."""
    if claim is None:
        return None
    errors = [None if pair.ratio is None else pair.ratio - 1.0 for pair in claim.pairs]
    sizes = [abs(error) for error in errors if error is not None]
    largest = max(sizes, default=0.0)
    unit, metric = claim.pair_unit, claim.metric
    grid = Grid(
        columns=[
            GridColumn("", [_text(pair.levels) for pair in claim.pairs]),
            GridColumn(
                "measured",
                [format_quantity(pair.measured, unit, metric=metric) for pair in claim.pairs],
                is_number=True,
            ),
            GridColumn(
                "predicted",
                [format_quantity(pair.predicted, unit, metric=metric) for pair in claim.pairs],
                is_number=True,
            ),
            GridColumn(
                "error",
                ["-" if one is None else f"{one:+.0%}" for one in errors],
                is_number=True,
                is_kept=True,
            ),
        ],
        bars=[None if one is None else abs(one) / largest for one in errors] if largest else [],
        is_unicode=is_unicode,
    )
    worst = errors.index(max(errors, key=lambda one: abs(one or 0.0)))
    return Decisive(grid, [worst])
