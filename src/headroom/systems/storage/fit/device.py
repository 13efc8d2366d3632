"""The model `fitted_device`: a host, parallel units, and shared limits, with fitted numbers.

A request takes processor time of the host, waits for one of the device's units and is served there,
and passes a part that all units share: a limit on requests and on bytes per second, where part of
the time is taken once for all requests present. A request may have to wake up sleeping components,
which takes longer the longer the device was idle, both recently and on average: a single request
does not warm a machine. Occasionally everything stalls for a while: by the clock, and more often
the more processor time the load takes while others compete for it.

Requests come from the source that drives a measurement: with the same seed, workload and target
size the model sees the same lengths, kinds and due times.

Invariant: the model does not know where on the device a request goes; a device whose times depend
on addresses is modelled mechanically instead, see the folder `devices`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headroom.experiment.protocol.system import Parameter, Value
from headroom.simulation import (
    Model,
    Program,
    computed_arrivals,
    constant,
    draw,
    exponential,
    lognormal,
    maximum,
    minimum,
)
from headroom.simulation.language.mechanisms import Mechanism
from headroom.systems.storage.blocks.job import REQUESTS
from headroom.systems.storage.devices.models.load import REQUESTS_PER_BSU, SPC1_STREAMS
from headroom.systems.storage.fit.laws import Quantiles
from headroom.systems.storage.fit.parameters import DEVICE, LOAD
from headroom.systems.storage.workloads.workload_table import workload_table

US_PER_S = 1e6
_WAKE_UNIT_US = 1e3
"""Idle time (us) after which waking up takes `*_wake_s`."""
_WAKE_POINTS = 65
"""Points of the curve of waking up, in equal ratios from a microsecond on."""
_WHY = "the time to wake up depends on the idle time before it, which formulas do not know"


@dataclass(frozen=True, slots=True)
class FittedDevice:
    """A model function with the parameters of a fitted device.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> device = FittedDevice()
    >>> same = {f"read_s_p{percent}": 80e-6 for percent in (10, 50, 90)}
    >>> result = simulate(device(depth=1, block_bytes=8192, **same), seed=1, completions=1000)
    >>> table = result.classes
    >>> mean_s = table.columns["response_s_sum"][-1, 0] / table.columns["completion_count"][-1, 0]
    >>> round(float(mean_s) * 1e6, 1)  # 80 us, and 4096 B more at 0.2 + 0.1 ns
    81.2
    """

    parameters: tuple[Parameter, ...] = (*LOAD, *DEVICE)
    place: str = "headroom.systems.storage.fit.device"

    @property
    def __name__(self) -> str:
        """Name of the model, for messages."""
        return "fitted_device"

    def __call__(self, **given: Value) -> Model:
        """Return the model of a device under a load.

        Parameters
        ----------
        given
            Values of `parameters`; missing ones have their defaults.
        """
        values = {parameter.name: parameter.default for parameter in self.parameters} | given
        return _Builder(values).model()


class _Builder:
    """The stations of one device, and the programs of its requests."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._model = Model("fitted device", time_unit="us")
        model = self._model
        self._host = model.station("host")
        self._units = model.station("units", servers=int(values["units"]))
        self._shared = model.station("shared")
        names = ("length", "is write", "is there", "idle", "scratch", "since flush")
        self._at = {name: model.attribute(name) for name in names}
        # An arm is where it was sent: a number that all jobs share.
        self._clock = model.mechanism("last activity", kind="arm", parameters={})
        self._idle = model.mechanism("idle time", kind="arm", parameters={})
        self._table = workload_table(values, target_bytes=int(values["target_bytes"]))
        self._add_stalls()
        self._request = self._requesting()

    def model(self) -> Model:
        values, model, table = self._values, self._model, self._table
        source = model.mechanism(
            REQUESTS,
            kind="storage.requests",
            parameters={"workload": table, "target_bytes": int(values["target_bytes"])},
        )
        if table["kind"] == "spc1_like":
            rate = self._rate_per_s()
            rates = {name: rate * share for name, share in SPC1_STREAMS.items()}
            self._add_open(source, rates)
        elif "rate_per_s" in table:
            self._add_open(source, dict.fromkeys(self._streams(), float(table["rate_per_s"])))
        else:
            self._add_closed(source, int(table["depth"]))
        model.counted_by_hand(highest_throughput=math.inf, why=_WHY)
        return model

    def _streams(self) -> list[str]:
        count = int(self._values["streams"])
        return ["requests"] if count == 1 else [f"stream {index + 1}" for index in range(count)]

    def _us(self, name: str) -> float:
        return float(self._values[name]) * US_PER_S

    def _rate_per_s(self) -> float:
        """Return how many requests are due in a second, 0 for a closed load."""
        table = self._table
        if table["kind"] == "spc1_like":
            return float(REQUESTS_PER_BSU * table["bsus"] * table["load_share"])
        return float(table.get("rate_per_s", 0.0)) * len(self._streams())

    def _use(self) -> float:
        """Return the share of one processor that the load takes."""
        rate = self._rate_per_s()
        if rate > 0.0:
            return open_use(self._values, rate)
        return closed_use(self._values, int(self._table["depth"]) * len(self._streams()))

    def _add_stalls(self) -> None:
        """Stall the whole device: a job waiting for the host waits for its repair.

        The two kinds of stalls, by the clock and by the use of the processor, become one with the
        share of the time and the mean for an arrival of both.
        """
        busy = min(self._use() / float(self._values["busy_use"]), 1.0)
        kinds = (
            (float(self._values["stalls_per_s"]), self._us("stall_s")),
            (busy * float(self._values["busy_stalls_per_s"]), self._us("busy_stall_s")),
        )
        lost = sum(per_s * mean_us for per_s, mean_us in kinds)
        if lost > 0.0:
            mean_us = sum(per_s * mean_us**2 for per_s, mean_us in kinds) / lost
            self._model.breakdowns(
                self._host,
                time_to_failure=exponential(US_PER_S * mean_us / lost),
                repair=exponential(mean_us),
            )

    def _add_open(self, source: Mechanism, rates_per_s: Mapping[str, float]) -> None:
        """Let the requests of each stream arrive when they are due."""
        for stream, (name, rate) in enumerate(rates_per_s.items()):
            told = self._told(source, stream)
            self._model.open_class(
                name,
                self._request,
                interarrival=computed_arrivals(
                    source.call("wait", stream, mean=US_PER_S / rate),
                    sets=told,
                    mean_rate=rate / US_PER_S,
                ),
            )

    def _add_closed(self, source: Mechanism, depth: int) -> None:
        for stream, name in enumerate(self._streams()):
            walk = self._model.program(name)
            if self._values["sync"] == "never":
                self._next(walk, source, stream)
            else:
                self._next_or_flush(walk, source, stream)
            self._model.closed_class(name, walk, population=depth, start="ready")

    def _told(self, source: Mechanism, stream: int) -> dict[Any, Any]:
        at = self._at
        return {
            at["is there"]: source.call("next", stream),
            at["length"]: source.call("length", stream),
            at["is write"]: source.call("is_write", stream),
        }

    def _next(self, walk: Program, source: Mechanism, stream: int) -> None:
        for attribute, value in self._told(source, stream).items():
            walk.set(attribute, value)
        walk.call(self._request)

    def _next_or_flush(self, walk: Program, source: Mechanism, stream: int) -> None:
        """Carry the next request out, or the flush that the writes before it owe."""
        since = self._at["since flush"]
        with walk.branch() as what:
            with what.when(since >= int(self._values["sync_every"])):
                walk.set(since, 0)
                walk.use(self._host, self._us("host_s"))
                walk.use(self._model.station("flush"), exponential(self._us("flush_s")))
            with what.otherwise():
                self._next(walk, source, stream)
                walk.set(since, since + self._at["is write"])

    def _requesting(self) -> Program:
        """Return the program that carries out the request of its job."""
        carry, at, clock = self._model.program("carry out"), self._at, self._clock
        carry.set(at["idle"], clock.call("distance", self._model.now))
        weight = float(self._values["idle_weight"])
        mean = self._idle.call("position") * (1.0 - weight) + at["idle"] * weight
        carry.set(at["idle"], mean)
        carry.set(at["scratch"], self._idle.call("distance", at["idle"]))
        with carry.branch() as kind:
            with kind.when(at["is write"] == 1):
                self._at_device(carry, "write")
            with kind.otherwise():
                self._at_device(carry, "read")
        carry.set(at["scratch"], clock.call("distance", self._model.now))
        return carry

    def _at_device(self, carry: Program, kind: str) -> None:
        length = self._at["length"]
        base = int(self._values["base_bytes"])
        self._wake(carry, kind)
        carry.use(self._host, self._us("host_s"))
        shared_us = self._us(f"{kind}_shared_s")
        shared_per_byte = self._us(f"{kind}_shared_s_per_byte")
        elsewhere_us = self._us("host_s") + shared_us + base * shared_per_byte
        alone_us = US_PER_S * self._alone(kind).mean
        batch_us = min(self._us(f"{kind}_batch_s"), max(alone_us - elsewhere_us, 0.0))
        elsewhere_us += batch_us
        further = (length - base) * self._us(f"{kind}_s_per_byte")
        at_unit = draw(self._alone(kind).law(US_PER_S)) + further - elsewhere_us
        carry.use(self._units, maximum(at_unit, 0.0))
        if shared_us + batch_us + shared_per_byte > 0.0:
            at_shared = shared_us + length * shared_per_byte
            if batch_us > 0.0:
                at_shared += batch_us / maximum(self._model.jobs(self._shared), 1.0)
            carry.use(self._shared, at_shared)

    def _alone(self, kind: str) -> Quantiles:
        return Quantiles(*(float(self._values[f"{kind}_s_p{percent}"]) for percent in (10, 50, 90)))

    def _wake(self, carry: Program, kind: str) -> None:
        """Let the request wake up the parts that have gone to sleep since the last activity."""
        wake_us = self._us(f"{kind}_wake_s")
        if wake_us <= 0.0:
            return
        most_us = self._us("idle_most_s")
        curve = self._model.mechanism(
            f"waking up for a {kind}",
            kind="curve",
            parameters={
                "points": wake_points(
                    wake_us, float(self._values[f"{kind}_wake_exponent"]), most_us
                )
            },
        )
        cv = float(self._values[f"{kind}_wake_cv"])
        law = lognormal(1.0, cv**2) if cv > 0.0 else constant(1.0)
        idle = minimum(self._at["idle"], most_us)
        carry.delay(curve.call("at", idle, mean=wake_us) * law)


def open_use(values: Mapping[str, Any], rate_per_s: float) -> float:
    """Return the share of one processor that requests with due times take, 1 at most.

    A request that finds the host asleep wakes it, for itself and for those that come meanwhile: a
    cycle is the time until a request comes, the wake-up time, and the working time.

    Examples
    --------
    >>> open_use({"host_s": 5e-6, "wake_cpu_s": 0.0}, 20_000.0)
    0.1
    >>> round(open_use({"host_s": 5e-6, "wake_cpu_s": 45e-6}, 20_000.0), 3)
    0.526
    """
    busy = min(rate_per_s * float(values["host_s"]), 1.0)
    wake_s = float(values["wake_cpu_s"])
    return busy + (1.0 - busy) * wake_s / (1.0 / rate_per_s + wake_s)


def closed_use(values: Mapping[str, Any], population: int) -> float:
    """Return the share of one processor that `population` requests at once take, 1 at most.

    Examples
    --------
    >>> closed_use({"host_s": 5e-6, "read_s_p50": 50e-6, "write_s_p50": 100e-6}, 2)
    0.2
    """
    alone_s = min(float(values["read_s_p50"]), float(values["write_s_p50"]))
    return min(population * float(values["host_s"]) / alone_s, 1.0)


def wake_points(wake_us: float, exponent: float, most_us: float) -> list[list[float]]:
    """Return points of the curve of what waking up takes (us) over the idle time (us).

    Examples
    --------
    >>> points = wake_points(50.0, 0.5, 4000.0)
    >>> points[0], [round(one) for one in points[-1]]
    ([0.0, 0.0], [4000, 100])
    """
    first_us = min(1.0, most_us / 2.0)
    ratio = (most_us / first_us) ** (1.0 / (_WAKE_POINTS - 1))
    idle = [first_us * ratio**step for step in range(_WAKE_POINTS - 1)] + [most_us]
    return [
        [0.0, 0.0],
        *([idle_us, wake_us * (idle_us / _WAKE_UNIT_US) ** exponent] for idle_us in idle),
    ]


fitted_device = FittedDevice()
"""The registered model function."""
