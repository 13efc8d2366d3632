"""Compare the simulated PostMark with table 1 of Kang and Cheong, and fit the open parameters.

``python -m headroom.systems.storage.devices.models.calibrate`` prints the table of the paper, the
table of the model, and each fitted number with its target. The paper does not give the unit of the
table: it is assumed to be milliseconds for the whole run of 100,000 transactions. The numbers of
runs follow from the digits of the paper: a mean of 3400.35 is a sum of whole numbers over 20,
4412.1875 one over 16.

Four numbers are fitted. Two belong to the client and are fitted to NGS: the processor time of an
operation to the mean, and the number of blocks that a full journal must write back to the standard
deviation. Then two of the array are fitted to EVA4400, because they have no effect on NGS: the size
of its write cache to the mean, and the number of its disks, a whole number, to the standard
deviation. ``--fit`` fits the numbers that match means, with the others taken from the files;
``--share`` and ``--disks`` try other values. Medians, extremes, mean absolute deviations and the
warm-up are predictions.

The digits reveal more (`below_mean` has the arithmetic). Of the 20 runs of NGS, 6 lie below their
mean: one by 79 ms, a second one by 37 to 63 ms (a third by 37 at most), the other four by 3 to 10
ms on average. So two or three runs are fast, and the others are close together. Of EVA4400, 8 of 16
lie below, and its mean deviation is 0.87 of the standard deviation (divided by n), as for a uniform
law (0.87; a normal one has 0.80).
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.storage.devices.models.postmark import EVA4400, NGS, PostmarkModel

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """Statistics of the times of some runs (ms), as table 1 has them."""

    mean: float
    deviation: float
    median: float
    least: float
    most: float
    absolute_deviation: float

    @classmethod
    def of(cls, times_ms: FloatArray) -> Self:
        """Return the statistics of some times (ms).

        Examples
        --------
        >>> Row.of(np.array([1.0, 2.0, 6.0])).absolute_deviation
        2.0
        """
        mean = float(times_ms.mean())
        return cls(
            mean=mean,
            deviation=float(times_ms.std(ddof=1)) if times_ms.size > 1 else 0.0,
            median=float(np.median(times_ms)),
            least=float(times_ms.min()),
            most=float(times_ms.max()),
            absolute_deviation=float(np.abs(times_ms - mean).mean()),
        )

    def __str__(self) -> str:
        values = (self.mean, self.deviation, self.median, self.least, self.most,
                  self.absolute_deviation)  # fmt: skip
        return "".join(f"{value:10.2f}" for value in values)


PUBLISHED: Mapping[str, Row] = {
    "NGS": Row(3400.35, 25.1443726, 3406.5, 3321.0, 3420.0, 15.41),
    "EVA4400": Row(4412.1875, 301.7308334, 4437.0, 4047.0, 4859.0, 253.9375),
}
"""Table 1 of Kang and Cheong."""
MODELS: Mapping[str, PostmarkModel] = {"NGS": NGS, "EVA4400": EVA4400}
RUNS: Mapping[str, int] = {"NGS": 20, "EVA4400": 16}
"""The numbers of runs that follow from the digits of the paper's means."""
BY_DEVIATION = {"checkpoint_share": "NGS", "disks": "EVA4400"}
"""Numbers that are fitted to the standard deviation of a device, by trying some."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A number that is fitted to a mean of table 1."""

    name: str
    device: str
    low: float
    high: float
    rises: bool
    """Whether the time grows with the number."""


FITTED = (
    Fitted("operation_us", "NGS", 5.0, 20.0, rises=True),
    Fitted("write_cache_mib", "EVA4400", 80.0, 130.0, rises=False),
)


def times_ms(
    device: str, seeds: Sequence[int], changed: Mapping[str, Value] | None = None
) -> FloatArray:
    """Return the time (ms) of the whole run on a device with each of some seeds.

    Examples
    --------
    >>> small = {"postmark_files": 50, "postmark_transactions": 200}
    >>> bool(times_ms("NGS", [1], small)[0] > 0)
    True
    """
    model = MODELS[device](**(changed or {}))
    runs = (simulate(model, seed=seed) for seed in seeds)
    return np.array([1e3 * float(run.snapshot_times_s[-1]) for run in runs])


def bisected(
    mean_at: Callable[[float], float], target: float, number: Fitted, *, steps: int
) -> float:
    """Return the number at which a monotone mean meets `target`, halving its range.

    Examples
    --------
    >>> number = Fitted("x", "NGS", 0.0, 8.0, rises=True)
    >>> round(bisected(lambda x: 10 * x, 50.0, number, steps=20), 3)
    5.0
    """
    low, high = number.low, number.high
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if (mean_at(middle) < target) == number.rises:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def fitted(
    seeds: Sequence[int], changed: Mapping[str, float] | None = None, *, steps: int = 7
) -> dict[str, float]:
    """Return the numbers fitted to the means, each found with those before it.

    Parameters
    ----------
    seeds
        Seeds of the runs of each guess.
    changed
        Other numbers than those of the files.
    steps
        How often the range of a number is halved.
    """
    numbers: dict[str, float] = {}
    for number in FITTED:

        def mean_at(value: float, own: Fitted = number) -> float:
            guess = _own(own.device, {**(changed or {}), **numbers, own.name: value})
            return float(times_ms(own.device, seeds, guess).mean())

        numbers[number.name] = bisected(mean_at, PUBLISHED[number.device].mean, number, steps=steps)
    return numbers


def below_mean(row: Row, runs: int) -> list[int]:
    """Return how many runs can be below their mean, for times in whole milliseconds.

    The k runs below are together short of k means by half of the sum of absolute deviations, and
    their sum is a whole number.

    Examples
    --------
    >>> below_mean(PUBLISHED["NGS"], 20), below_mean(PUBLISHED["EVA4400"], 16)
    ([6], [8])
    """
    short = 0.5 * runs * row.absolute_deviation
    sums = {count: count * row.mean - short for count in range(1, runs)}
    return [count for count, total in sums.items() if abs(total - round(total)) < 1e-3 * runs]


def held() -> dict[str, float]:
    """Return the calibrated numbers as the parameter files have them.

    Examples
    --------
    >>> sorted(held()) == sorted(one.name for one in FITTED)
    True
    """
    defaults = {parameter.name: parameter.default for parameter in EVA4400.parameters}
    return {number.name: float(defaults[number.name]) for number in FITTED}  # type: ignore[arg-type]  # numbers


def told(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield the lines that compare rows of the model with those of the paper."""
    yield "              " + "".join(
        f"{word:>10}" for word in ("mean", "sd", "median", "min", "max", "avgdev")
    )
    for device, row in rows.items():
        yield f"{device:8}paper {PUBLISHED[device]}"
        yield f"{device:8}model {row}"
    if len(rows) == len(PUBLISHED):
        ngs, eva = rows["NGS"], rows["EVA4400"]
        yield f"ratio of means            paper 0.7706   model {ngs.mean / eva.mean:.4f}"
        ratio = eva.absolute_deviation / ngs.absolute_deviation
        yield f"ratio of mean deviations  paper 16.48    model {ratio:.2f}"


def main() -> None:
    """Print the table, and with ``--fit`` the numbers fitted to the means."""
    parser = argparse.ArgumentParser(description="PostMark on the models and in the paper")
    parser.add_argument("--fit", action="store_true", help="fit the numbers anew (minutes)")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each guess of the fit")
    parser.add_argument("--runs", type=int, help="runs of each device, instead of the paper's")
    parser.add_argument("--disks", type=int, help="disks of EVA4400, other than those of its file")
    parser.add_argument("--share", type=float, help="checkpoint_share, other than that of the file")
    asked = parser.parse_args()
    tried = {"disks": asked.disks, "checkpoint_share": asked.share}
    changed: dict[str, float] = {name: value for name, value in tried.items() if value is not None}
    lines = [
        f"{number.name} = {held()[number.name]:g}, by the mean of {number.device}"
        for number in FITTED
    ]
    defaults = {parameter.name: parameter.default for parameter in EVA4400.parameters}
    lines += [
        f"{name} = {defaults[name]}, by the standard deviation of {device}"
        for name, device in BY_DEVIATION.items()
    ]
    if asked.fit:
        changed |= fitted(range(1, asked.seeds + 1), changed)
        lines += [f"fitted anew: {name} = {value:.4g}" for name, value in changed.items()]
    rows = {
        device: Row.of(
            times_ms(device, range(1, (asked.runs or RUNS[device]) + 1), _own(device, changed))
        )
        for device in PUBLISHED
    }
    print("\n".join([*lines, "", *told(rows)]))  # noqa: T201 - it is a command


def _own(device: str, changed: Mapping[str, float]) -> dict[str, Value]:
    known = {parameter.name for parameter in MODELS[device].parameters}
    return {name: value for name, value in changed.items() if name in known}


if __name__ == "__main__":
    main()
