"""How often `headroom audit` is wrong: false alarms on sound results, spoilt ones that it finds.

The results are of simulated systems whose truth is known, written as tools write them (see
`tests/support/simulated_benchmarks.py`). `python -m benches.audit 3000` takes a minute.
"""

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.simulated_benchmarks import FORMATS, SPOILT, audited, simulated


def main(benchmarks: int) -> None:
    """Print the shares of alarms."""
    alarms, found, closed = Counter[str](), Counter[str](), 0
    with TemporaryDirectory() as folder:
        for seed in range(benchmarks):
            truth = simulated(seed)
            for name, write in FORMATS.items():
                alarms[name] += bool(audited(write(truth), Path(folder)).findings)
            if truth.clients:
                closed += 1
                for name, spoil in SPOILT.items():
                    found[name] += bool(audited(spoil(truth), Path(folder)).findings)
    for name, count in alarms.items():
        print(f"false alarms, {name}: {count} of {benchmarks}")
    for name, count in found.items():
        print(f"found, {name}: {count} of {closed} ({count / closed:.1%})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
