"""Simulation models written in Python, by file or by registered name."""

from headroom.experiment.protocol.model_parameters import parameter
from headroom.systems.model.system import ModelSystem

__all__ = ["ModelSystem", "parameter"]
