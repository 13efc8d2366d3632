"""Observing a server that runs: what limits it, how much more it carries, what an operation costs.

Nothing that runs is changed: counters of the kernel and of the server are read, window by window.
"""
