"""Probability laws: distributions, arrival processes, and fits of both to samples."""
