"""Verdicts on points: bottleneck, saturation, knee, limits, comparisons."""
