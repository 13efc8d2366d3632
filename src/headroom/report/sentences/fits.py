"""Fitted parameters, and the errors that predictions from them count, as sentences."""

from collections.abc import Iterator

from headroom.analysis.evidence import DemandKind
from headroom.analysis.fits.measured_systems import QUIET
from headroom.analysis.results import FitSet, FittedValue, Prediction
from headroom.experiment.protocol.fit_method import (
    FitEvidence,
    LimitName,
    ParameterEvidence,
    RefutedCode,
    ServiceEvidence,
    ShareEvidence,
)
from headroom.quantities import format_given, format_levels, format_percent
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun

_PLACES: dict[DemandKind, str] = {
    "measured": "within the measured loads",
    "alternated": "within the measured loads, which were measured in turn",
    "low-load": "beyond the measured loads",
    "burst": "from a burst with other clients",
    "pulses": "pulses of all clients at once",
    "target-burst": "from a burst with the same number of clients",
    "alternated-burst": (
        "saturated with the same number of clients, in turn with other measurements"
    ),
}
_ERRORS = {
    "published": (
        "The intervals of {metrics} count the published errors of this method; those of other "
        "metrics count the scatter of the simulation alone"
    ),
    "simulated": (
        "The sources were simulated: the intervals count what their points allow, and no error "
        "of the method"
    ),
    "chained": (
        "The sources are predictions themselves: the intervals count what their points allow, "
        "but not the error of the sources"
    ),
    "unknown": (
        "No error of this method is known: the intervals count the scatter of the simulation alone"
    ),
}
_DEMANDS = (
    "Demands fitted to such measurements were off by a factor of up to {factor:.2f} in 95% of "
    "cases, and the intervals count that"
)
_BURST = "measure a burst of 2 s with {clients} and no think time, repeated in turn with the other "
_STEPS = {
    "measured": "repeat the measurement at least three times, in turn with other points",
    "low-load": f"{_BURST}points",
    "burst": "repeat the burst with {clients}",
    "pulses": f"{_BURST}points",
    "target-burst": "repeat the burst at least three times, in turn with other points",
}


def prediction_place(one: Prediction) -> str:
    """Return where a point is, seen from the measured ones; empty if nothing was measured."""
    return {str(kind): place for kind, place in _PLACES.items()}.get(one.kind, "")


def prediction_errors(one: Prediction) -> str:
    """Return the errors that the intervals of a prediction include.

    Examples
    --------
    >>> prediction_errors(Prediction(kind="unknown"))
    'No error of this method is known: the intervals count the scatter of the simulation alone'
    """
    words = _ERRORS.get(one.kind, _DEMANDS)
    return words.format(metrics=", ".join(one.metrics), factor=one.factor or 0.0)


def prediction_step(one: Prediction) -> str:
    """Return what to measure for narrower intervals; empty if nothing would help."""
    known = one.predicted and one.predicted.clients
    clients = f"{known[0]} clients" if known else "the target number of clients"
    return _STEPS.get(one.kind, "").format(clients=clients)


def fitted_remark(one: FittedValue) -> str:
    """Return what is known of a fitted value besides its interval, as one clause or none."""
    return "; ".join(filter(None, [one.note, *(_remark(said, one) for said in one.evidence)]))


def _remark(said: ParameterEvidence, one: FittedValue) -> str:
    if said.code in {"open_below", "open_above"}:
        side = said.code.removeprefix("open_")
        value = format_given(float(one.value), one.unit, metric=one.name)
        return (
            f"not determined by these points {side} {value}: its profile stays flat to the end of "
            "the range"
        )
    return {
        "observed": "observed, not fitted",
        "only_number": "every other number in its range is refuted",
        "few_replications": (
            f"{count_noun(said.count or 0, 'replication')} of a point give no interval: run 2 or "
            "more"
        ),
        "unstable": f"no interval: without some replications, {said.message}",
    }[said.code]


def fit_notes(one: FitSet) -> Iterator[str]:
    """Yield what a reader should know of a fit, one clause each."""
    yield from one.notes
    if one.evidence is not None:
        yield _fit_words(one.evidence)
    for source, count in one.left_out.items():
        yield f"{count_noun(count, 'point')} of {source} without results left out"
    if one.taken:
        yield f"the load is that of the other experiment: {format_levels(one.taken)}"


def _fit_words(evidence: FitEvidence) -> str:
    if isinstance(evidence, ShareEvidence):
        share = f"{evidence.share:.0%} of the largest {evidence.metric}"
        return f"{share} of {count_noun(evidence.points, 'point')}"
    if isinstance(evidence, ServiceEvidence):
        return "; ".join(_service_clauses(evidence))
    who = "formulas" if evidence.answers == "formulas" else "short simulations"
    return (
        f"{evidence.observations} observations, root mean square of the relative errors "
        f"{100.0 * evidence.error:.3g}%; predicted by {who}"
    )


_LIMITS: dict[LimitName, str] = {
    "processors": "the processors",
    "quota": "the quota of processors",
    "thread": "one thread of the server",
    "client": "the load program itself",
    "disk": "a disk",
    "lock": "what one operation at a time holds (a lock)",
    "pool": "what {places} operations at a time hold (a pool, or a limit of connections)",
    "connections": "a limit of {places} connections",
}
_REFUTED: dict[RefutedCode, str] = {
    "idle": "the machine's were {value:.0%} busy",
    "no_crowd": "others fill them, and {value:.2g} threads that are measured wait for one",
    "not_throttled": "it held back {value:.0%} of the time",
    "quota_free": "{value:.0%} of it was used",
    "thread_idle": "its busiest thread worked or waited for a processor {value:.0%} of the time",
    "not_blocked": "{value:.2g} threads waited for a device",
    "device_works": "a device worked {value:.0%} of the time, while its threads waited for one",
    "accepted": "{value:.2g} connections waited to be accepted",
    "no_waits": "its threads stop {value:.2g} times in an operation",
    "places": "throughput times response time at low load is {value:.3g}",
    "faster": "operations at low load took {value:.0%} of the time that it says",
}


_CAUTIONS: dict[LimitName, str] = {
    "quota": "until it is used up, response times are shorter than predicted",
    "client": "predicted response times include waits inside the load program",
}
_DECIDES: dict[LimitName, str] = {
    "processors": "the same burst without the other programs decides",
    "pool": "one client without think time, fitted with the bursts, decides",
    "disk": "the same burst with its files in memory (tmpfs) decides",
    "client": "the same burst from two load programs decides",
}
"""The run that decides between several limits: that of the first which is left."""


def limit_words(one: FitSet) -> str:
    """Return what limits the sources of a fit, and what does not; empty if nothing says so."""
    evidence = one.evidence
    is_known = isinstance(evidence, ServiceEvidence) and evidence.limit
    return capital(_fit_words(evidence)) if evidence is not None and is_known else ""


def closest_words(one: FitSet) -> str:
    """Return how far predictions of the closest measured system were off, without a full stop."""
    if (found := one.closest) is None:
        return ""
    others = f" next to others on {found.neighbours:.0%} of the processors" * (
        found.neighbours > QUIET
    )
    return (
        f"The closest measured system, {found.product} with {found.clients} clients{others}, was "
        f"predicted with errors of {format_percent(found.throughput)} of the throughput (at worst "
        f"{format_percent(found.worst_throughput)}) and {format_percent(found.p95)} of the 95th "
        "percentile"
    )


def _service_clauses(evidence: ServiceEvidence) -> Iterator[str]:
    yield from _of_low_load(evidence) if evidence.basis == "low_load" else _of_bursts(evidence)
    if evidence.capacity is not None:
        yield f"the server can do {evidence.capacity:.4g} operations per second"


def _of_low_load(evidence: ServiceEvidence) -> Iterator[str]:
    if evidence.limit:
        yield f"the first limit is {_LIMITS[evidence.limit]}"
    if evidence.background is None:
        yield "there are fewer than three loads, so background counts as demand"
    else:
        yield f"background keeps {evidence.background:.2g} processors busy"


def _of_bursts(evidence: ServiceEvidence) -> Iterator[str]:
    if evidence.limit in _LIMITS:
        yield f"the bursts are limited by {_limit(evidence)}"
    else:
        yield f"what limits the bursts is undetermined{_left(evidence)}"
    if evidence.busy is not None:
        yield f"processors are {evidence.busy:.0%} busy"
    if evidence.neighbours is not None:
        yield (
            f"other programs take {evidence.neighbours:.0%} of them and leave "
            f"{evidence.available or 0.0:.2g}"
        )
    elif evidence.limit == "quota" and evidence.available is not None:
        yield f"it allows {evidence.available:.2g} processors, and they are used up"
    if evidence.limit in _CAUTIONS:
        yield _CAUTIONS[evidence.limit]
    if evidence.refuted:
        yield "not " + ", not ".join(
            f"{_LIMITS[one.name].format(places='several')}: "
            f"{_REFUTED[one.because].format(value=one.value)}"
            for one in evidence.refuted
        )


def _limit(evidence: ServiceEvidence) -> str:
    """Return the limit with its places, as far as the traces tell it from others."""
    if evidence.limit == "disk" and [count for _, count in evidence.left] == [1]:
        return f"{_LIMITS['disk']} that one operation at a time uses, as under a lock"
    places = " or ".join(str(count) for _, count in evidence.left)
    text = _LIMITS[evidence.limit].format(places=places)
    is_accepted = any(one.because == "accepted" for one in evidence.refuted)
    return text.replace(", or a limit of connections", "") if is_accepted else text


def _left(evidence: ServiceEvidence) -> str:
    """Return what may limit, and the run that would decide."""
    if not evidence.left:
        return ": nothing that was observed is full"
    names = [_LIMITS[name].format(places=f"up to {count}") for name, count in evidence.left]
    left = {name for name, _ in evidence.left}
    decides = next((text for name, text in _DECIDES.items() if name in left), _DECIDES["pool"])
    if "processors" in left and evidence.neighbours is None:
        decides = "a burst with twice the clients decides: a lock fills no processor further"
    return f": {' or '.join(names)}; {decides}"
