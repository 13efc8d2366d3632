"""Targets: what may be opened, their contents, and what is created and removed."""
