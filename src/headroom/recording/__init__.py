"""Needs of every measured system: starting programs, services, places for files."""
