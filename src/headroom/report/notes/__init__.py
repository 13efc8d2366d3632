"""Notes on experiments and points: why their results may mislead."""
