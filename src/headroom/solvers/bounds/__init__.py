"""Bounds that hold for every distribution."""
