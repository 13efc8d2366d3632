"""The `headroom` command: the only part that talks to a person at a terminal.

Invariant: stdout carries results and nothing else; progress, warnings and errors go to stderr.
No statistics and no drawing here: every command calls the parts in the order of a study's path.
"""

from headroom.cli.app import main

__all__ = ["main"]
