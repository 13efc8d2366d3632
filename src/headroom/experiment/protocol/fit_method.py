"""Fitting parameters of one experiment from the results of others: protocol and types.

A *method* turns the analysed points of source experiments into parameter values. Methods register
under the entry point group ``headroom.fits``; nothing here imports one. The analysis computes the
intervals of the values: it leaves out replications and calls the method again (jackknife). A method
with better intervals supplies its own.

Invariant: the result of a method is a function of its input; no clock, and no randomness except a
fixed seed. A study opened twice must give the same fit twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Column, Parameter, System, Value

GROUP = "headroom.fits"
Options = TypeVar("Options", bound=msgspec.Struct)

DemandEvidence: TypeAlias = Literal[
    "automatic", "low-load", "burst", "target-burst", "alternated-burst", "pulses"
]
"""Measurements that demands are fitted to, see `headroom.analysis.fits.demand_errors`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One combination of whole numbers with the best fit that it allows.

    Parameters
    ----------
    values
        All parameters, the others re-optimised.
    error
        Root mean square of the relative errors.
    is_refuted
        True if the observations fit this combination significantly worse than the best one.
    """

    values: Mapping[str, Value]
    error: float
    is_refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The best fit at each value of one parameter, all others re-optimised.

    Parameters
    ----------
    name
        The parameter.
    values
        Ascending; the range that the study gave, or as much of it as was scanned.
    rises
        Rise of the sum of squares above its minimum, in units of the rise that refutes a value:
        1 is the end of the 95% interval.
    """

    name: str
    values: tuple[float, ...]
    rises: tuple[float, ...]


class FitError(HeadroomError):
    """The results do not determine the parameters; the message says why (a point that fails).

    Parameters
    ----------
    candidates, profiles
        The attempts, for the report.
    """

    def __init__(
        self,
        message: str,
        *,
        cure: str = "",
        candidates: tuple[Candidate, ...] = (),
        profiles: tuple[Profile, ...] = (),
    ) -> None:
        super().__init__(message, cure=cure)
        self.candidates = candidates
        self.profiles = profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One metric of one point: its estimate over the replications, with a 95% interval.

    Parameters
    ----------
    value
        Mean, median or pooled value, as the results print it, in the base unit.
    low, high
        Bounds of the 95% interval, None if there are too few replications.
    standard_error
        Standard error of the estimate, None with one replication.
    degrees
        Degrees of freedom of the standard error.
    """

    value: float
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    degrees: float = 0.0


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
        Metric to its estimate: every number that a replication gave, not only those printed.
    distributions
        Metric to its merged distribution, e.g. ``"class.read.service_s"``.
    counters
        Counter of the runs to its mean over the replications.
    offered
        Metric to what an open load asks of it, such as the rate of a load generator.
    visits
        How often the study came back to the point: groups of its replications that other
        measurements of the study separate in time.
    """

    experiment: str
    column: Column
    levels: Mapping[str, Value]
    config: Mapping[str, Value]
    observed: Mapping[str, Observed]
    distributions: Mapping[str, Counted] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    offered: Mapping[str, float] = field(default_factory=dict)
    visits: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The experiment whose parameters are fitted.

    Parameters
    ----------
    system
        Its system; `headroom.analysis.formulas.forecast_at` gives its results by formula.
    config
        Value of each parameter that no factor varies; the fitted ones have start values.
    factors
        Names of its factors.
    is_replicate
        True if the fit is repeated without some replications, for the intervals: `config` then
        holds the fitted values, the values are near it, and whole numbers stay.
    """

    system: System
    config: Mapping[str, Value]
    factors: tuple[str, ...] = ()
    is_replicate: bool = False

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Declared parameters of the system, by name."""
        return {parameter.name: parameter for parameter in self.system.parameters()}


class ParameterEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A finding about a fitted value, apart from its interval."""

    code: Literal[
        "observed", "only_number", "open_below", "open_above", "few_replications", "unstable"
    ]
    """It was observed, not fitted; every other whole number is refuted; the profile is flat to the
    lower, or to the upper end of the range; the replications of a point are too few for an
    interval; without some replications there is no fit, hence no interval."""
    count: int | None = None
    """Of ``few_replications``: how many there are."""
    message: str = ""
    """Of ``unstable``: why there is no fit then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedParameter:
    """A parameter with its fitted value.

    Parameters
    ----------
    name, value, unit
        Parameter of the target, its value, and the unit of that.
    low, high
        95% interval, None if there is none.
    standard_error
        Standard error, None if unknown.
    note
        Why there is no interval, or a caveat on the value, in the words of the method.
    evidence
        What the points say about the value.
    is_determined
        False if the points leave at least one end of the interval open.
    is_profiled
        True if the interval comes from the profile: the scatter of the replications may still
        widen it.
    """

    name: str
    value: Value
    unit: str
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    note: str = ""
    evidence: tuple[ParameterEvidence, ...] = ()
    is_determined: bool = True
    is_profiled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """The fitted model's result for one observation that it was fitted to.

    Parameters
    ----------
    experiment, levels
        The point.
    metric, unit
        The observed quantity.
    observed, low, high
        Observed value and its 95% interval, None if there is none.
    fitted
        Value of the fitted model.
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
        """(fitted - observed) / observed, None if nothing was observed."""
        return (self.fitted - self.observed) / self.observed if self.observed else None


class LeastSquaresEvidence(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="least_squares"
):
    """How near a fit by least squares comes to the observations."""

    observations: int
    error: float
    """Root mean square of the relative errors."""
    answers: Literal["formulas", "simulation"]
    """What predicted the metrics."""


class ShareEvidence(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="share"):
    """The maximum that a load is a share of."""

    share: float
    metric: str
    points: int
    """Points that report the metric."""


LimitName: TypeAlias = Literal[
    "processors", "quota", "thread", "client", "disk", "lock", "pool", "connections", "unknown", ""
]
"""What limits bursts: processors of the machine, the quota of a service, one thread of it, the load
program, a device, what one or several operations hold at a time, connections that are served at a
time; undetermined; not asked."""
RefutedCode: TypeAlias = Literal[
    "idle", "no_crowd", "not_throttled", "quota_free", "thread_idle", "not_blocked", "device_works",
    "accepted", "no_waits", "places", "faster"
]  # fmt: skip
"""Processors have time left; others fill them, and no thread that is measured waits for one; the
quota holds nothing back, or is not used up; the busiest thread has time left; no thread waits for a
device; a device works most of the time; every connection is accepted; threads hardly wait at all;
Little's law gives another number of places; operations at low load took less time than it says."""


class Refuted(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that contradicts an observation, with the figure observed."""

    name: LimitName
    because: RefutedCode
    value: float


class ServiceEvidence(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="service"):
    """What the demands of a server rest on."""

    basis: Literal["bursts", "low_load"]
    limit: LimitName = ""
    """What limits, of bursts and of low load that identifies it."""
    busy: float | None = None
    """Of bursts: busy share of the processors."""
    background: float | None = None
    """Of low load: processors that are busy whatever the load; None with fewer than three loads,
    so that background counts as demand."""
    left: list[tuple[LimitName, int]] = []
    """Candidates that the observations leave, each with the operations that it serves at a time."""
    refuted: list[Refuted] = []
    available: float | None = None
    """Processors that others and the quota leave; None if unknown."""
    neighbours: float | None = None
    """Share of the processors that others take, None if not notable."""
    capacity: float | None = None
    """Operations per second that the server can do, of an open load; None if not asked."""


FitEvidence: TypeAlias = LeastSquaresEvidence | ShareEvidence | ServiceEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of a method.

    Parameters
    ----------
    parameters
        Every parameter that the method declared.
    residuals
        Fitted against observed, for every observation that was used.
    notes
        What a reader should know, one sentence each, in the words of the method.
    evidence
        The same as data, of the methods of the analysis.
    candidates
        Combinations of whole numbers that were tried, the best first.
    profiles
        One profile for each parameter that is not a whole number.
    alternatives
        Sets of parameters at the ends of the profiles: as far away as the points allow.
    """

    parameters: tuple[FittedParameter, ...]
    residuals: tuple[Residual, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: FitEvidence | None = None
    candidates: tuple[Candidate, ...] = ()
    profiles: tuple[Profile, ...] = ()
    alternatives: tuple[Mapping[str, Value], ...] = ()


class FitMethod(Protocol):
    """A way to fit parameters; registered under ``headroom.fits``."""

    name: ClassVar[str]
    options_type: ClassVar[type[msgspec.Struct]]
    """Schema of the table `[experiment.fit.options]`."""

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameters of the target that are fitted, before there are any results."""
        ...

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the parameters; raise `FitError` if the points do not determine them."""
        ...


def options_as(kind: type[Options], options: msgspec.Struct) -> Options:
    """Return the options that a method is given as those that it declares."""
    if not isinstance(options, kind):
        raise TypeError(f"{kind.__name__} are needed, not {type(options).__name__}")
    return options


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedError:
    """Errors of a method's predictions, as far as they could be checked.

    Parameters
    ----------
    metric
        Ending of the metrics that it holds for, e.g. ``"throughput"``.
    log_error
        Standard deviation of log(measured / predicted).
    count
        Predictions that were checked.
    source
        Where they are published.
    """

    metric: str
    log_error: float
    count: int
    source: str


@runtime_checkable
class HasPublishedErrors(Protocol):
    """A method whose predictions were checked before; optional for a `FitMethod`."""

    published_errors: ClassVar[tuple[PublishedError, ...]]


@runtime_checkable
class ChoosesLoad(Protocol):
    """A method that sets a load instead of describing a system; optional for a `FitMethod`."""

    chooses_load: ClassVar[bool]


@runtime_checkable
class FitsDemands(Protocol):
    """A method that takes service demands from measurements; optional for a `FitMethod`.

    Demands measured at one load do not hold at another, so that predictions from measurements
    carry the error that `headroom.analysis.fits.demand_errors` states.
    """

    def model_config(
        self, point: SourcePoint, target: Target, options: msgspec.Struct
    ) -> Mapping[str, Value]:
        """Return the parameters of the target's model when it represents a source point.

        Empty if the model does not describe the load of the point.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How hard a point drives its system, as far as the target's model shows it.

    Parameters
    ----------
    clients
        Jobs of all closed classes; None for an open load.
    think_s
        Mean think time (s) of the class with the longest; None for an open load.
    utilization
        Utilization of the busiest station, by the fitted model; None if formulas cannot give it.
    servers
        Servers of the stations, in order.
    visits
        Of a source point: see `SourcePoint.visits`.
    """

    clients: int | None = None
    think_s: float | None = None
    utilization: float | None = None
    servers: tuple[int, ...] = ()
    visits: int = 1


Origin: TypeAlias = Literal["measured", "simulated", "predicted"]
"""Of the sources of a fit: measured, simulated, or simulated with fitted parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSet:
    """The fit for the points with the levels `where`; empty levels are all points.

    Parameters
    ----------
    where, found
        The levels, and what the method found.
    origin
        What the observations are.
    loads
        Load of each source point, by the fitted model.
    taken
        Parameters of the load that another experiment has, with their values.
    left_out
        Source experiment to the number of its points without results.
    """

    where: Mapping[str, Value]
    found: Found
    origin: Origin = "simulated"
    loads: tuple[Load, ...] = ()
    taken: Mapping[str, Value] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Value]:
        """Parameter to its fitted value, those of a load that is taken over included."""
        return {
            **{parameter.name: parameter.value for parameter in self.found.parameters},
            **self.taken,
        }


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
        Parameters that it fits, and those of the load that is taken over.
    load_of, load_names
        Experiment whose load is taken over, and the parameters of that; empty if there is none.
    sets
        The results; empty while not settled.
    reason, cure
        Why it is not settled, and a hint.
    is_refused
        True if more runs of the plan will not settle it: a source failed, or lacks points.
    candidates, profiles
        The attempts of a rejected fit.
    evidence
        The study's declarations about the measurements.
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
    candidates: tuple[Candidate, ...] = ()
    profiles: tuple[Profile, ...] = ()
    evidence: DemandEvidence = "automatic"
    load_of: str = ""
    load_names: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """Experiments that must be complete before: sources, and that of the load."""
        return tuple(dict.fromkeys([*self.sources, *filter(None, [self.load_of])]))

    @property
    def is_settled(self) -> bool:
        """True if the parameters have their fitted values."""
        return bool(self.sets)

    def source_of(self, name: str) -> str:
        """Return the source of a parameter's value, as the tables of parameters print it."""
        if name in self.load_names:
            return f"fitted: the load of experiment {self.load_of}"
        word = "experiment" if len(self.sources) == 1 else "experiments"
        return f"fitted: {word} {', '.join(self.sources)}, method {self.method.name}"


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
    """Return the methods that installed packages offer, by name, without importing them."""
    return plug_ins.plug_ins(GROUP)
