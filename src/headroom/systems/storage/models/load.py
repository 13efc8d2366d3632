"""The load on a modelled device: the streams of requests that a measured target gets.

Offsets, lengths and kinds come from the mechanism ``storage.requests``, which gives what the
measuring engine would carry out with the same seed. A closed stream is a population of as many
jobs as its depth; the requests of an open one arrive by their law at their rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.system import Parameter, Value
from headroom.simulation import Attribute, Model, Program, constant, exponential
from headroom.simulation.mechanisms import Mechanism
from headroom.systems.storage.workload_parameters import WORKLOAD, workload_parameters
from headroom.systems.storage.workload_table import workload_table

MODELLED = ("micro", "spc1_like")
"""Workloads that models of devices take."""
_LEFT_OUT = frozenset({"seconds", "bytes", "classes", "sync", "sync_every", "trim_share"})
"""Parameters of a measured run that mean nothing here."""
DEFAULT_REQUESTS = 20_000
SPC1_STREAMS = {
    "asu1-1": 0.035,
    "asu1-2": 0.281,
    "asu1-3": 0.070,
    "asu1-4": 0.210,
    "asu2-1": 0.018,
    "asu2-2": 0.070,
    "asu2-3": 0.035,
    "asu3-1": 0.281,
}
"""Share of each stream of an SPC-1-like load, in the order of the source of requests."""
REQUESTS_PER_BSU = 50.0
"""Requests per second of a business scaling unit."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a job carries: the request that it wants carried out."""

    offset: Attribute
    length: Attribute
    is_write: Attribute

    @classmethod
    def of(cls, model: Model) -> "Request":
        """Give the jobs of `model` the attributes of a request."""
        names = ("offset", "length", "is write")
        return cls(*(model.attribute(name) for name in names))


def load_parameters() -> tuple[Parameter, ...]:
    """Return the parameters of the load on a modelled device.

    Examples
    --------
    >>> [one.name for one in load_parameters()][:4]
    ['workload', 'block_bytes', 'read_share', 'pattern']
    """
    kind = Parameter(
        name="workload",
        type="str",
        unit="",
        default="micro",
        choices=MODELLED,
        source=WORKLOAD.source,
        description=WORKLOAD.description,
    )
    own = [one for one in workload_parameters(*MODELLED) if one.name not in _LEFT_OUT]
    return (kind, *(_counted(one) for one in own))


def _counted(parameter: Parameter) -> Parameter:
    """Return a parameter; a simulated run ends by its number of requests, which is given."""
    if parameter.name != "requests":
        return parameter
    return Parameter(
        name="requests",
        type="int",
        unit="1",
        default=DEFAULT_REQUESTS,
        low=1,
        high=1 << 40,
        source="assumed",
        description="Requests of the run",
    )


def add_load(
    model: Model, config: Mapping[str, Value], carry: Program, request: Request, target_bytes: int
) -> None:
    """Let the streams of a workload ask for what `carry` carries out.

    Parameters
    ----------
    model
        The model.
    config
        Value of each of `load_parameters`.
    carry
        Program that carries out the request of its job.
    request
        Attributes of a request.
    target_bytes
        Size of the device (B).

    Raises
    ------
    StudyError
        The workload does not fit the device.
    """
    table = workload_table(config, target_bytes=target_bytes)
    source = model.mechanism(
        "requests",
        kind="storage.requests",
        parameters={"workload": table, "target_bytes": target_bytes},
    )
    add = _add_spc1 if table["kind"] == "spc1_like" else _add_micro
    add(model, table, _Walks(model, source, carry, request))
    model.stop(completions=int(config["requests"]))


@dataclass(frozen=True, slots=True)
class _Walks:
    """Makes the walk of a job that takes a stream's next request and has it carried out."""

    model: Model
    source: Mechanism
    carry: Program
    request: Request

    def of(self, stream: int, name: str) -> Program:
        walk, source, request = self.model.program(name), self.source, self.request
        fresh = self.model.attribute(f"{name}: is there")
        walk.set(fresh, source.call("next", stream))
        walk.set(request.offset, source.call("offset", stream))
        walk.set(request.length, source.call("length", stream))
        walk.set(request.is_write, source.call("is_write", stream))
        walk.call(self.carry)
        return walk


def _add_micro(model: Model, table: Mapping[str, Any], walks: _Walks) -> None:
    streams = int(table["streams"])
    for stream in range(streams):
        name = "requests" if streams == 1 else f"stream {stream + 1}"
        walk = walks.of(stream, name)
        if "rate_per_s" in table:
            gap = 1e3 / float(table["rate_per_s"])
            law = exponential(gap) if table["arrivals"] == "poisson" else constant(gap)
            model.open_class(name, walk, interarrival=law)
        else:
            model.closed_class(name, walk, population=int(table["depth"]), start="ready")


def _add_spc1(model: Model, table: Mapping[str, Any], walks: _Walks) -> None:
    rate = REQUESTS_PER_BSU * float(table["bsus"])
    if rate <= 0:
        raise StudyError("an SPC-1-like load of no requests", cure="give bsus above 0")
    for stream, (name, share) in enumerate(SPC1_STREAMS.items()):
        model.open_class(name, walks.of(stream, name), interarrival=exponential(1e3 / rate / share))
