"""Targets: what may be opened, what lies there, what is made and removed."""
