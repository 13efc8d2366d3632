"""Read layered queueing networks of lqns and lqsim (.lqnx, .lqn)."""

from headroom.lqn.read import read_lqn

SUFFIXES = (".lqnx", ".lqn")
"""How the names of files end that `read_lqn` reads."""

__all__ = ["SUFFIXES", "read_lqn"]
