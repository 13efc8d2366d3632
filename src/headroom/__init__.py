"""Headroom: a performance laboratory for data systems."""
