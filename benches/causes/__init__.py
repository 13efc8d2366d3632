"""Servers with known bottlenecks, for `headroom what-limits`."""
