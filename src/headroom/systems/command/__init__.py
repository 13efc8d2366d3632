"""Any program of this machine as a black box: time, memory and values from its output."""

from headroom.systems.command.system import CommandSystem

__all__ = ["CommandSystem"]
