"""Targets: what may be opened, their contents, and the files created and removed."""
