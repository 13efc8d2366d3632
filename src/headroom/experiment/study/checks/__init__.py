"""Checks of an experiment and its claims, before anything runs."""
