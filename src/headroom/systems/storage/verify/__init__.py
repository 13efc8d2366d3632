"""Verification of data read back, reported as metrics of a run."""
