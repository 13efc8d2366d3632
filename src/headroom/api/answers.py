"""Answers of theory, what-ifs, sizes and fits as Python values, which show their sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headroom.analysis.results import Effect, ExperimentResult, FitResult, StudyResult
from headroom.api.results import View
from headroom.api.tables import Tabular
from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.forecasts import Forecast
from headroom.report.cards import text_card
from headroom.report.findings.fits import fit_sentences
from headroom.report.findings.what_if import render_what_ifs, what_if_sentences
from headroom.report.sizes.sizing import answer_sentences, render_sizing
from headroom.report.terminal.screen import printed
from headroom.report.terminal.solved import SolvedPoint, render_solved, theory_lines, unit_of
from headroom.sizing.result import SizingResult


class Answer(Tabular):
    """Base of the answers: text, card, rows, frame."""

    def summary(self, width: int = 80) -> str:
        """Return the output of the command, at a width of that many columns."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.summary().rstrip("\n")


@dataclass(frozen=True, repr=False)
class Solved(Answer):
    """Results of formulas for a model, at one point or at several.

    Parameters
    ----------
    points
        The points with their levels and forecasts.
    """

    points: tuple[SolvedPoint, ...]

    @property
    def forecast(self) -> Forecast:
        """The answer at the only point; raises if there are several."""
        if len(self.points) != 1:
            raise StudyError(
                f"{len(self.points)} points were solved, so none is the only one",
                cure="take .points, .to_rows() or .to_frame()",
            )
        return self.points[0].forecast

    @property
    def is_exact(self) -> bool:
        """True if theory gives exactly these values for exactly this model."""
        return all(point.forecast.is_exact for point in self.points)

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric at the only point, in its base unit."""
        values = self.forecast.values
        if metric not in values:
            why = self.forecast.refused or self.forecast.reasons
            reason = self.forecast.overload or "; ".join(why)
            raise StudyError(
                f"formulas give no {metric!r}" + (f": {reason}" if reason else ""),
                cure=suggestion(metric, values)
                if values and not self.forecast.refused
                else f"simulate the model instead: {self.points[0].simulate or 'hr.simulate'}",
            )
        return values[metric]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row for each point and metric; `is_exact` says how far to trust it."""
        return [
            {
                "name": point.name,
                **point.levels,
                "metric": metric,
                "value": value,
                "unit": unit_of(metric),
                "is_exact": point.forecast.is_exact,
                "method": method,
            }
            for point in self.points
            for metric, value, method in point.found()
        ]

    def summary(self, width: int = 80) -> str:
        """Return the output of `headroom solve`."""
        return printed(lambda console: render_solved(self.points, console), width)

    def _repr_html_(self) -> str:
        first = self.points[0]
        if len(self.points) == 1:
            return text_card(f"theory: {first.name}", theory_lines(first.forecast))
        exact = "all exact" if self.is_exact else "not all exact"
        return text_card(
            f"theory: {first.name}", [f"{len(self.points)} points, {exact}", ".to_frame()"]
        )


class WhatIfs(View, Answer):
    """The effects of changes at one point, paired with it by their seeds.

    A row is a change and a metric: before, after, ratio, low, high.
    """

    kind = "what-ifs"

    def __init__(
        self, data: StudyResult, where: str = "", pairs_at_most: int | None = None
    ) -> None:
        super().__init__(data)
        self._where = where
        self._at_most = pairs_at_most

    @property
    def changes(self) -> Mapping[str, Mapping[str, Effect]]:
        """Effect on each metric, by the text of the change."""
        return {
            one.change: {effect.metric: effect for effect in one.effects}
            for one in self._experiment.points[0].what_ifs
        }

    @property
    def _experiment(self) -> ExperimentResult:
        return self.data.experiments[0]

    def __getitem__(self, change: str) -> Mapping[str, Effect]:
        """Return the effects of a change, by metric; raise if its runs allow no comparison."""
        if change not in self.changes:
            raise StudyError(
                f"the change {change!r} was not tried", cure=suggestion(change, self.changes)
            )
        if not self.changes[change]:
            raise StudyError(
                f"the runs of {change!r} cannot be compared with those before it",
                cure="read summary(), which gives the reason, or let the runs last longer",
            )
        return self.changes[change]

    def summary(self, width: int = 80, *, everything: bool = False) -> str:
        """Return the output of `headroom what-if`."""
        del everything  # It is all there is.
        experiment, point = self._experiment, self._experiment.points[0]
        return printed(
            lambda console: render_what_ifs(
                experiment, point, console, where=self._where, at_most=self._at_most
            ),
            width,
        )

    def _repr_html_(self) -> str:
        head = ", ".join(filter(None, [self._experiment.title or self.data.title, self._where]))
        return text_card(
            f"what if: {head}", [*what_if_sentences(self._experiment), ".summary() .to_frame()"]
        )


@dataclass(frozen=True, repr=False)
class Sized(Answer):
    """The smallest configuration that meets its targets.

    Parameters
    ----------
    data
        All that the search found, with its trail.
    """

    data: SizingResult

    @property
    def is_found(self) -> bool:
        """True if a configuration meets every target."""
        return self.data.is_found

    @property
    def best(self) -> Mapping[str, Value] | None:
        """Level of each factor of the smallest one; None if none was found."""
        return None if self.data.best is None else self.data.best.levels

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that the terminal prints above its tables."""
        return tuple(answer_sentences(self.data))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row for each configuration that was examined."""
        return [
            {
                **trial.levels,
                "cost": trial.cost,
                "verdict": trial.verdict,
                "how": trial.how,
                "replications": trial.replications,
                **{check.target.metric: check.value for check in trial.checks},
            }
            for trial in self.data.trail
        ]

    def summary(self, width: int = 80) -> str:
        """Return the output of `headroom size`."""
        return printed(lambda console: render_sizing(self.data, console), width)

    def _repr_html_(self) -> str:
        return text_card(f"size: {self.data.subject}", list(self.sentences))


@dataclass(frozen=True, repr=False)
class Fitted(Answer):
    """Parameters of a model that were fitted to results.

    Parameters
    ----------
    data
        All that the fit found: values with intervals, residuals, profiles.
    experiment
        The experiment with the fitted values.
    """

    data: FitResult
    experiment: ExperimentResult

    @property
    def values(self) -> Mapping[str, Value]:
        """Fitted values by parameter, of the first set of levels."""
        return {one.name: one.value for one in self.data.sets[0].parameters}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row for each fitted parameter: value, low, high, unit."""
        return [
            {
                **one.where,
                "parameter": fitted.name,
                "value": fitted.value,
                "low": fitted.low,
                "high": fitted.high,
                "unit": fitted.unit,
                "is_determined": fitted.is_determined,
            }
            for one in self.data.sets
            for fitted in one.parameters
        ]

    def residuals(self) -> list[dict[str, Any]]:
        """Return one row for each point and metric: observed, fitted, relative error."""
        return [
            {**row.levels, **{key: value for key, value in msgspec.structs.asdict(row).items()
                              if key != "levels"}}
            for one in self.data.sets
            for row in one.residuals
        ]  # fmt: skip

    def summary(self, width: int = 80) -> str:
        """Return the sentences on the fit."""
        sentences = fit_sentences(self.experiment)
        return printed(lambda console: console.print(*sentences, sep="\n", markup=False), width)

    def _repr_html_(self) -> str:
        return text_card(f"fit: {self.data.method}", fit_sentences(self.experiment))


def texts_of(changes: str | Sequence[str]) -> list[str]:
    """Return changes as a list: one text is one change.

    Examples
    --------
    >>> texts_of("station.cpu.servers=x2"), texts_of(["a=1", "b=2"])
    (['station.cpu.servers=x2'], ['a=1', 'b=2'])
    """
    return [changes] if isinstance(changes, str) else list(changes)
