"""Fit what paper P0 leaves open to the four throughputs that it publishes.

``python -m headroom.systems.transactions.calibrate`` prints the fitted numbers, the four
throughputs with and without the paper's, and what `machines/spax.toml` holds. Nothing else is
fitted: every other claim of the paper must follow by itself.

The paper does not say which configuration belongs to figures 13 and 14. It is taken to be the one
of section 4.1 (30 % of the accesses need an I/O node, 90 % of these a disk) with the number of
disks of the machine file; figure 8 agrees with that (README.md).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from headroom.experiment.system import Value
from headroom.simulation import simulate
from headroom.systems.transactions.model import SPAX

FloatArray = npt.NDArray[np.float64]

CALIBRATED = ("path_length_factor", "packet_handling_us", "elevator_factor")
"""What is fitted."""
KEPT_SHARE = 0.75
"""Share of a run that counts, from its end."""
STEP = 0.02
"""Relative step of the differences; common random numbers make such small ones smooth."""
TRANSACTIONS = 30
"""Transactions of a terminal in one run."""


@dataclass(frozen=True, slots=True)
class Published:
    """A throughput of the paper, and where it was seen.

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
    Published("4.3, I/O 30 %", _CACHED | {"io_probability": 0.3}, 204.1),
    Published("4.3, I/O 40 %", _CACHED | {"io_probability": 0.4}, 148.6),
    Published("4.4, 4 PN and 1 ION", {"io_nodes": 1}, 107.417),
    Published("4.4, 4 PN and 3 ION", {"io_nodes": 3}, 204.122),
)


def throughput(changed: Mapping[str, Value], seeds: Sequence[int]) -> float:
    """Return the mean throughput (1/s) of the changed machine over runs with `seeds`.

    Examples
    --------
    >>> small = {"processing_nodes": 1, "processors": 1, "io_probability": 0.0}
    >>> 10 < throughput(small, [1]) < 20
    True
    """
    model = SPAX(**({"transactions_per_terminal": TRANSACTIONS} | dict(changed)))
    return float(np.mean([_of_run(simulate(model, seed=seed)) for seed in seeds]))


def _of_run(result: "object") -> float:
    times_s = result.snapshot_times_s  # type: ignore[attr-defined]
    done = result.classes.columns["completion_count"].sum(axis=1)  # type: ignore[attr-defined]
    first = int(np.searchsorted(times_s, (1 - KEPT_SHARE) * times_s[-1]))
    return float((done[-1] - done[first]) / (times_s[-1] - times_s[first]))


def fitted(start: FloatArray, seeds: Sequence[int]) -> FloatArray:
    """Return the numbers that bring the four throughputs closest, in ratio."""

    def misses(logarithms: FloatArray) -> FloatArray:
        numbers = dict(zip(CALIBRATED, map(float, np.exp(logarithms)), strict=True))
        return np.array(
            [np.log(throughput(dict(one.changed) | numbers, seeds) / one.tps) for one in PUBLISHED]
        )

    # The factor of the elevator is a share, so it stays below 1.
    bounds = ([-np.inf] * 3, [np.inf, np.inf, 0.0])
    found = least_squares(
        misses, np.log(start), bounds=bounds, diff_step=STEP, xtol=3e-3, max_nfev=8
    )
    return np.exp(found.x)


def main() -> None:
    """Fit, and print what came out beside what the machine file holds."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    arguments.add_argument("--seeds", type=int, default=4, help="runs of each point (default 4)")
    seeds = range(1, arguments.parse_args().seeds + 1)
    held = {one.name: one for one in SPAX.parameters}
    start = np.array([float(held[name].default) for name in CALIBRATED])  # type: ignore[arg-type]
    numbers = fitted(start, seeds)
    print("calibrated           fitted   in the machine file")
    for name, number, old in zip(CALIBRATED, numbers, start, strict=True):
        print(f"{name:20} {number:6.3f}   {old:6.3f} {held[name].unit}")
    print("\nthroughput           paper   fitted           machine file")
    for one in PUBLISHED:
        new = dict(zip(CALIBRATED, map(float, numbers), strict=True))
        values = [throughput(dict(one.changed) | extra, seeds) for extra in (new, {})]
        columns = "  ".join(f"{tps:6.1f} ({tps / one.tps - 1:+5.1%})" for tps in values)
        print(f"{one.place:20} {one.tps:5.1f}   {columns}")


if __name__ == "__main__":
    main()
