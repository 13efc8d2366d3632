"""The search for the smallest configuration that meets its targets, and its trail.

A search on formulas alone first predicts the answer. Simulation then settles it: it starts there,
examines the neighbours below, and continues until every cheaper configuration is excluded. A
formula excludes a configuration by itself only if theory is exact, or if a throughput exceeds the
operational bounds by more than `BOUND_MARGIN`. The neighbours of the answer are simulated even
then.

Invariant: the result is a function of subject, targets, space, rule and seed; a resumed search
gives the same one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headroom.analysis.formulas import forecast_at
from headroom.analysis.statistics.comparison import paired_difference
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.changes import Change, parse_change
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Modelled, Parameter, Value
from headroom.forecasts import Forecast
from headroom.sizing.evaluate import Configuration, Evaluator, Subject
from headroom.sizing.result import Check, How, Trial
from headroom.sizing.search import Search, Verdict
from headroom.sizing.space import Axis, Place, Space
from headroom.sizing.targets import Target
from headroom.sizing.verdicts import Judgement

BOUND_MARGIN = 0.5
"""Relative room given to a bound where the model is not one that theory solves exactly."""
MOST_FORECASTS = 200
"""Configurations asked of the formulas before the first simulation."""
MOST_FAILURES = 3
"""Simulations that may fail before one succeeds: sizes can be too small to be a model at all."""
MOST_NEW_GUESSES = 5
"""Times that forecasts are corrected by a simulation after they were wrong."""
ROUNDING = 1e-6
"""Relative room given to an exact value."""
WORSE = 0.02
"""Relative loss from which more of something is called worse, where chance cannot explain it."""
WORSE_CONFIDENCE = 0.999
_GUESSED_BY_MEAN = {"_p50": 0.7, "_p95": 3.0, "_p99": 4.6}
"""Percentile over mean of an exponential response time: a guess that guides and never decides."""


@dataclass(slots=True)
class Looked:
    """A place of the space that was looked at."""

    place: Place
    verdict: Verdict
    how: How
    why: str
    checks: list[Check] = field(default_factory=list)
    judgement: Judgement | None = None
    seeds: list[int] = field(default_factory=list)
    note: str = ""


class Sizing:
    """A search over a space of configurations.

    Parameters
    ----------
    subject, space, targets
        What is sized, over what, for what.
    evaluator
        Simulates configurations.
    most
        Configurations simulated at most.
    """

    def __init__(
        self,
        subject: Subject,
        space: Space,
        targets: Sequence[Target],
        evaluator: Evaluator,
        *,
        most: int,
    ) -> None:
        self._subject = subject
        self.targets = tuple(targets)
        self._evaluator = evaluator
        self._most = most
        self._forecasts: dict[Place, Forecast] = {}
        self._over_mean: dict[str, float] = {}
        self._new_guesses = 0
        self.space = space
        self.search = Search(space)
        self.trail: list[Looked] = []
        self.contradictions: list[str] = []
        self.refuted = ""

    def run(self) -> None:
        """Search until nothing cheaper is left, or as many were simulated as are allowed."""
        self._expect()
        while batch := self._next_batch():
            if self._simulated_count >= self._most or self._is_in_vain:
                return
            self._simulate(batch)

    @property
    def _simulated_count(self) -> int:
        return sum(step.how == "simulation" for step in self.trail)

    @property
    def _is_in_vain(self) -> bool:
        """True where the first simulations gave no figures: the next ones would give none too."""
        found = [step.judgement for step in self.trail if step.judgement is not None]
        return len(found) >= MOST_FAILURES and all(one.has_no_figures for one in found)

    def configuration(self, place: Place) -> Configuration:
        """Return the parameters and changes of a place."""
        return configuration_at(self._subject, self.space, place)

    def forecast(self, place: Place) -> Forecast:
        """Return the forecast for a configuration, computed once."""
        if place not in self._forecasts:
            self._forecasts[place] = self._asked(place)
        return self._forecasts[place]

    def _asked(self, place: Place) -> Forecast:
        one = self.configuration(place)
        try:
            return forecast_at(self._subject.system, one.config, one.changes) or Forecast()
        except HeadroomError:
            return Forecast()

    def _expect(self) -> None:
        """Search on the forecasts alone, so that the simulation starts near the answer."""
        virtual = Search(self.space)
        for known, verdict in self.search.looked.items():
            virtual.record(known, verdict)
        while len(self._forecasts) < MOST_FORECASTS and (place := virtual.next()) is not None:
            guess = self._guess(place)
            if guess is None:
                return
            virtual.record(place, "meets" if guess else "fails")
            self.search.expect(place, meets=guess)

    def _guess(self, place: Place) -> bool | None:
        forecast = self.forecast(place)
        if forecast.overload:
            return False
        if not forecast.values:
            return None
        guesses = [
            (target, guessed(target, forecast.values, self._over_mean.get(target.metric)))
            for target in self.targets
        ]
        known = [(target, value) for target, value in guesses if value is not None]
        if not known:
            return None
        return all(target.is_met_by(value) for target, value in known)

    def _next_batch(self) -> list[tuple[Place, str]]:
        """Return the next places to simulate with the reason; those that formulas settle are noted.

        Below a configuration that is expected to meet the targets its neighbours are looked at in
        the same go, because the answer needs them anyway.
        """
        while (place := self.search.next()) is not None:
            if not self._screen(place):
                return self._with_neighbours(place)
        return [(place, "a formula excluded it: checked") for place in self._unsettled()]

    def _with_neighbours(self, place: Place) -> list[tuple[Place, str]]:
        if not self.search.open_places()[place]:
            is_neighbour = place in self.search.unchecked()
            return [(place, "neighbour below" if is_neighbour else "its failure excludes most")]
        first = (place, "expected to be the smallest" if self._guess(place) else "excludes most")
        if not self._guess(place):
            return [first]
        below = [
            one
            for one in self.space.below(place)
            if one not in self.search.looked and not self._screen(one)
        ]
        room = max(self._most - self._simulated_count - 1, 0)
        return [first, *((one, "neighbour below") for one in below[:room])]

    def _unsettled(self) -> list[Place]:
        """Return the neighbours below the answer that only a formula has excluded."""
        base = self.search.best or self.space.top
        by_formula = {step.place for step in self.trail if step.how == "formula"}
        by_formula -= {step.place for step in self.trail if step.how == "simulation"}
        return [place for place in (base, *self.space.below(base)) if place in by_formula]

    def _screen(self, place: Place) -> bool:
        """Note a place that needs no simulation; returns whether it is one."""
        forecast = self.forecast(place)
        if forecast.overload:
            self._note(Looked(place, "fails", "overload", "formula", note=forecast.overload))
            return True
        if self.refuted and not forecast.is_exact:
            return False
        for target in self.targets:
            reason = excluded_by(target, forecast)
            if reason:
                value = forecast.values.get(target.metric)
                checks = [Check(target=target, value=value, met=False)]
                self._note(Looked(place, "fails", "formula", "formula", checks, note=reason))
                return True
        return False

    def _simulate(self, batch: Sequence[tuple[Place, str]]) -> None:
        verdict = self._evaluator.judge([self.configuration(place) for place, _ in batch])
        believed = self.search.is_believing
        for (place, why), (judgement, seeds) in zip(batch, verdict, strict=True):
            is_told = judgement.verdict != "undecided"
            known = None if is_told or self.refuted else self.search.looked.get(place)
            found = known or judgement.verdict  # what a formula excluded, figures alone overrule
            theory = self._met_by_theory(place) if found == "undecided" else []
            checks = judgement.checks
            self._note(
                Looked(
                    place,
                    "meets" if theory else found,
                    "simulation",
                    why,
                    checks=theory if any(one.value is None for one in checks) else checks,
                    judgement=judgement,
                    seeds=seeds,
                    note=f"met by theory, {self.forecast(place).method}"
                    if theory
                    else judgement.note,
                )
            )
        self._refuse_if_nothing_runs()
        self._refute_bounds()
        self._look_for_contradictions()
        if believed and not self.search.is_believing and self._new_guesses < MOST_NEW_GUESSES:
            self._new_guesses += 1
            self._learn(batch[-1][0], verdict[-1][0])
            self._expect()

    def _met_by_theory(self, place: Place) -> list[Check]:
        """Return the targets as theory meets them, none if it does not give all of them exactly."""
        forecast = self.forecast(place)
        values = [forecast.values.get(target.metric) for target in self.targets]
        checks = [
            Check(target=target, value=value, met=True)
            for target, value in zip(self.targets, values, strict=True)
            if value is not None and target.shortfall(value) < -ROUNDING
        ]
        is_sure = forecast.is_exact and not self.refuted and len(checks) == len(values)
        return checks if is_sure else []

    def _refute_bounds(self) -> None:
        """Stop believing bounds as soon as a simulation lies surely beyond one."""
        if self.refuted:
            return
        found = (
            f"{check.target.metric} at {self.space.text(step.place)} is beyond its bound"
            for step in self.trail
            for check in step.checks
            if step.judgement is not None and _is_beyond(check, self.forecast(step.place))
        )
        self.refuted = next(found, "")
        if self.refuted:
            simulated = {step.place for step in self.trail if step.how == "simulation"}
            self.search.forget(
                step.place
                for step in self.trail
                if step.how == "formula"
                and step.place not in simulated
                and not self.forecast(step.place).is_exact
            )

    def _refuse_if_nothing_runs(self) -> None:
        """Raise where each of the first simulations failed: that says nothing about sizes."""
        settled = [step.judgement for step in self.trail if step.judgement is not None]
        failed = [one for one in settled if not one.could_run]
        if len(failed) == len(settled) and (
            len(failed) >= MOST_FAILURES or self.search.next() is None
        ):
            raise StudyError(
                f"no configuration can be simulated; the first one failed with: {failed[0].note}",
                cure="run the model once by itself and correct what fails: headroom what-if MODEL",
            )

    def _learn(self, place: Place, judgement: Judgement) -> None:
        """Keep how a percentile stands to the mean of the formulas, for the next guesses."""
        values = self.forecast(place).values
        for check in judgement.checks:
            metric = check.target.metric
            if check.value is None or metric in values:
                continue
            by_mean = guessed(check.target, values, 1.0)
            if by_mean:
                self._over_mean[metric] = check.value / by_mean

    def _note(self, looked: Looked) -> None:
        self.trail.append(looked)
        self.search.record(looked.place, looked.verdict)

    def _look_for_contradictions(self) -> None:
        """Stop inferring as soon as more of something is seen to be worse."""
        texts = [
            f"{self.space.text(less)} meets the targets, {self.space.text(more)} does not"
            for less, more in self.search.contradictions()
        ]
        texts += [text for text in self._worse_with_more() if text not in texts]
        self.contradictions = texts
        if texts and self.search.is_trusted:
            self.search.distrust()

    def _worse_with_more(self) -> list[str]:
        settled = [step for step in self.trail if step.judgement is not None]
        return [
            text
            for less in settled
            for more in settled
            if less.place in set(self.space.below(more.place))
            for target in self.targets
            if (text := self._worse(less, more, target))
        ]

    def _worse(self, less: Looked, more: Looked, target: Target) -> str:
        """Return how a target suffers from more of something, nothing where it does not."""
        if less.judgement is None or more.judgement is None:
            return ""
        one = less.judgement.values.get(target.metric)
        other = more.judgement.values.get(target.metric)
        if one is None or other is None or not _is_surely_worse(one, other, target):
            return ""
        return (
            f"{target.metric} is worse with {self.space.text(more.place)} than with "
            f"{self.space.text(less.place)}"
        )


def configuration_at(subject: Subject, space: Space, place: Place) -> Configuration:
    """Return the parameters and changes of a place."""
    levels, changes = {}, []
    for name, level in space.levels(place).items():
        change = change_of(name, level)
        if change is None:
            levels[name] = level
        else:
            changes.append(change)
    return Configuration(config={**subject.config, **levels}, changes=tuple(changes))


def _is_beyond(check: Check, forecast: Forecast) -> bool:
    """Return whether a metric surely exceeds what a formula calls its highest value."""
    highest = forecast.highest.get(check.target.metric)
    return highest is not None and check.low is not None and check.low > highest * (1.0 + ROUNDING)


def _is_surely_worse(less: FloatArray, more: FloatArray, target: Target) -> bool:
    """Return whether pairs of one seed show a loss that neither chance nor size explains."""
    count = min(less.size, more.size)
    sign = -1.0 if target.is_floor else 1.0
    interval = paired_difference(
        sign * more[:count], sign * less[:count], confidence=WORSE_CONFIDENCE
    ).interval
    size = abs(float(np.mean(less[:count])))
    return interval.low is not None and interval.low > WORSE * size


def change_of(name: str, level: Value) -> Change | None:
    """Return the change that a factor such as ``station.cpu.servers`` makes, None for a parameter.

    Examples
    --------
    >>> change_of("station.cpu.servers", 4).text, change_of("servers", 4)
    ('station.cpu.servers=4', None)
    """
    return parse_change(f"{name}={level}") if name.startswith(("station.", "pool.")) else None


def guessed(
    target: Target, values: Mapping[str, float], over_mean: float | None = None
) -> float | None:
    """Return what a metric is by formulas, a percentile perhaps guessed from the mean.

    Parameters
    ----------
    target
        What is asked of the metric.
    values
        What formulas say.
    over_mean
        The percentile over the mean, where a simulation has shown it.

    Examples
    --------
    >>> target = Target(metric="response_s_p95", unit="s", bound=1.0, is_floor=False)
    >>> round(guessed(target, {"response_s_mean": 0.1}), 3)
    0.3
    """
    if target.metric in values:
        return values[target.metric]
    for ending, times in _GUESSED_BY_MEAN.items():
        mean = values.get(f"{target.metric.removesuffix(ending)}_mean")
        if target.metric.endswith(ending) and mean is not None:
            return (over_mean or times) * mean
    return None


def excluded_by(target: Target, forecast: Forecast) -> str:
    """Return why formulas exclude a configuration, nothing where they do not.

    Examples
    --------
    >>> target = Target(metric="throughput", unit="1/s", bound=100.0, is_floor=True)
    >>> excluded_by(target, Forecast(highest={"throughput": 95.0}))
    ''
    >>> excluded_by(target, Forecast(highest={"throughput": 60.0}))
    'by the operational laws throughput cannot exceed 60'
    """
    value = forecast.values.get(target.metric)
    if forecast.is_exact and value is not None and target.shortfall(value) > ROUNDING:
        return f"{target.metric} by theory, {forecast.method}"
    highest = forecast.highest.get(target.metric, math.inf)
    margin = ROUNDING if forecast.is_exact else BOUND_MARGIN
    if target.is_floor and highest * (1.0 + margin) < target.bound:
        return f"by the operational laws {target.metric} cannot exceed {highest:.4g}"
    return ""


def check_axes(axes: Sequence[Axis], subject: Subject, parameters: Sequence[Parameter]) -> None:
    """Raise `StudyError` where an axis is not a parameter, has a wrong level, or changes nothing.

    Parameters
    ----------
    axes
        The factors.
    subject
        What is sized; its `config` lacks the parameters that are varied.
    parameters
        Those that the system declares.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    names = [axis.name for axis in axes]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise StudyError(f"the factor {double!r} is given twice", cure="keep one of the two")
    for axis in axes:
        if axis.name in declared:
            for level in axis.levels:
                declared[axis.name].check(level)
        elif change_of(axis.name, axis.levels[0]) is None:
            raise _unknown(axis.name, declared)
    changes = [
        change
        for axis in axes
        for level in axis.levels
        if (change := change_of(axis.name, level)) is not None
    ]
    if changes and not isinstance(subject.system, Modelled):
        raise StudyError(
            f"the system {subject.system.name!r} cannot change its stations and pools",
            cure="name parameters of it instead",
        )


def _unknown(name: str, declared: Mapping[str, Parameter]) -> StudyError:
    return StudyError(
        f"the factor {name!r} is not a parameter of the model",
        cure=f"choose among {', '.join(declared) or 'none'}, or change the model itself: "
        "station.NAME.servers, pool.NAME.tokens",
    )


def trial_of(space: Space, looked: Looked, number: int) -> Trial:
    """Return a place that was looked at as plain data."""
    judgement = looked.judgement
    return Trial(
        number=number,
        levels=space.levels(looked.place),
        cost=space.cost(looked.place),
        verdict=looked.verdict,
        how=looked.how,
        why=looked.why,
        checks=looked.checks,
        replications=0 if judgement is None else judgement.replications,
        seeds=looked.seeds,
        bottleneck=None if judgement is None else judgement.bottleneck,
        note=looked.note,
        fault=None if judgement is None else judgement.fault,
    )
