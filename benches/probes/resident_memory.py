"""Print the peak resident memory (bytes) of this process after N completions of a model.

`python -m benches.probes.resident_memory 1000000 mm1`; Linux only, because it reads /proc. Without
completions the model is built and not run.
"""

import sys
from pathlib import Path

from benches.peers.own_models import many_stations, mm1
from benches.peers.workloads import LARGE_JOBS
from headroom.simulation import simulate


def peak_resident_bytes() -> int:
    """Return the largest resident memory (bytes) that this process has had."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not say how much memory a process has had at most")


if __name__ == "__main__":
    completions, key = int(sys.argv[1]), sys.argv[2]
    model = mm1() if key == "mm1" else many_stations(LARGE_JOBS)
    if completions > 0:
        result = simulate(model, seed=1, completions=completions)
    print(peak_resident_bytes())
