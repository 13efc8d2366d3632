"""Simulation models written in Python, by file or by registered name."""

from headroom.systems.model.parameters import parameter
from headroom.systems.model.system import ModelSystem

__all__ = ["ModelSystem", "parameter"]
