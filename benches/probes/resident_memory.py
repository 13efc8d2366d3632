"""Print the peak resident memory (bytes) of this process after N customers of M/M/1.

`python -m benches.probes.resident_memory 1000000`; Linux only, because it reads /proc.
"""

import sys
from pathlib import Path

from benches.peers.own_models import mm1
from headroom.simulation import simulate


def peak_resident_bytes() -> int:
    """Return the largest resident memory (bytes) that this process has had."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not say how much memory a process has had at most")


if __name__ == "__main__":
    simulate(mm1(), seed=1, completions=int(sys.argv[1]))
    print(peak_resident_bytes())
