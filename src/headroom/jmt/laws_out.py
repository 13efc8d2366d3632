"""Write the laws of Headroom as JMT distributions: times in seconds, rates in 1/s."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from headroom.simulation import (
    ArrivalProcess,
    ComputedArrivals,
    Distribution,
    SimulationError,
)

Matrix: TypeAlias = list[list[float]]
Given: TypeAlias = Mapping[str, Any]
Chain: TypeAlias = list[tuple[float, float]]
"""Rate of each phase, and the probability that the next one follows."""


@dataclass(frozen=True, slots=True)
class JmtLaw:
    """A distribution of JMT: its class, its name on the screen, and its parameters in order."""

    java_class: str
    name: str
    parameter_class: str
    parameters: tuple[tuple[str, float | int | Matrix], ...]


def jmt_law(law: Distribution, factor: float, location: str) -> JmtLaw:
    """Return `law` times `factor` as a distribution of JMT.

    Raises
    ------
    SimulationError
        JMT has no such distribution.
    """
    parameters: dict[str, Any] = dict(law.parameters)
    if law.kind == "scaled":
        return jmt_law(parameters["law"], factor * parameters["factor"], location)
    if law.kind in _PLAIN:
        java_class, name, convert = _PLAIN[law.kind]
        return _law(java_class, name, **convert(law, parameters, factor))
    return _phases(law, factor, location)


def _lognormal(law: Distribution, _given: Given, factor: float) -> dict[str, float]:
    variance = math.log1p(law.c2)
    return {"mu": math.log(law.mean * factor) - variance / 2, "sigma": math.sqrt(variance)}


def _uniform(_law: Distribution, given: Given, factor: float) -> dict[str, float]:
    # JMT asks for bounds that differ.
    high = max(given["high"], math.nextafter(given["low"], math.inf))
    return {"min": given["low"] * factor, "max": high * factor}


def _hyperexponential(law: Distribution, _given: Given, factor: float) -> dict[str, float]:
    """Two branches with balanced means, as the kernel draws them."""
    share = (1 + math.sqrt((law.c2 - 1) / (law.c2 + 1))) / 2
    mean = law.mean * factor
    return {"p": share, "lambda1": 2 * share / mean, "lambda2": 2 * (1 - share) / mean}


# Kind -> the class of JMT, its name, and its parameters.
_PLAIN: Mapping[str, tuple[str, str, Callable[[Distribution, Given, float], dict[str, float]]]] = {
    "constant": ("DeterministicDistr", "Deterministic",
                 lambda law, _given, factor: {"t": law.mean * factor}),
    "uniform": ("Uniform", "Uniform", _uniform),
    "exponential": ("Exponential", "Exponential",
                    lambda law, _given, factor: {"lambda": 1 / (law.mean * factor)}),
    "erlang": ("Erlang", "Erlang", lambda law, given, factor: {
        "alpha": given["stages"] / (law.mean * factor), "r": given["stages"]}),
    "gamma": ("GammaDistr", "Gamma", lambda law, _given, factor: {
        "alpha": 1 / law.c2, "beta": law.mean * factor * law.c2}),
    "hyperexponential": ("HyperExp", "Hyperexponential", _hyperexponential),
    "lognormal": ("Lognormal", "Lognormal", _lognormal),
    "normal": ("Normal", "Normal", lambda _law, given, factor: {
        "mean": given["mean"] * factor, "standardDeviation": given["deviation"] * factor}),
    "pareto": ("Pareto", "Pareto", lambda _law, given, factor: {
        "alpha": given["shape"], "k": given["low"] * factor}),
    "weibull": ("Weibull", "Weibull", lambda _law, given, factor: {
        "alpha": given["scale"] * factor, "r": given["shape"]}),
}  # fmt: skip


def jmt_arrivals(
    process: ArrivalProcess | ComputedArrivals, factor: float, location: str
) -> JmtLaw:
    """Return an arrival process whose time unit is `factor` seconds: an MMPP of two states."""
    parameters: dict[str, Any] = dict(process.parameters)
    if process.kind != "mmpp" or len(parameters["rates"]) != 2:  # noqa: PLR2004 - two states
        raise SimulationError(
            f"{location}: JMT has no {process}",
            cure="write independent interarrival times, or an mmpp of two states",
        )
    (first, second), switches = parameters["rates"], parameters["switch_rates"]
    rates = {
        "lambda0": first,
        "lambda1": second,
        "sigma0": switches[0][1],
        "sigma1": switches[1][0],
    }
    if min(rates.values()) <= 0:
        raise SimulationError(
            f"{location}: an mmpp of JMT has a rate above 0 in both states",
            cure="give the silent state a small rate",
        )
    scaled = {name: rate / factor for name, rate in rates.items()}
    return _law("MMPP2Distr", "Burst (MMPP2)", **scaled)


def _law(java_class: str, name: str, **parameters: float | int | Matrix) -> JmtLaw:
    pair = java_class.removesuffix("Distr") + "Par"
    if java_class in {"DeterministicDistr", "GammaDistr"}:
        pair = java_class + "Par"
    return JmtLaw(java_class, name, pair, tuple(parameters.items()))


def _phases(law: Distribution, factor: float, location: str) -> JmtLaw:
    """Return a law made of exponential phases."""
    parameters: dict[str, Any] = dict(law.parameters)
    laws, weights = [law], [1.0]
    if law.kind == "mixture":
        total = math.fsum(parameters["weights"])
        kept = [(one, weight / total) for one, weight in
                zip(parameters["laws"], parameters["weights"], strict=True)
                if weight > 0]  # fmt: skip
        laws, weights = [one for one, _ in kept], [weight for _, weight in kept]
    chains = [_chain(one, factor) for one in laws]
    found = [chain for chain in chains if chain]
    if len(found) < len(chains):
        raise SimulationError(
            f"{location}: JMT has no {law}",
            cure="choose exponential, deterministic, erlang, gamma, hyperexponential, lognormal, "
            "normal, pareto, uniform, weibull, coxian, or mixtures and sums of exponentials",
        )
    lengths = [len(chain) for chain in found]
    if lengths == [1, 1]:
        rates = {"lambda1": found[0][0][0], "lambda2": found[1][0][0]}
        return _law("HyperExp", "Hyperexponential", p=weights[0], **rates)
    if lengths == [2]:
        (first, onward), (second, _) = found[0]
        rates = {"lambda0": first, "lambda1": second}
        return _law("CoxianDistr", "Coxian", **rates, phi0=1 - onward)
    return _phase_type(found, weights)


def _chain(law: Distribution, factor: float) -> Chain:
    """Return the phases of a law that passes through them in order; none where it has no such."""
    parameters: dict[str, Any] = dict(law.parameters)
    match law.kind:
        case "scaled":
            return _chain(parameters["law"], factor * parameters["factor"])
        case "exponential":
            return [(1 / (law.mean * factor), 0.0)]
        case "erlang":
            stages = parameters["stages"]
            rate = stages / (law.mean * factor)
            return [(rate, 1.0)] * (stages - 1) + [(rate, 0.0)]
        case "coxian":
            onward = (*parameters["onward"], 0.0)
            return [(1 / (mean * factor), share)
                    for mean, share in zip(parameters["means"], onward, strict=True)]  # fmt: skip
        case "sum":
            return _sum(parameters["laws"], factor)
    return []


def _sum(laws: Sequence[Distribution], factor: float) -> Chain:
    found: Chain = []
    for law in laws:
        part = _chain(law, factor)
        if not part or any(share < 1 for _, share in part[:-1]):
            return []
        found = [*((rate, 1.0) for rate, _ in found), *part]
    return found


def _phase_type(chains: Sequence[Chain], weights: Sequence[float]) -> JmtLaw:
    """Return chains side by side, each entered with its weight, as one phase-type law."""
    count = sum(len(chain) for chain in chains)
    alpha, rates = [0.0] * count, [[0.0] * count for _ in range(count)]
    place = 0
    for chain, weight in zip(chains, weights, strict=True):
        alpha[place] = weight
        for rate, share in chain:
            rates[place][place] = -rate
            if share > 0:
                rates[place][place + 1] = rate * share
            place += 1
    return JmtLaw(
        "PhaseTypeDistr", "Phase-Type", "PhaseTypePar", (("alpha", [alpha]), ("T", rates))
    )
