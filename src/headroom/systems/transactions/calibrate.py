"""Fit the parameters that Kim et al. leave open to the four throughputs that they publish.

``python -m headroom.systems.transactions.calibrate`` prints the fitted numbers, the four
throughputs with and without them next to the paper's, and the content of `machines/spax.toml`.
Nothing else is fitted: every other claim of the paper must follow without fitting.

The paper does not say which configuration belongs to figures 13 and 14. It is assumed to be that of
section 4.1 (30% of the accesses need an I/O node, 90% of these a disk) with the number of disks of
the machine file; figure 8 agrees with that (README.md).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.transactions.model import SPAX, MachineModel
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.demands import demands

FloatArray = npt.NDArray[np.float64]

CALIBRATED = ("path_length_factor", "handling_us", "elevator_factor")
"""The fitted parameters; ``handling_us`` is the time of a packet at DMA controller and input port
together, in addition to its transfer. Only that sum follows from the throughputs, not its
division."""
STEP = 0.1
"""Relative step of the differences. Runs with the same seeds draw apart once a page is written back
a little earlier, so that smaller steps are lost in chance."""
TRANSACTIONS = 30
"""Transactions of a terminal in one run."""
EVALUATIONS = 8
"""Most steps of the fit."""


@dataclass(frozen=True, slots=True)
class Published:
    """A throughput of the paper, and its location there.

    Parameters
    ----------
    place
        Section of the paper.
    changed
        Parameters that differ from the machine file.
    tps
        Transactions per second.
    """

    place: str
    changed: Mapping[str, Value]
    tps: float


_CACHED: Mapping[str, Value] = {"cache_miss_rate": 0.0, "disks": 0}
PUBLISHED = (
    Published("4.3, I/O 30%", {**_CACHED, "io_probability": 0.3}, 204.1),
    Published("4.3, I/O 40%", {**_CACHED, "io_probability": 0.4}, 148.6),
    Published("4.4, 4 PN and 1 ION", {"io_nodes": 1}, 107.417),
    Published("4.4, 4 PN and 3 ION", {"io_nodes": 3}, 204.122),
)


def throughput(
    changed: Mapping[str, Value], seeds: Sequence[int], machine: MachineModel = SPAX
) -> float:
    """Return the mean throughput (1/s) of the changed machine over runs with `seeds`.

    Examples
    --------
    >>> small = {"processing_nodes": 1, "processors": 1, "io_nodes": 0, "io_probability": 0.0}
    >>> 10 < throughput(small, [1]) < 20
    True
    """
    model = machine(**{"transactions_per_terminal": TRANSACTIONS, **changed})
    return float(np.mean([Tail.of(simulate(model, seed=seed)).throughput for seed in seeds]))


def fitted(
    start: Mapping[str, float],
    seeds: Sequence[int],
    *,
    dma_share: float | None = None,
    published: Sequence[Published] = PUBLISHED,
    machine: MachineModel = SPAX,
) -> dict[str, float]:
    """Return the numbers that bring the throughputs closest to the published ones, in ratio.

    Parameters
    ----------
    start
        First guess of each of `CALIBRATED`, above 0.
    seeds
        Seeds of the runs of each throughput, the same for every guess.
    dma_share
        Share of the handling that is the DMA controller's [0, 1]; None is that of the machine.
    published
        Throughputs to be met.
    machine
        The machine whose numbers they are.
    """

    def misses(logarithms: FloatArray) -> FloatArray:
        numbers = as_parameters(_named(np.exp(logarithms)), dma_share)
        throughputs = [
            throughput({**point.changed, **numbers}, seeds, machine) for point in published
        ]
        return np.log(np.array(throughputs) / [point.tps for point in published])

    first = np.log([start[name] for name in CALIBRATED])
    # The factor of the elevator is a share, so it stays below 1.
    highest = [0.0 if name == "elevator_factor" else np.inf for name in CALIBRATED]
    best = scipy.optimize.least_squares(
        misses,
        first,
        bounds=([-np.inf] * len(CALIBRATED), highest),
        diff_step=STEP,
        xtol=3e-3,
        max_nfev=EVALUATIONS,
    )
    return _named(np.exp(best.x))


def _named(values: FloatArray) -> dict[str, float]:
    return dict(zip(CALIBRATED, map(float, values), strict=True))


def as_parameters(numbers: Mapping[str, float], dma_share: float | None = None) -> dict[str, float]:
    """Return calibrated numbers as parameters of the machine: the handling shared out.

    Examples
    --------
    >>> found = as_parameters({"handling_us": 10.0, "elevator_factor": 0.7}, 0.25)
    >>> found["dma_handling_us"], found["port_handling_us"], found["elevator_factor"]
    (2.5, 7.5, 0.7)
    """
    handling_us = numbers["handling_us"]
    share = held_share() if dma_share is None else dma_share
    others = {name: value for name, value in numbers.items() if name != "handling_us"}
    return {
        **others,
        "dma_handling_us": share * handling_us,
        "port_handling_us": (1 - share) * handling_us,
    }


def held_share(machine: MachineModel = SPAX) -> float:
    """Return the share of the handling that the machine file gives to the DMA controller."""
    numbers = machine.machine()
    return numbers.dma_handling_us / (numbers.dma_handling_us + numbers.port_handling_us)


def held(machine: MachineModel = SPAX) -> dict[str, float]:
    """Return the calibrated numbers as the machine file has them.

    Examples
    --------
    >>> sorted(held()) == sorted(CALIBRATED)
    True
    """
    numbers = machine.machine()
    return {
        "path_length_factor": numbers.path_length_factor,
        "handling_us": numbers.dma_handling_us + numbers.port_handling_us,
        "elevator_factor": numbers.elevator_factor,
    }


def told(numbers: Mapping[str, float], old: Mapping[str, float], seeds: Sequence[int]) -> str:
    """Return the fitted numbers next to those of the machine file, and the results of both."""
    parts = (_numbers(numbers, old), _throughputs(numbers, old, seeds), _meaning(numbers))
    return "\n\n".join("\n".join(part) for part in parts)


def _numbers(numbers: Mapping[str, float], old: Mapping[str, float]) -> Iterator[str]:
    yield "calibrated           fitted   in the machine file"
    for name in CALIBRATED:
        unit = "us" if name.endswith("_us") else ""
        yield f"{name:20} {numbers[name]:6.3f}   {old[name]:6.3f} {unit}".rstrip()


def _throughputs(
    numbers: Mapping[str, float], old: Mapping[str, float], seeds: Sequence[int]
) -> Iterator[str]:
    yield "throughput           paper   fitted           machine file"
    for point in PUBLISHED:
        both = [
            throughput({**point.changed, **as_parameters(these)}, seeds) for these in (numbers, old)
        ]
        columns = "  ".join(f"{tps:6.1f} ({tps / point.tps - 1:+5.1%})" for tps in both)
        yield f"{point.place:20} {point.tps:5.1f}   {columns}"


def _meaning(numbers: Mapping[str, float]) -> Iterator[str]:
    """Yield the meaning of the fitted numbers, for a reader who knows such machines."""
    machine = SPAX.machine(**as_parameters(numbers))
    cycles = demands(machine)["processor"].time_ms * 1e-3 * machine.processor_mhz
    yield f"a transaction takes {cycles:.1f} million cycles of a processor"
    ways_us = 1e3 * machine.dma_ms, 1e3 * machine.port_ms
    yield f"a packet takes {ways_us[0]:.1f} us at a DMA and {ways_us[1]:.1f} us at a port"


def as_published(
    truth: Mapping[str, float],
    seeds: Sequence[int],
    *,
    published: Sequence[Published] = PUBLISHED,
    machine: MachineModel = SPAX,
) -> tuple[Published, ...]:
    """Return the throughputs that a machine with the numbers `truth` would have published."""
    return tuple(
        replace(point, tps=throughput({**point.changed, **as_parameters(truth)}, seeds, machine))
        for point in published
    )


def main() -> None:
    """Fit, and print the result next to the content of the machine file."""
    arguments = argparse.ArgumentParser(description="Fit the open numbers of SPAX to the paper.")
    arguments.add_argument("--seeds", type=int, default=4, help="runs of each point (default 4)")
    seeds = range(1, arguments.parse_args().seeds + 1)
    print(told(fitted(held(), seeds), held(), seeds))  # noqa: T201 - it is a command


if __name__ == "__main__":
    main()
