"""Files of JMT, JMVA and lqns as model functions: a file, and the parameters that a study may vary.

Invariant: a study can vary only what the file states itself: populations, arrival rates, servers,
tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, Value
from headroom.jmt import SUFFIXES, read_jmva, read_jsimg
from headroom.lqn import SUFFIXES as LAYERED
from headroom.lqn import read_lqn
from headroom.simulation import Model
from headroom.simulation.language.stations import COUNTING
from headroom.simulation.laws.arrivals import mmpp

READERS: Mapping[str, Callable[[Path], Model]] = {
    ".jmva": read_jmva,
    **dict.fromkeys(SUFFIXES, read_jsimg),
    **dict.fromkeys(LAYERED, read_lqn),
}
"""How the name of a file ends -> what reads it."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that was read from a file; calling it gives the model with other numbers.

    Parameters
    ----------
    path
        The file.
    model
        Its content.
    """

    path: Path
    model: Model

    @property
    def place(self) -> str:
        """The location of the model, for messages."""
        return f"{self.path}:1"

    def __call__(self, **config: Value) -> Model:
        """Return the model with the values of `config`; missing values stay as in the file."""
        model = self.model.copy()
        for parameter in parameters_of_file(self):
            value = config.get(parameter.name, parameter.default)
            if value is not None and value != parameter.default:
                model = _with(model, parameter.name, value)
        return model


def is_model_file(name: str) -> bool:
    """Return whether a name is that of a file of another tool.

    Examples
    --------
    >>> is_model_file("shop.jsimg"), is_model_file("shop.lqnx"), is_model_file("shop.py")
    (True, True, False)
    """
    return Path(name).suffix.lower() in READERS


def model_file(path: Path) -> ModelFile:
    """Return the model of a file of another tool.

    Raises
    ------
    StudyError
        The file is missing.
    SimulationError
        The file is wrong, or has something without a counterpart; with its line.
    """
    if not path.is_file():
        near = sorted(file.name for file in path.parent.glob("*") if is_model_file(file.name))
        cure = suggestion(path.name, near) if near else "write it, or correct the name"
        raise StudyError(f"model file {path} not found", cure=cure)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return ModelFile(shown, READERS[shown.suffix.lower()](shown))


def parameters_of_file(function: ModelFile) -> tuple[Parameter, ...]:
    """Return the parameters to vary: populations, arrival rates, servers, tokens of pools."""
    model, source = function.model, f"assumed: {function.path.name}"
    parameters = []
    for name, job in model.classes.items():
        if job.population is not None:
            parameters.append(_count(f"class.{name}.population", job.population, source, "jobs"))
        else:
            parameters.append(Parameter(
                name=f"class.{name}.arrival_rate", type="float", unit="1/s", source=source,
                default=job.arrival_rate, low=1e-12, description="arrivals of the class",
            ))  # fmt: skip
    for name, station in model.stations.items():
        if station.discipline != "infinite":
            parameters.append(_count(f"station.{name}.servers", station.servers, source, "servers"))
    for name, pool in model.pools.items():
        if pool.tokens < COUNTING:
            parameters.append(_count(f"pool.{name}.tokens", pool.tokens, source, "tokens"))
    return tuple(parameters)


def _count(name: str, default: int, source: str, description: str) -> Parameter:
    return Parameter(
        name=name, type="int", unit="1", source=source, default=default, low=1,
        description=description,
    )  # fmt: skip


def _with(model: Model, parameter: str, value: Value) -> Model:
    name, aspect = parameter.split(".", 1)[1].rsplit(".", 1)
    return _CHANGES[aspect](model, name, value)


def _with_population(model: Model, name: str, population: int) -> Model:
    job = model.classes[name]
    placed = sum(jobs for _, jobs in job.placed)
    if placed > population:
        raise StudyError(
            f"{job.location}: class {name!r} starts with {placed} jobs at stations, but is given "
            f"{population}",
            cure=f"give it {placed} or more, or remove the preload from the file",
        )
    model.classes[name] = replace(job, population=population)
    return model


def _with_arrival_rate(model: Model, name: str, rate: float) -> Model:
    """Scale the times between arrivals, keeping their shape."""
    job = model.classes[name]
    factor = rate / job.arrival_rate
    if job.law is not None:
        model.classes[name] = replace(job, law=job.law * (1 / factor))
    elif job.process is not None:
        parts: dict[str, Any] = dict(job.process.parameters)
        process = mmpp(
            rates=[per_s * factor for per_s in parts["rates"]],
            switch_rates=[[per_s * factor for per_s in row] for row in parts["switch_rates"]],
        )
        model.classes[name] = replace(job, process=process)
    return model


_CHANGES: Mapping[str, Callable[[Model, str, Any], Model]] = {
    "population": _with_population,
    "arrival_rate": _with_arrival_rate,
    "servers": Model.with_servers,
    "tokens": Model.with_tokens,
}
