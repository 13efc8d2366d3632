"""Intervals and tests, for any samples; nothing here knows a system or a run."""
