"""Change points by Apache Otava, e-divisive and PELT, in the interpreter that has them.

`PYTHON -m benches.peers.change_points < series.json` reads a list of series and prints for each
peer the places (number of the first result after each change) in every series. Otava wants a NumPy
of its own, so that no environment of Headroom can hold it: `python -m venv peers &&
peers/bin/pip install apache-otava ruptures`.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Places = Callable[[Sequence[float]], list[int]]


def _otava(series: Sequence[float]) -> list[int]:
    """Return the changes as `otava analyze` finds them by itself."""
    from otava.analysis import compute_change_points  # noqa: PLC0415 - a peer that may be missing

    return [int(one.index) for one in compute_change_points(list(series))[0]]


def _e_divisive(series: Sequence[float]) -> list[int]:
    """Return the changes of `--orig-edivisive`, at a level that its 100 permutations resolve."""
    from otava.analysis import compute_change_points_orig  # noqa: PLC0415

    found = compute_change_points_orig(list(series), max_pvalue=0.01, seed=1)[0]
    return [int(one.index) for one in found]


def _pelt(series: Sequence[float]) -> list[int]:
    """Return the changes by squared errors and BIC's penalty; noise by successive differences."""
    import ruptures  # noqa: PLC0415

    values = np.asarray(series)
    gaps = np.diff(values)
    deviation = 1.4826 * float(np.median(np.abs(gaps - np.median(gaps)))) / np.sqrt(2.0)
    penalty = 2.0 * deviation**2 * np.log(values.size)
    found = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values).predict(pen=penalty)
    return [int(place) for place in found[:-1]]


PEERS: Mapping[str, Places] = {"Otava": _otava, "e-divisive": _e_divisive, "PELT": _pelt}


def main() -> int:
    """Judge the series on standard input."""
    many = json.load(sys.stdin)
    found = {name: [places(series) for series in many] for name, places in PEERS.items()}
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
