"""Checks of a model before it runs: errors, bounds, visits, held resources."""
