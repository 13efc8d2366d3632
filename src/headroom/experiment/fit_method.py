"""Fitting parameters of one experiment from the results of others: protocol and types.

A *method* turns the analysed points of source experiments into values of parameters. Methods
register under the entry point group ``headroom.fits``; nothing here imports one. The intervals
of the values come from the analysis, which leaves out replications and asks the method again
(jackknife); a method that knows better gives its own.

Invariant: what a method returns is a function of what it is given; no clock, no randomness but
a fixed seed. A study that is opened twice must fit twice the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import ClassVar, Protocol

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment import plug_ins
from headroom.experiment.run import FloatArray
from headroom.experiment.system import Column, Parameter, System, Value

GROUP = "headroom.fits"


class FitError(HeadroomError):
    """The results do not determine the parameters; the message says why (a point that fails)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One metric of one point: its estimate over the replications, with a 95 % interval.

    Parameters
    ----------
    value
        Mean, median or pooled value, as the results print it, in the base unit.
    low, high
        Bounds of the 95 % interval, None where there are too few replications.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A distribution merged over the replications of a point, after the warm-up.

    Parameters
    ----------
    low, high
        Shape (bins,). Bounds of the bins, ascending, in the unit of the metric.
    counts
        Shape (bins,). Observations in each bin.
    """

    low: FloatArray
    high: FloatArray
    counts: FloatArray

    @property
    def mean(self) -> float:
        """Mean of the middles of the bins."""
        return float(((self.low + self.high) / 2 * self.counts).sum() / self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePoint:
    """One analysed point of a source experiment.

    Parameters
    ----------
    experiment
        Name of the source experiment.
    column
        Whether it was measured or simulated.
    levels, config
        Levels of its factors, and the value of every parameter.
    observed
        Metric to its estimate: every number that a replication gave, not only what is printed.
    distributions
        Metric to its merged distribution, e.g. ``"class.read.service_s"``.
    counters
        Counter of the runs to its mean over the replications.
    """

    experiment: str
    column: Column
    levels: Mapping[str, Value]
    config: Mapping[str, Value]
    observed: Mapping[str, Observed]
    distributions: Mapping[str, Counted] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The experiment whose parameters are fitted.

    Parameters
    ----------
    system
        Its system; one that `Forecasts` can be asked for what formulas say.
    config
        Value of each parameter that no factor varies; the fitted ones have start values.
    factors
        Names of its factors.
    is_replicate
        True where the fit is repeated without some replications, for the intervals: `config` then
        holds what was found, the values are near it, and whole numbers stay.
    """

    system: System
    config: Mapping[str, Value]
    factors: tuple[str, ...] = ()
    is_replicate: bool = False

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Declared parameters of the system, by name."""
        return {one.name: one for one in self.system.parameters()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedParameter:
    """A parameter with its fitted value.

    Parameters
    ----------
    name, value, unit
        Parameter of the target, its value, and the unit of that.
    low, high
        95 % interval, None where there is none.
    standard_error
        Standard error, None where it is not known.
    note
        Why there is no interval, or what to know of the value.
    """

    name: str
    value: Value
    unit: str
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What the fitted parameters give for one observation that they were fitted to.

    Parameters
    ----------
    experiment, levels
        The point.
    metric, unit
        What was observed there.
    observed, low, high
        Observed value and its 95 % interval, None where there is none.
    fitted
        What the fitted parameters give.
    """

    experiment: str
    levels: Mapping[str, Value]
    metric: str
    unit: str
    observed: float
    fitted: float
    low: float | None = None
    high: float | None = None

    @property
    def relative(self) -> float | None:
        """(fitted - observed) / observed, None where nothing was observed."""
        return (self.fitted - self.observed) / self.observed if self.observed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method found.

    Parameters
    ----------
    parameters
        Every parameter that the method said it fits.
    residuals
        Fitted against observed, for every observation that was used.
    notes
        What a reader should know, one sentence each.
    """

    parameters: tuple[FittedParameter, ...]
    residuals: tuple[Residual, ...] = ()
    notes: tuple[str, ...] = ()


class FitMethod(Protocol):
    """A way to fit parameters; registered under ``headroom.fits``."""

    name: ClassVar[str]
    options_type: ClassVar[type[msgspec.Struct]]
    """Schema of the table `[experiment.fit.options]`."""

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameters of the target that are fitted, before there are any results."""
        ...

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the parameters; raise `FitError` where the points do not determine them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSet:
    """What was found for the points with the levels `where`; empty levels are all points."""

    where: Mapping[str, Value]
    found: Found

    @property
    def values(self) -> dict[str, Value]:
        """Parameter to its fitted value."""
        return {one.name: one.value for one in self.found.parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFit:
    """The fit of an experiment, and how far it has come.

    Parameters
    ----------
    sources, where, by
        Experiments that are fitted, their levels, and the factors with a fit for each level.
    method, options
        The method with its checked options.
    names
        Parameters that it fits.
    sets
        What was found; empty while it is not settled.
    reason, cure
        Why it is not settled, and what to do about it.
    is_refused
        True where more runs of the plan will not settle it: a source failed, or lacks points.
    """

    sources: tuple[str, ...]
    where: Mapping[str, Value]
    by: tuple[str, ...]
    method: FitMethod
    options: msgspec.Struct
    names: tuple[str, ...]
    sets: tuple[FittedSet, ...] = ()
    reason: str = ""
    cure: str = ""
    is_refused: bool = False

    @property
    def is_settled(self) -> bool:
        """True where the parameters have their fitted values."""
        return bool(self.sets)

    @property
    def source_text(self) -> str:
        """Where a fitted value comes from, as the tables of parameters print it."""
        word = "experiment" if len(self.sources) == 1 else "experiments"
        return f"fitted: {word} {', '.join(self.sources)}, method {self.method.name}"


def method_names() -> tuple[str, ...]:
    """Return the names of all registered methods, sorted."""
    return tuple(sorted(registered()))


def find_method(name: str) -> FitMethod:
    """Return a registered method.

    Raises
    ------
    StudyError
        No method has this name.
    EnvironmentUnfitError
        It is registered, but its package cannot be imported.
    """
    kind: Callable[[], FitMethod] = plug_ins.find(name, registered(), kind="fit method")
    return kind()


def registered() -> Mapping[str, EntryPoint]:
    """Return the entry point of each registered method."""
    return plug_ins.plug_ins(GROUP)
