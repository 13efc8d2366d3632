"""What one setting costs or gains against another, at each combination of the other levels.

The ratio of measured runs that were interleaved is that of the comparison of the study, which pairs
them; else it comes from both intervals.

Invariant: an effect is called better or worse only if its whole interval is on one side of one, and
the same only if all of it lies within the zone that the ask names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.answer.asks.cells import Cell, cells_of, held, metric_asked, telling
from headroom.analysis.answer.numbers import Better, ratio_of
from headroom.analysis.answer_evidence import Bounded, Effect, Effects, EffectVerdict, Setting
from headroom.analysis.results import ExperimentResult
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.asks import EffectAsk


def effects_of(experiment: ExperimentResult, ask: EffectAsk) -> tuple[Effects, list[str]] | None:
    """Return the effects with their rows; None if no point has both settings."""
    metric = metric_asked(experiment, ask.metric)
    cells = cells_of(experiment, metric)
    found = _between(experiment, cells, ask) if ask.of else _of_ratios(experiment, cells, ask)
    if not found:
        return None
    statement = Effects(
        metric=metric,
        better=cells[0].better,
        first=ask.of,
        second=ask.to,
        effects=[effect for effect, _ in found],
        missing=_missing(experiment, ask, [effect.where for effect, _ in found]),
        where=held(experiment, ask),
    )
    return statement, [key for _, keys in found for key in keys]


def _missing(
    experiment: ExperimentResult, ask: EffectAsk, told: Sequence[Setting]
) -> list[Setting]:
    """Return where there is no effect, because one of both has no value there."""
    names = _names(experiment, ask)
    places = [
        telling(experiment, {k: v for k, v in point.levels.items() if k not in names})
        for point in experiment.points
        if ask.of.items() <= point.levels.items()
    ]
    return [place for n, place in enumerate(places) if place not in (*told, *places[:n])]


def _names(experiment: ExperimentResult, ask: EffectAsk) -> set[str]:
    """Return the factors between whose levels the effect is, with what moves with them."""
    asked = ask.of.keys() | ask.to.keys()
    return asked.union(*(one.zipped_with for one in experiment.factors if one.name in asked))


def _between(
    experiment: ExperimentResult, cells: list[Cell], ask: EffectAsk
) -> list[tuple[Effect, tuple[str, ...]]]:
    names = _names(experiment, ask)
    others = {_key(cell, names): cell for cell in cells if ask.to.items() <= cell.levels.items()}
    paired = _Paired.of(experiment, ask, cells[0].value.metric if cells else "")
    found = []
    for cell in cells:
        other = others.get(_key(cell, names))
        if other is None or not ask.of.items() <= cell.levels.items():
            continue
        ratio = paired.at(cell) or ratio_of(cell.value, other.value)
        effect = Effect(
            where=telling(experiment, cell.without(*names)),
            ratio=ratio,
            verdict=_verdict(ratio, cell.better, ask.same_within),
            first=cell.value,
            second=other.value,
        )
        found.append((effect, (*cell.keys, *other.keys)))
    return found


def _key(cell: Cell, names: set[str]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(cell.without(*names).items()))


@dataclass(frozen=True, slots=True)
class _Paired:
    """Ratios of paired runs, by the levels of the other factors that tell the rows apart."""

    names: tuple[str, ...]
    ratios: Mapping[tuple[Value | None, ...], Bounded]

    @classmethod
    def of(cls, experiment: ExperimentResult, ask: EffectAsk, metric: str) -> "_Paired":
        """Return those of the comparison of the study, if it is between just these levels."""
        compared = experiment.compared
        if compared is None or ask.to != {compared.factor: compared.base}:
            return cls((), {})
        rows = [
            row
            for row in compared.rows
            if ask.of == {compared.factor: row.level} and row.metric == metric
        ]
        names = tuple(rows[0].where) if rows else ()
        return cls(
            names,
            {
                tuple(row.where.get(name) for name in names): Bounded(
                    value=row.ratio, low=row.low, high=row.high
                )
                for row in rows
                if row.ratio is not None
            },
        )

    def at(self, cell: Cell) -> Bounded | None:
        """Return the ratio where a cell is; None if there is none."""
        return self.ratios.get(tuple(cell.levels.get(name) for name in self.names))


def _of_ratios(
    experiment: ExperimentResult, cells: list[Cell], ask: EffectAsk
) -> list[tuple[Effect, tuple[str, ...]]]:
    """Return the effects of a metric that is a ratio itself."""
    return [
        (
            Effect(
                where=telling(experiment, cell.levels),
                ratio=Bounded(value=cell.value.value, low=cell.value.low, high=cell.value.high),
                verdict=_verdict(cell.value, cell.better, ask.same_within),
            ),
            cell.keys,
        )
        for cell in cells
    ]


def _verdict(ratio: Bounded, better: Better, same_within: float) -> EffectVerdict:
    low, high = ratio.low, ratio.high
    if low is None or high is None:
        return "undecided"
    if low > 1.0 / (1.0 + same_within) and high < 1.0 + same_within:
        return "same"
    if low <= 1.0 <= high:
        return "undecided"
    if better == "none":
        return "larger" if low > 1.0 else "smaller"
    return "better" if (low > 1.0) == (better == "high") else "worse"
