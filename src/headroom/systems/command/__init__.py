"""Any program of this machine as a black box: time, memory and figures from its output."""

from headroom.systems.command.system import CommandSystem

__all__ = ["CommandSystem"]
