"""The experiment engine: study files, designs, seeds, the runner and its journal.

Invariant: no system is imported here; systems are found by registration (`registry`), and a
model run is a function of (config, seed) whichever process it happens in.
"""
