"""What the figures of points mean: bottleneck, saturation, knee, limits, comparisons."""
