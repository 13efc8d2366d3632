"""The load on a modelled device: the same streams of requests as on a measured target.

Offsets, lengths, kinds and due times come from the mechanism ``storage.requests``, which gives the
requests that the storage engine would carry out with the same seed. A closed stream is a number of
jobs equal to its depth, each of which takes the next request when its last one is done. A request
of an open stream arrives when it is due, and waits if the stream has reached its limit of
outstanding requests.

The classes are those of a measured run: reads and writes, or streams if they have names.

Not modelled: requests that move no data (syncs and trims of traces).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Parameter, Value
from headroom.simulation import (
    Attribute,
    ComputedArrivals,
    Model,
    Pool,
    Program,
    computed_arrivals,
    computed_draw,
)
from headroom.simulation.language.expression import Operand
from headroom.simulation.language.mechanisms import Mechanism
from headroom.systems.storage.blocks.job import classes_of
from headroom.systems.storage.devices.models.trace_load import described, opened
from headroom.systems.storage.workloads.workload_checks import check_workload
from headroom.systems.storage.workloads.workload_parameters import (
    WORKLOAD,
    workload_parameters,
)
from headroom.systems.storage.workloads.workload_table import workload_table

MODELLED = ("micro", "spc1_like", "spc2_like", "trace")
"""Workloads that models of devices take."""
_LEFT_OUT = frozenset({"seconds", "bytes", "sync", "sync_every", "trim_share"})
"""Parameters of a measured run that mean nothing here."""
DEFAULT_REQUESTS = 20_000
READ, WRITE = "read", "write"
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
SPC1_READ_SHARE = 0.394
"""Share of reads in an SPC-1-like load."""
REQUESTS_PER_BSU = 50.0
"""Requests per second of a business scaling unit."""
QUERY_READ_SHARE = 0.99
"""Share of reads in a query of an SPC-2-like load."""
_VIDEO_DEPTH, _VIDEO_BLOCK_BYTES = 8, 256 * 1024
_MOST_WEIGHT = 1_000


@dataclass(frozen=True, slots=True)
class Request:
    """The attributes of a job: the request to carry out."""

    offset: Attribute
    length: Attribute
    is_write: Attribute

    @classmethod
    def of(cls, model: Model) -> "Request":
        """Give the jobs of `model` the attributes of a request."""
        names = ("offset", "length", "is write")
        return cls(*(model.attribute(name) for name in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Facts about a workload known before it runs.

    Parameters
    ----------
    streams
        Names of its streams.
    depth
        Requests that a stream may have outstanding; None for no limit.
    rates
        Requests of each stream in a millisecond if they have due times, else None; an unknown rate
        is None.
    read_share
        Share of reads; None if unknown.
    requests
        How many there are at most; None for no end.
    """

    streams: tuple[str, ...]
    depth: int | None
    rates: tuple[float | None, ...] | None
    read_share: float | None
    requests: int | None = None

    @property
    def kinds(self) -> tuple[tuple[str, float | None], ...]:
        """Kinds of requests that there can be, and the share of each."""
        share = self.read_share
        if share is None:
            return ((READ, None), (WRITE, None))
        shares = ((READ, share), (WRITE, 1.0 - share))
        return tuple((name, part) for name, part in shares if part > 0)


def load_parameters() -> tuple[Parameter, ...]:
    """Return the parameters of the load on a modelled device.

    Examples
    --------
    >>> [one.name for one in load_parameters()][:4]
    ['workload', 'block_bytes', 'read_share', 'pattern']
    """
    kind = replace(WORKLOAD, choices=MODELLED)
    own = [
        parameter for parameter in workload_parameters(*MODELLED) if parameter.name not in _LEFT_OUT
    ]
    return (kind, *(_counted(parameter) for parameter in own))


def _counted(parameter: Parameter) -> Parameter:
    """Return a parameter; a simulated run ends by its number of requests, which is given."""
    if parameter.name != "requests":
        return parameter
    return replace(
        parameter, default=DEFAULT_REQUESTS, low=1, high=1 << 40, description="Requests of the run"
    )


def add_load(
    model: Model, config: Mapping[str, Value], carry: Program, request: Request, target_bytes: int
) -> None:
    """Let the streams of a workload request what `carry` executes.

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
        The workload does not fit the device, or a parameter is not one of the workload.
    """
    declared = workload_parameters(*MODELLED)
    left_out = {
        parameter.name: parameter.default for parameter in declared if parameter.name in _LEFT_OUT
    }
    check_workload({**left_out, **config})  # type: ignore[dict-item]  # each has a default
    table = workload_table(config, target_bytes=target_bytes)
    if table["kind"] == "trace":
        table |= opened(config)
    shape = _SHAPES[str(table["kind"])](table, target_bytes)
    is_by_kind = classes_of(config) == "kind"
    source = model.mechanism(
        "requests",
        kind="storage.requests",
        parameters={
            "workload": table,
            "target_bytes": target_bytes,
            "moves_data": True,
            "by_kind": is_by_kind and shape.rates is not None,
        },
    )
    _Load(model, source, carry, request, shape).add(is_by_kind=is_by_kind)
    asked = int(config["requests"])
    model.stop(completions=asked if shape.requests is None else min(asked, shape.requests))


def _shape_of_micro(table: Mapping[str, Any], _: int) -> Shape:
    streams, rate = int(table["streams"]), table.get("rate_per_s")
    return Shape(
        streams=_numbered(streams),
        depth=int(table["depth"]) if rate is None else None,
        rates=None if rate is None else (1e-3 * float(rate),) * streams,
        read_share=float(table["read_share"]),
    )


def _shape_of_spc1(table: Mapping[str, Any], _: int) -> Shape:
    rate = 1e-3 * REQUESTS_PER_BSU * float(table["bsus"]) * float(table["load_share"])
    if rate <= 0:
        raise StudyError("an SPC-1-like load of no requests", cure="give bsus above 0")
    rates = tuple(rate * share for share in SPC1_STREAMS.values())
    return Shape(streams=tuple(SPC1_STREAMS), depth=None, rates=rates, read_share=SPC1_READ_SHARE)


def _shape_of_spc2(table: Mapping[str, Any], _: int) -> Shape:
    streams = int(table["streams"])
    names = _numbered(streams)
    if table["part"] == "vod":
        rate = 1e-3 * float(table["rate_bytes_per_s"]) / _VIDEO_BLOCK_BYTES
        return Shape(streams=names, depth=_VIDEO_DEPTH, rates=(rate,) * streams, read_share=1.0)
    shares = {"read_only": 1.0, "read_write": 0.5, "write_only": 0.0}
    share = shares[str(table["phase"])] if table["part"] == "lfp" else QUERY_READ_SHARE
    return Shape(streams=names, depth=int(table["depth"]), rates=None, read_share=share)


def _shape_of_trace(table: Mapping[str, Any], target_bytes: int) -> Shape:
    facts = described(table, target_bytes)
    is_timed = table["timing"] == "as_timed"
    return Shape(
        streams=("trace",),
        depth=None if is_timed else int(table["depth"]),
        rates=(None,) if is_timed else None,
        read_share=facts.read_share,
        requests=facts.requests,
    )


_SHAPES: Mapping[str, Callable[[Mapping[str, Any], int], Shape]] = {
    "micro": _shape_of_micro,
    "spc1_like": _shape_of_spc1,
    "spc2_like": _shape_of_spc2,
    "trace": _shape_of_trace,
}


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"stream-{number + 1}" for number in range(count))


class _Load:
    """Makes the classes of a load."""

    def __init__(
        self, model: Model, source: Mechanism, carry: Program, request: Request, shape: Shape
    ) -> None:
        self._model, self._source, self._carry = model, source, carry
        self._request, self._shape = request, shape
        self._fresh = model.attribute("is there")

    def add(self, *, is_by_kind: bool) -> None:
        """Add the classes: reads and writes, or the streams."""
        shape = self._shape
        if shape.rates is not None:
            self._add_open(is_by_kind=is_by_kind)
        elif is_by_kind:
            self._add_closed_by_kind()
        else:
            for stream, name in enumerate(shape.streams):
                self._add_mix(name, {name: 1}, stream, population=shape.depth or 1, index=0)

    def _add_open(self, *, is_by_kind: bool) -> None:
        """Add open classes: source 0 of a kind gives reads, 1 writes; else those of its streams."""
        shape = self._shape
        rates = shape.rates or ()
        if is_by_kind:
            total = None if None in rates else sum(per_s or 0.0 for per_s in rates)
            classes = [
                (name, (READ, WRITE).index(name), total and share and total * share)
                for name, share in shape.kinds
            ]
        else:
            classes = list(zip(shape.streams, range(len(rates)), rates, strict=True))
        shared = None if is_by_kind and len(shape.streams) > 1 else self._places(shape.streams[0])
        for name, place, rate in classes:
            places = shared if is_by_kind else self._places(name)
            self._model.open_class(
                name, self._walk(name, places), interarrival=self._arrivals(place, rate)
            )

    def _places(self, name: str) -> Pool | None:
        """Return the places of a stream with a limit on its outstanding requests."""
        depth = self._shape.depth
        if depth is None:
            return None
        held = f"places of {name}"
        return self._model.pools.get(held) or self._model.pool(held, tokens=depth)

    def _arrivals(self, stream: int, rate: float | None) -> ComputedArrivals:
        """Return the arrivals of the requests of a stream when they are due."""
        return computed_arrivals(
            self._source.call("wait", stream),
            sets=self._taken(stream),
            goes_on=self._fresh == 1,
            mean_rate=rate,
        )

    def _add_closed_by_kind(self) -> None:
        """Add reads and writes of closed streams: a job computes whether its next one is a read."""
        shape = self._shape
        kinds = shape.kinds
        population = (shape.depth or 1) * len(shape.streams)
        stream = self._model.attribute("stream", initial=-1)
        index: Operand = self._request.is_write if len(kinds) > 1 else 0
        self._add_mix("requests", _weights(kinds), stream, population=population, index=index)

    def _add_mix(
        self,
        name: str,
        weights: Mapping[str, int],
        stream: Attribute | int,
        *,
        population: int,
        index: Operand,
    ) -> None:
        sets: dict[Attribute, Operand] = {}
        if isinstance(stream, Attribute):
            sets[stream] = self._source.call("seat", stream)
        sets |= self._taken(stream)
        members = {member: (self._walk(member, None), weight) for member, weight in weights.items()}
        draw = computed_draw(index, sets=sets)
        self._model.closed_mix(name, members, population=population, start="ready", draw=draw)

    def _taken(self, stream: Operand) -> dict[Attribute, Operand]:
        """Return a job's attributes of the next request of a stream; nothing if it has ended."""
        source, request, fresh = self._source, self._request, self._fresh
        return {
            fresh: source.call("next", stream),
            request.offset: source.call("offset", stream),
            request.length: source.call("length", stream),
            request.is_write: source.call("is_write", stream),
        }

    def _walk(self, name: str, places: Pool | None) -> Program:
        """Return the walk of a class: have the request carried out, with a place if one is due."""
        walk = self._model.program(f"{name}: walk")
        if self._shape.requests is not None and self._shape.rates is None:
            with walk.branch() as end:
                with end.when(self._fresh == 1):
                    walk.call(self._carry)
                with end.otherwise():
                    # The trace is over: the job waits until the others are done.
                    walk.delay(_STANDING_BY_MS)
            return walk
        if places is None:
            walk.call(self._carry)
            return walk
        with walk.holding(places):
            walk.call(self._carry)
        return walk


_STANDING_BY_MS = 1e9


def _weights(kinds: tuple[tuple[str, float | None], ...]) -> dict[str, int]:
    """Return whole weights with the ratio of some shares.

    Examples
    --------
    >>> _weights((("read", 0.75), ("write", 0.25))), _weights((("read", None), ("write", None)))
    ({'read': 3, 'write': 1}, {'read': 1, 'write': 1})
    """
    read = kinds[0][1]
    if len(kinds) == 1 or read is None:
        return {name: 1 for name, _ in kinds}
    share = Fraction(read).limit_denominator(_MOST_WEIGHT)
    return {
        kinds[0][0]: max(share.numerator, 1),
        kinds[1][0]: max(share.denominator - share.numerator, 1),
    }
