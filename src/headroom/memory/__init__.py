"""Memory of a machine: caches and TLBs simulated, streams of accesses, stack distances, sweeps."""

from headroom.memory.distances import Distances, stack_distances
from headroom.memory.machine import Counts, Level, Machine, Paging, Result, Tlb, simulate
from headroom.memory.streams import by_thread, pack
from headroom.memory.sweeps import Sweep, sweep

__all__ = [
    "Counts",
    "Distances",
    "Level",
    "Machine",
    "Paging",
    "Result",
    "Sweep",
    "Tlb",
    "by_thread",
    "pack",
    "simulate",
    "stack_distances",
    "sweep",
]
