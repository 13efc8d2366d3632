"""Verification of what is read, as figures of a run."""
