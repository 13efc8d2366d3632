"""Intervals and tests for arbitrary samples, independent of systems and runs."""
