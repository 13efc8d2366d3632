"""The model `fitted_device`: a host, parallel units, and what they share, with fitted numbers.

A request takes processor time of the host, waits for one of the device's units and is served
there for ``unit_s + bytes x unit_s_per_byte``, scattered as the measurements at depth 1 were, and
passes what all units share for ``shared_s + bytes x shared_s_per_byte``: a limit on requests and
on bytes per second. Rare stalls lengthen the service at a unit.

Invariant: nothing in it knows where on the device a request goes; a device whose times depend on
addresses is modelled mechanically instead, see the folder `devices`.
"""

from dataclasses import dataclass

from headroom.experiment.system import Parameter, Value
from headroom.simulation import (
    Attribute,
    Distribution,
    Model,
    Program,
    Station,
    constant,
    discrete,
    draw,
    exponential,
    lognormal,
    mixture,
)
from headroom.systems.storage.fit.parameters import DEVICE, LOAD
from headroom.systems.storage.fit.spc1_streams import (
    BSU_PER_S,
    MIXED_BYTES,
    MIXED_WEIGHTS,
    SPC1_STREAMS,
    Spc1Stream,
)

US_PER_S = 1e6
_WEIGHT = 1_000_000
"""Weights of a mix are whole numbers: shares are kept to a millionth."""


@dataclass(frozen=True, slots=True)
class FittedDevice:
    """A model function with the parameters of a fitted device.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> device = FittedDevice()
    >>> result = simulate(device(depth=1, read_cv=0.0, host_s=5e-6), seed=1, completions=1000)
    >>> table = result.classes
    >>> mean_s = table.columns["response_s_sum"][-1, 0] / table.columns["completion_count"][-1, 0]
    >>> round(float(mean_s) * 1e6, 1)  # 5 + 80 + 5 us, and 4096 B at 0.2 + 0.5 ns
    92.9
    """

    parameters: tuple[Parameter, ...] = (*LOAD, *DEVICE)
    place: str = "headroom.systems.storage.fit.device"

    def __call__(self, **given: Value) -> Model:
        """Return the model of a device under a load.

        Parameters
        ----------
        given
            Values of `parameters`; defaults stand for those that are left out.
        """
        values = {one.name: one.default for one in self.parameters} | given
        return _Builder(values).model()


class _Builder:
    """The stations of one device, and the programs of its requests."""

    def __init__(self, values: dict[str, Value | None]) -> None:
        self._values = values
        self._model = Model("fitted device", time_unit="us")
        self._host = self._model.station("host")
        self._units = self._model.station("units", servers=int(self._number("units")))
        self._shared = self._model.station("shared")
        self._size = self._model.attribute("size")

    def model(self) -> Model:
        if self._values["workload"] == "spc1_like":
            self._spc1()
        elif self._values["load"] == "open":
            self._open()
        else:
            self._closed()
        return self._model

    def _number(self, name: str) -> float:
        value = self._values[name]
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} is {value!r}, no number")
        return float(value)

    def _us(self, name: str) -> float:
        return self._number(name) * US_PER_S

    def _request(self, program: Program, kind: str) -> None:
        """Let a job ask for `size` bytes."""
        size: Attribute = self._size
        _use(program, self._host, constant(self._us("host_s")))
        unit = self._us(f"{kind}_unit_s") + size * self._us(f"{kind}_unit_s_per_byte")
        program.use(self._units, unit * draw(self._scatter(kind)) + draw(self._stall()))
        shared = self._us(f"{kind}_shared_s") + size * self._us(f"{kind}_shared_s_per_byte")
        program.use(self._shared, shared)

    def _scatter(self, kind: str) -> Distribution:
        variation = self._number(f"{kind}_cv")
        return lognormal(1.0, variation**2) if variation > 0.0 else constant(1.0)

    def _stall(self) -> Distribution:
        share = self._number("stall_share")
        if share <= 0.0:
            return constant(0.0)
        return mixture([constant(0.0), exponential(self._us("stall_s"))], [1.0 - share, share])

    def _micro_programs(self) -> dict[str, tuple[Program, float]]:
        """Return the classes of a micro workload, each with its share of the requests."""
        reads, sync = self._number("read_share"), self._values["sync"]
        shares = {"read": reads, "write": 1.0 - reads}
        found = {}
        for kind, share in shares.items():
            if share > 0.0:
                program = self._model.program(kind)
                program.set(self._size, self._number("block_bytes"))
                self._request(program, kind)
                found[kind] = (program, share)
        if sync != "never" and reads < 1.0:
            flush = self._model.program("sync")
            _use(flush, self._host, constant(self._us("host_s")))
            _use(flush, self._model.station("flush"), exponential(self._us("flush_s")))
            found["sync"] = (flush, (1.0 - reads) / self._number("sync_every"))
        return found

    def _closed(self) -> None:
        population = int(self._number("depth") * self._number("streams"))
        programs = self._micro_programs()
        if len(programs) == 1:
            ((name, (program, _)),) = programs.items()
            self._model.closed_class(name, program, population=population)
            return
        members = {
            name: (program, max(1, round(share * _WEIGHT)))
            for name, (program, share) in programs.items()
        }
        self._model.closed_mix("requests", members, population=population)

    def _open(self) -> None:
        for name, (program, share) in self._micro_programs().items():
            gap = exponential(US_PER_S / (self._number("rate") * share))
            self._model.open_class(name, program, interarrival=gap)

    def _spc1(self) -> None:
        per_s = BSU_PER_S * self._number("bsus") * self._number("load_share")
        for stream in SPC1_STREAMS:
            gap = exponential(US_PER_S / (per_s * stream.intensity))
            self._model.open_class(stream.name, self._spc1_program(stream), interarrival=gap)

    def _spc1_program(self, stream: Spc1Stream) -> Program:
        program = self._model.program(stream.name)
        sizes = discrete(MIXED_BYTES, MIXED_WEIGHTS)
        program.set(self._size, sizes if stream.has_mixed_sizes else MIXED_BYTES[0])
        shares = {"read": stream.read_share, "write": 1.0 - stream.read_share}
        kinds = {kind: share for kind, share in shares.items() if share > 0.0}
        if len(kinds) == 1:
            self._request(program, next(iter(kinds)))
            return program
        with program.branch() as which:
            for kind, share in kinds.items():
                with which.case(share):
                    self._request(program, kind)
        return program


def _use(program: Program, station: Station, law: Distribution) -> None:
    program.use(station, law)


fitted_device = FittedDevice()
"""The registered model function."""
