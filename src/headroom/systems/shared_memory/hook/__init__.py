"""Memory accesses of real programs, recorded by hooks that a compiler inserts.

`compile_hooked` builds a program, `record` runs it and counts its accesses.
"""

from headroom.systems.shared_memory.hook.build import compile_hooked
from headroom.systems.shared_memory.hook.record import Accesses, Recording, read_trace, record

__all__ = ["Accesses", "Recording", "compile_hooked", "read_trace", "record"]
