"""The cost floor of an I/O: a bare loop in Rust (`benches/nexosim/src/bare_io.rs`).

It keeps no times and no statistics. Its cost is the kernel's work, which every program pays, so no
tool can be cheaper.
"""

import subprocess
from functools import cache

from benches.peers import rust_programs
from benches.peers.fio import Cost, Load
from benches.peers.workloads import PeerMissingError

PROGRAM = "bare-io"
NAME = "bare loop"


@cache
def missing() -> str:
    """Return why the loop cannot be run, an empty text if it can; builds it."""
    try:
        rust_programs.build(PROGRAM)
    except PeerMissingError as error:
        return str(error)
    return ""


def run(load: Load, seconds: float) -> Cost:
    """Run `load` for `seconds`; its processor time is that of the loop alone."""
    argv = [
        str(rust_programs.TARGET / "release" / PROGRAM),
        *(str(load.path), str(load.size_bytes), load.interface, load.kind, str(load.depth)),
        *("direct" if load.is_direct else "cached", str(seconds)),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    count, elapsed_s, program_s, kernel_s = (float(text) for text in done.stdout.split())
    return Cost(
        count=count,
        per_s=count / elapsed_s,
        processor_s=program_s + kernel_s,
        program_s=program_s,
    )
