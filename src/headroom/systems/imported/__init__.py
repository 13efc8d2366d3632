"""Runs that other tools recorded, replayed from a file."""
