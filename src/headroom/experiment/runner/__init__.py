"""The runner: blocks, workers, resuming, progress."""
