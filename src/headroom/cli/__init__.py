"""The `headroom` command: the only package that interacts with a user at a terminal.

Invariant: stdout carries results and nothing else; progress, warnings and errors go to stderr.
No statistics and no drawing here: every command calls the parts in the order of a study's path.
"""

import sys

from headroom.errors import ExitCode


def main() -> None:
    """Run the command line; Ctrl-C before it has loaded is not an error either."""
    try:
        from headroom.cli.app import run  # noqa: PLC0415 - loading takes a moment to interrupt
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    run()
