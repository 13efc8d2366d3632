"""The parameters that the fit to Kim et al. determines, and evidence about the others.

``python -m headroom.systems.transactions.profile`` prints three tables. The first: for each fitted
number, the interval in which all four published throughputs can still be met. The second: the same
throughputs with other numbers of disks, with the seek fitted again. The third: other ways to divide
the handling of a packet between DMA controller and input port, and for each way what figures 9 to
12 of the paper say about queues. No throughput depends on that division; the figures decide.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.transactions.calibrate import (
    CALIBRATED,
    PUBLISHED,
    STEP,
    TRANSACTIONS,
    Published,
    as_parameters,
    fitted,
    held,
    held_share,
    throughput,
)
from headroom.systems.transactions.model import SPAX, MachineModel
from headroom.systems.transactions.tail import Tail

FloatArray = npt.NDArray[np.float64]

MET_WITHIN = 0.05
"""How far a throughput may be off and still be met, as the claims of the study have it."""
SHARES = (0.0, 0.25, 0.45, 0.5, 0.55, 0.75, 1.0)
DISKS = (4, 6, 8, 10, 12)
BUFFER, DMA, PORT = "io send buffers", "io DMA send", "io switch port in"


@dataclass(frozen=True, slots=True)
class Interval:
    """The possible range of a fitted number, the others moving with it."""

    name: str
    low: float
    value: float
    high: float


def intervals(
    numbers: Mapping[str, float],
    seeds: Sequence[int],
    *,
    published: Sequence[Published] = PUBLISHED,
    machine: MachineModel = SPAX,
) -> list[Interval]:
    """Return for each number the interval in which all throughputs can be met.

    Throughputs are assumed to be powers of the numbers near the fit (slopes by differences with
    common random numbers); the ends of an interval are then two linear programs.

    Parameters
    ----------
    numbers
        The fitted numbers, by name.
    seeds
        Seeds of the runs of each throughput.
    published
        Throughputs to be met within `MET_WITHIN`.
    machine
        The machine whose numbers they are.
    """

    def misses(logarithms: FloatArray) -> FloatArray:
        named = as_parameters(dict(zip(CALIBRATED, map(float, np.exp(logarithms)), strict=True)))
        throughputs = [
            throughput({**point.changed, **named}, seeds, machine) for point in published
        ]
        return np.log(np.array(throughputs) / [point.tps for point in published])

    at = np.log([numbers[name] for name in CALIBRATED])
    base = misses(at)
    steps = STEP * np.eye(len(at))
    differences = [misses(at + step) - misses(at - step) for step in steps]
    slopes = np.column_stack(differences) / (2 * STEP)
    # |base + slopes x| <= MET_WITHIN; the factor of the elevator is a share.
    rows = np.vstack([slopes, -slopes])
    room = np.concatenate([MET_WITHIN - base, MET_WITHIN + base])
    highest = [-value if name == "elevator_factor" else None for name, value in zip(CALIBRATED, at)]  # noqa: B905 - as many
    ranges = []
    for number, name in enumerate(CALIBRATED):
        aim = np.zeros(len(at))
        aim[number] = 1.0
        bounds = [(None, top) for top in highest]
        low, high = (
            sign * scipy.optimize.linprog(sign * aim, A_ub=rows, b_ub=room, bounds=bounds).fun
            for sign in (1.0, -1.0)
        )
        ends = np.exp(at[number] + np.array([low, high]))
        ranges.append(Interval(name, float(ends[0]), numbers[name], float(ends[1])))
    return ranges


@dataclass(frozen=True, slots=True)
class Figures:
    """Queues in figures 9 to 12, with one way to divide the handling.

    Parameters
    ----------
    bend
        Queue for the buffer at 40% over that at 70%; a straight line from 10% has 0.5.
    shortened
        Queue for the buffers with 16 over that with 2, under 30 and 80%.
    dma, port
        Growth of these queues (jobs) from 2 to 16 buffers, under 30 and 80%.
    gained
        Throughput with 16 buffers over that with 2, under 30 and 80%.
    """

    bend: float
    shortened: tuple[float, float]
    dma: tuple[float, float]
    port: tuple[float, float]
    gained: tuple[float, float]

    def agree(self) -> int:
        """Return how many of the paper's nine statements hold, by the bounds of the study."""
        return sum(
            [
                abs(self.bend - 0.5) <= 0.1,  # noqa: PLR2004 - a straight line, within a fifth
                *(ratio <= 0.9 for ratio in self.shortened),  # noqa: PLR2004 - a tenth shorter
                *(growth >= 0.1 for growth in (*self.dma, *self.port)),  # noqa: PLR2004 - grows by a tenth of a job
                *(0.95 <= ratio <= 1.05 for ratio in self.gained),  # noqa: PLR2004 - hardly changes
            ]
        )


def figures(
    numbers: Mapping[str, float], seeds: Sequence[int], machine: MachineModel = SPAX
) -> Figures:
    """Return the values of figures 9 to 12 for a machine with these parameters."""
    run = partial(_tails, machine, numbers, seeds)
    bend = [_queue(run(io_probability=share), BUFFER) for share in (0.4, 0.7)]
    few, many = (
        [
            run(io_probability=share, packets_per_buffer=1, io_send_buffers=buffers)
            for share in (0.3, 0.8)
        ]
        for buffers in (2, 16)
    )

    def both(of: str) -> tuple[tuple[float, float], tuple[float, float]]:
        (a, b), (c, d) = ((_queue(end, of) for end in ends) for ends in zip(few, many, strict=True))
        return (a, b), (c, d)

    waits = both(BUFFER)
    (dma_low, dma_high), (port_low, port_high) = both(DMA), both(PORT)
    tps = [
        [float(np.mean([tail.throughput for tail in tails])) for tails in ends]
        for ends in (few, many)
    ]
    return Figures(
        bend=bend[0] / bend[1],
        shortened=(waits[0][1] / waits[0][0], waits[1][1] / waits[1][0]),
        dma=(dma_low[1] - dma_low[0], dma_high[1] - dma_high[0]),
        port=(port_low[1] - port_low[0], port_high[1] - port_high[0]),
        gained=(tps[1][0] / tps[0][0], tps[1][1] / tps[0][1]),
    )


def _tails(
    machine: MachineModel, numbers: Mapping[str, float], seeds: Sequence[int], **changed: Value
) -> list[Tail]:
    config: dict[str, Value] = {
        "transactions_per_terminal": TRANSACTIONS,
        "cache_miss_rate": 0.0,
        "disks": 0,
        **changed,
        **numbers,
    }
    model = machine(**config)
    return [Tail.of(simulate(model, seed=seed)) for seed in seeds]


def _queue(tails: Sequence[Tail], row: str) -> float:
    return float(np.mean([tail.queue_len(row) for tail in tails]))


def told_intervals(ranges: Sequence[Interval]) -> Iterator[str]:
    """Yield the table of the intervals."""
    yield f"number               fitted   all four throughputs within {MET_WITHIN:.0%}"
    for span in ranges:
        yield f"{span.name:20} {span.value:6.3f}   {span.low:.3g} to {span.high:.3g}"


def told_disks(seeds: Sequence[int]) -> Iterator[str]:
    """Yield the table of the disks, the other numbers fitted again."""
    yield "disks   elevator_factor   largest miss of the four throughputs"
    for disks in DISKS:
        published = [
            replace(point, changed={"disks": disks, **point.changed}) for point in PUBLISHED
        ]
        numbers = fitted(held(), seeds, published=published)
        misses = [_miss(point, as_parameters(numbers), seeds) for point in published]
        yield f"{disks:5}   {numbers['elevator_factor']:15.3f}   {max(misses, key=abs):+.1%}"


def told_shares(numbers: Mapping[str, float], seeds: Sequence[int]) -> Iterator[str]:
    """Yield the table of the ways to share out the handling."""
    yield "DMA's   worst         growth from 2 to 16 buffers, under 30 and 80% I/O           holds"
    yield "share   miss    bend  buffers' queue  DMA's queue    port's queue   throughput    of 9"
    for share in SHARES:
        named = as_parameters(numbers, share)
        worst = max((_miss(point, named, seeds) for point in PUBLISHED), key=abs)
        values = figures(named, seeds)
        columns = [
            *(f"x {ratio:4.2f}" for ratio in values.shortened),
            *(f"{growth:+5.1f}" for growth in (*values.dma, *values.port)),
            *(f"x {ratio:4.2f}" for ratio in values.gained),
        ]
        told = "  ".join(columns)
        yield f"{share:5.2f}  {worst:+6.1%}  {values.bend:4.2f}  {told}  {values.agree():4}"


def _miss(point: Published, numbers: Mapping[str, float], seeds: Sequence[int]) -> float:
    return throughput({**point.changed, **numbers}, seeds) / point.tps - 1


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description="Show what the fit to Kim et al. determines.")
    arguments.add_argument("--seeds", type=int, default=2, help="runs of each point (default 2)")
    seeds = range(1, arguments.parse_args().seeds + 1)
    numbers = held()
    for table in (
        told_intervals(intervals(numbers, seeds)),
        told_disks(seeds),
        told_shares(numbers, seeds),
    ):
        for line in table:
            print(line, flush=True)  # noqa: T201 - it is a command
        print()  # noqa: T201
    print(f"the machine file gives {held_share():.0%} of the handling to the DMA controller")  # noqa: T201


if __name__ == "__main__":
    main()
