"""Memory of a machine: caches and TLBs simulated, streams of accesses, stack distances."""

from headroom.memory.distances import Distances, stack_distances
from headroom.memory.machine import Counts, Level, Machine, Paging, Result, Tlb, simulate
from headroom.memory.streams import pack

__all__ = [
    "Counts",
    "Distances",
    "Level",
    "Machine",
    "Paging",
    "Result",
    "Tlb",
    "pack",
    "simulate",
    "stack_distances",
]
