"""Workloads: their parameters, the same for measured and simulated devices."""
