"""Read the distributions of JMT: service and arrival strategies as laws of Headroom.

JMT has no unit of time; its numbers are read as seconds. Parameters follow JMT's conventions: rates
instead of Headroom's means, shape and scale for the gamma law, the mean and deviation of the
logarithm for the lognormal law, and for Coxian laws the probability to stop after the first phase.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from headroom.errors import HeadroomError
from headroom.input_file import read_file
from headroom.jmt.place import standing_at
from headroom.jmt.xml_tree import Element
from headroom.simulation import (
    ArrivalProcess,
    Distribution,
    constant,
    coxian,
    erlang,
    exponential,
    gamma,
    law_from_data,
    lognormal,
    mixture,
    mmpp,
    normal,
    pareto,
    replay,
    uniform,
    weibull,
)

Numbers: TypeAlias = Mapping[str, float]
LARGEST_TRACE_BYTES = 64 * 1024 * 1024
_TOLERANCE = 1e-6
_ZERO = constant(0)


def number(element: Element) -> float:
    """Return the number that an element gives in its <value>."""
    text = element.value
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise element.place.error(
            f"{element.name or element.tag} must be a finite number, not {text!r}",
            cure="write a number",
        )
    return found


def whole(element: Element) -> int:
    """Return the whole number that an element gives in its <value>."""
    found = number(element)
    if not found.is_integer():
        raise element.place.error(
            f"{element.name} must be a whole number, not {element.value!r}",
            cure="write a whole number",
        )
    return int(found)


def in_units(law: Distribution, units: float) -> Distribution:
    """Return a law of seconds as one of a unit of which a second has so many.

    Parameters are scaled, so that the law stays of its kind.
    """
    if units == 1:
        return law
    given: dict[str, Any] = dict(law.parameters)
    match law.kind:
        case "mixture":
            return mixture([in_units(one, units) for one in given["laws"]], given["weights"])
        case "coxian":
            return coxian([mean * units for mean in given["means"]], given["onward"])
        case "replay":
            return replay([value * units for value in given["values"]], given["at_end"])
    scaled = {name: value * units if name in _TIMES else value for name, value in given.items()}
    return law_from_data({"kind": law.kind, **scaled})


# Parameters of laws that are times, where all others have no unit.
_TIMES = frozenset({"value", "mean", "low", "high", "scale", "deviation"})


def service_law(strategy: Element, what: str) -> Distribution:
    """Return the law of a service strategy; `what` says in messages whose it is."""
    match strategy.java_class:
        case "ZeroServiceTimeStrategy":
            return _ZERO
        case "ServiceTimeStrategy":
            found = _law(strategy, what)
        case "DisabledServiceTimeStrategy":
            raise strategy.place.error(
                f"{what} is disabled, but jobs come here",
                cure="route the class past this station, or give it a service time",
            )
        case other:
            raise strategy.place.error(
                f"{what} is a {other}, which has no counterpart",
                cure="give the class one service time distribution, independent of the load",
            )
    if isinstance(found, ArrivalProcess):
        raise strategy.place.error(
            f"{what} comes in bursts; only arrivals can",
            cure="give the class a service time distribution of independent draws",
        )
    return found


def arrival_law(strategy: Element, what: str) -> Distribution | ArrivalProcess:
    """Return the time between arrivals, or the process, of a source."""
    if strategy.java_class != "ServiceTimeStrategy":
        raise strategy.place.error(
            f"{what} is a {strategy.java_class}, which has no counterpart",
            cure="give the class an interarrival time distribution",
        )
    return _law(strategy, what)


def arrivals_in_units(process: ArrivalProcess, units: float) -> ArrivalProcess:
    """Return arrivals at rates per second as arrivals per unit."""
    given: dict[str, Any] = dict(process.parameters)
    return mmpp(
        rates=[rate / units for rate in given["rates"]],
        switch_rates=[[rate / units for rate in row] for row in given["switch_rates"]],
    )


def _law(strategy: Element, what: str) -> Distribution | ArrivalProcess:
    parts = list(strategy.all("subParameter"))
    if not parts:
        raise strategy.place.error(
            f"{what} is not given", cure="choose a distribution in JMT and save the model again"
        )
    kind = parts[0].java_class
    parameters = parts[1].children if len(parts) > 1 else []
    known = {inner.name: inner for inner in parameters}
    with standing_at(parts[0].place):
        if kind in _MATRIX_LAWS:
            return _MATRIX_LAWS[kind](parts[0], known)
        if kind == "Replayer":
            return _replayed(parts[0], known)
        build = _LAWS.get(kind)
        if build is None:
            raise parts[0].place.error(
                f"{what} is the law {parts[0].name!r} ({kind}), which has no counterpart",
                cure=f"choose one of {', '.join(sorted([*_LAWS, *_MATRIX_LAWS, 'Replayer']))}",
            )
        return build(_Read(parts[0], {name: number(inner) for name, inner in known.items()}))


class _Read(dict[str, float]):
    """Parameters of a law; one that is missing is refused with the law's line."""

    def __init__(self, law: Element, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self._law = law

    def __missing__(self, name: str) -> float:
        raise self._law.place.error(
            f"the law {self._law.name!r} has no parameter {name}",
            cure="save the model again in JMT",
        )

    def rate(self, name: str) -> float:
        """Return a rate, which must be above 0."""
        if self[name] <= 0:
            raise self._law.place.error(
                f"{name} of the law {self._law.name!r} is {self[name]:g}",
                cure="give a rate above 0",
            )
        return self[name]


def _gamma(read: _Read) -> Distribution:
    # The second parameter, the scale, was called lambda before JMT 1.0.2.
    scale = read["beta"] if "beta" in read else read["lambda"]
    return gamma(read["alpha"] * scale, 1 / read.rate("alpha"))


def _lognormal(read: _Read) -> Distribution:
    mu, variance = read["mu"], read["sigma"] ** 2
    if abs(mu) + variance > 700:  # noqa: PLR2004 - beyond, the exponential leaves 64 bits
        return lognormal(math.inf, variance)
    return lognormal(math.exp(mu + variance / 2), math.expm1(variance))


def _hyperexponential(read: _Read) -> Distribution:
    laws = [exponential(1 / read.rate("lambda1")), exponential(1 / read.rate("lambda2"))]
    return mixture(laws, [read["p"], 1 - read["p"]])


def _erlang(read: _Read) -> Distribution:
    stages = read["r"]
    return erlang(stages / read.rate("alpha"), int(stages) if stages.is_integer() else 0)


def _mmpp2(read: _Read) -> ArrivalProcess:
    return mmpp(
        rates=[read["lambda0"], read["lambda1"]],
        switch_rates=[[0, read["sigma0"]], [read["sigma1"], 0]],
    )


_LAWS: Mapping[str, Callable[[_Read], Distribution | ArrivalProcess]] = {
    "Exponential": lambda read: exponential(1 / read.rate("lambda")),
    "DeterministicDistr": lambda read: constant(read["t"]),
    "Uniform": lambda read: uniform(read["min"], read["max"]),
    "Erlang": _erlang,
    "GammaDistr": _gamma,
    "HyperExp": _hyperexponential,
    "Lognormal": _lognormal,
    "Normal": lambda read: normal(read["mean"], read["standardDeviation"]),
    "Pareto": lambda read: pareto(read["k"], read["alpha"]),
    "Weibull": lambda read: weibull(read["alpha"], read["r"]),
    "CoxianDistr": lambda read: coxian(
        [1 / read.rate("lambda0"), 1 / read.rate("lambda1")], [1 - read["phi0"]]
    ),
    "MMPP2Distr": _mmpp2,
}


def _replayed(law: Element, known: Mapping[str, Element]) -> Distribution:
    name = known["fileName"].value if "fileName" in known else ""
    path = Path(law.place.file).parent / name
    try:
        words = read_file(path, most_bytes=LARGEST_TRACE_BYTES).decode(errors="replace").split()
    except HeadroomError as error:
        raise law.place.error(
            f"the replayed file {name!r}: {error.message}",
            cure="put it into the model's folder, or correct its name",
        ) from error
    try:
        return replay([float(word) for word in words])
    except ValueError as error:
        raise law.place.error(
            f"the replayed file {name!r} contains words that are not numbers",
            cure="write only numbers, separated by spaces",
        ) from error


def _matrix(law: Element, known: Mapping[str, Element], name: str) -> list[list[float]]:
    if name not in known:
        raise law.place.error(
            f"the law {law.name!r} has no parameter {name}", cure="save the model again in JMT"
        )
    rows = [[number(cell) for cell in row.all("subParameter")] for row in known[name].children]
    if not rows or any(len(row) != len(rows[0]) for row in rows) or not rows[0]:
        raise law.place.error(
            f"{name} of the law {law.name!r} is not a matrix", cure="give all rows the same length"
        )
    return rows


def _phase_type(law: Element, known: Mapping[str, Element]) -> Distribution:
    """Return a phase-type law whose phases follow in order: a mixture of Coxian laws."""
    (start,), rates = _matrix(law, known, "alpha")[:1], _matrix(law, known, "T")
    count = len(start)
    if len(rates) != count or len(rates[0]) != count or count == 0:
        raise law.place.error(
            "alpha and T of a phase-type distribution differ in size",
            cure="give T as many rows as alpha",
        )
    if any(rates[row][row] >= 0 for row in range(count)):
        raise law.place.error(
            "a phase of a phase-type law never ends", cure="make the diagonal of T negative"
        )
    is_in_order = all(
        rates[row][column] == 0
        for row in range(count)
        for column in range(count)
        if column not in {row, row + 1}
    )
    if not is_in_order:
        raise law.place.error(
            "phases of a phase-type law jump over others or back, which has no counterpart",
            cure="order them so that each leads to the next or out, or choose a Coxian law",
        )
    laws = [(weight, _from_phase(rates, row)) for row, weight in enumerate(start) if weight > 0]
    if min(start) < 0 or abs(math.fsum(start) - 1) > _TOLERANCE:
        raise law.place.error(
            f"alpha of a phase-type law sums to {math.fsum(start):g}, not 1", cure="correct alpha"
        )
    if len(laws) == 1:
        return laws[0][1]
    return mixture([one for _, one in laws], [weight for weight, _ in laws])


def _from_phase(rates: Sequence[Sequence[float]], first: int) -> Distribution:
    """Return the law of the phases from `first` on."""
    means, onward = [], []
    for row in range(first, len(rates)):
        means.append(-1 / rates[row][row])
        onward.append(rates[row][row + 1] / -rates[row][row] if row + 1 < len(rates) else 0.0)
        if onward[-1] == 0:
            break
    if len(means) == 1:
        return exponential(means[0])
    return coxian(means, onward[:-1])


def _map(law: Element, known: Mapping[str, Element]) -> ArrivalProcess:
    """Return a Markovian arrival process whose arrivals change no state: an MMPP."""
    hidden, seen = _matrix(law, known, "D0"), _matrix(law, known, "D1")
    is_square = len(hidden) == len(seen) == len(hidden[0]) == len(seen[0])
    if not is_square or any(
        rate != 0 for row, line in enumerate(seen) for column, rate in enumerate(line)
        if row != column
    ):  # fmt: skip
        raise law.place.error(
            "a MAP whose arrivals change its state has no counterpart",
            cure="make D1 diagonal (an MMPP), or choose MMPP2",
        )
    switches = [[0 if row == column else rate for column, rate in enumerate(line)]
                for row, line in enumerate(hidden)]  # fmt: skip
    return mmpp(rates=[seen[row][row] for row in range(len(seen))], switch_rates=switches)


_MATRIX_LAWS: Mapping[
    str, Callable[[Element, Mapping[str, Element]], Distribution | ArrivalProcess]
] = {"PhaseTypeDistr": _phase_type, "MAPDistr": _map}
