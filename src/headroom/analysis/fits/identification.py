"""Which parameters a fit identifies: refuted candidates, profiles, and their intervals.

Whole numbers are identified if every other combination is refuted. If several combinations remain,
the fit is rejected with the residuals of all of them, because choosing one would be a guess. Every
other parameter gets the interval of its profile. The interval may be open on one side, which the
prediction then covers. A profile that is flat on both sides leaves the parameter undetermined, and
the fit is rejected.

`headroom.analysis.fits.profiles` contains the rule that refutes a value.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headroom.analysis.fits.profiles import BetterFitError, Side, scan, threshold
from headroom.analysis.fits.sum_of_squares import Solution
from headroom.experiment.protocol.fit_method import (
    Candidate,
    FitError,
    FittedParameter,
    ParameterEvidence,
    Profile,
)
from headroom.experiment.protocol.system import Value

MAX_RESTARTS = 3
"""Better fits that profiles may find before the search gives up."""
STEEPEST = 99.0
"""Rise beyond which a profile is not stored exactly: nothing is read off there."""
_NAMED = 4
"""Candidates that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """The best fit with what is known about each parameter."""

    values: Mapping[str, Value]
    squares: float
    candidates: tuple[Candidate, ...] = ()
    profiles: tuple[Profile, ...] = ()
    alternatives: tuple[Mapping[str, Value], ...] = ()
    bounds: Mapping[str, "Bounds"]

    def described(self, parameter: FittedParameter) -> FittedParameter:
        """Return a fitted parameter with its interval and the evidence for it."""
        if parameter.name in self.bounds:
            return self.bounds[parameter.name].described(parameter)
        if not self.profiles and not self.candidates:
            return parameter
        is_tried = len(self.candidates) > 1
        evidence = (ParameterEvidence(code="only_number"),) if is_tried else ()
        value = float(parameter.value)
        return replace(parameter, low=value, high=value, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The interval of one parameter by its profile."""

    low: float
    high: float
    is_low_open: bool
    is_high_open: bool

    def described(self, parameter: FittedParameter) -> FittedParameter:
        """Return the parameter with this interval."""
        is_open = self.is_low_open or self.is_high_open
        code: Literal["open_below", "open_above"] = (
            "open_below" if self.is_low_open else "open_above"
        )
        return replace(
            parameter,
            low=self.low,
            high=self.high,
            evidence=(ParameterEvidence(code=code),) if is_open else (),
            is_determined=not is_open,
            is_profiled=True,
        )


def identify(solutions: Sequence[Solution], *, parameters: int) -> Identified:
    """Return the parameters that the observations determine.

    Parameters
    ----------
    solutions
        The best fit of each combination of whole numbers, the smallest sum of squares first.
    parameters
        Number of fitted parameters.

    Raises
    ------
    FitError
        Several combinations fit about as well, or a profile is flat on both sides.
    """
    best = solutions[0]
    observations = best.problem.observations
    for _ in range(MAX_RESTARTS):
        rise = threshold(
            least=best.squares,
            observations=len(observations),
            parameters=parameters,
            variances=[
                observation.variance for observation in observations if observation.variance
            ],
        )
        candidates = _candidates(best, solutions, rise)
        _check_candidates(candidates, best)
        if rise <= 0.0 or math.isinf(rise):
            break
        try:
            return _profiled(best, candidates, rise)
        except BetterFitError as better:
            squares, place = best.problem.solved(better.place)
            best = replace(best, squares=squares, place=place)
    return Identified(values=best.values, squares=best.squares, candidates=candidates, bounds={})


def _candidates(
    best: Solution, solutions: Sequence[Solution], rise: float
) -> tuple[Candidate, ...]:
    if not best.problem.settled:
        return ()
    count = len(best.problem.observations)
    others = [solution for solution in solutions if solution.problem is not best.problem]
    return tuple(
        Candidate(
            values=one.values,
            error=math.sqrt(one.squares / count) if math.isfinite(one.squares) else math.inf,
            is_refuted=one.squares > best.squares + rise or math.isinf(one.squares),
        )
        for one in (best, *others)
    )


def _check_candidates(candidates: Sequence[Candidate], best: Solution) -> None:
    names = list(best.problem.settled)
    left = [candidate for candidate in candidates if not candidate.is_refuted]
    if len(left) < 2:  # noqa: PLR2004 - one is the answer
        return
    left.sort(key=lambda one: [float(one.values[name]) for name in names])
    shown = [" x ".join(str(one.values[name]) for name in names) for one in left]
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    errors = sorted(100.0 * one.error for one in left)
    verb = "is" if len(names) == 1 else "are"
    raise FitError(
        f"{' and '.join(names)} {verb} not determined by these points: "
        f"{', '.join(shown[:_NAMED])}{more} fit about as well, {errors[0]:.2g} to "
        f"{errors[-1]:.2g}% off",
        cure=f"write the system's {names[0]} under fixed (servers: cpuset, quota or "
        "threads), or add points that distinguish them (servers: a burst of 2 s with the target "
        "number of clients and no think time)",
        candidates=tuple(candidates),
    )


def _profiled(best: Solution, candidates: tuple[Candidate, ...], rise: float) -> Identified:
    problem = best.problem
    profiles, alternatives, bounds = [], [], {}
    for held, scale in enumerate(problem.scales):
        step = problem.first_step(best.place, held, rise)
        low, high = (
            scan(problem.refit, best.place, held, end=end, step=step, least=best.squares, rise=rise)
            for end in (scale.low, scale.high)
        )
        profiles.append(_profile(best, held, low, high))
        alternatives += [problem.values(side.at_end) for side in (low, high)]
        bounds[scale.name] = Bounds(
            low=scale.value(low.end),
            high=scale.value(high.end),
            is_low_open=low.is_open,
            is_high_open=high.is_open,
        )
    flat = [name for name, one in bounds.items() if one.is_low_open and one.is_high_open]
    if flat:
        raise FitError(
            f"{flat[0]} is not determined by these points: its profile is flat from one end of "
            "the range to the other",
            cure=f"write {flat[0]} under fixed, or add points or metrics that depend on it",
            candidates=candidates,
            profiles=tuple(profiles),
        )
    return Identified(
        values=best.values,
        squares=best.squares,
        candidates=candidates,
        profiles=tuple(profiles),
        alternatives=tuple(alternatives),
        bounds=bounds,
    )


def _profile(best: Solution, held: int, low: Side, high: Side) -> Profile:
    scale = best.problem.scales[held]
    seen = [(float(best.place[held]), 0.0)]
    for side in (low, high):
        seen += zip(side.values, side.rises, strict=True)
    ordered = np.array(sorted(seen))
    return Profile(
        name=scale.name,
        values=tuple(float(f"{scale.value(one):.6g}") for one in ordered[:, 0]),
        rises=tuple(float(f"{min(one, STEEPEST):.4g}") for one in ordered[:, 1]),
    )
