"""Fixtures of the measured catalogue."""

from tests.support.catalogue_programs import catalogue_programs

__all__ = ["catalogue_programs"]
