"""A command that prints a counter: the last number of its output counts."""

import re
import shlex
import subprocess

from headroom.observe.rates.adapter import PATIENCE_S, Adapter, AdapterError

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


class CommandAdapter(Adapter):
    """Runs a command without a shell.

    Examples
    --------
    >>> CommandAdapter("echo done: 41").count()
    41.0
    """

    __slots__ = ()

    def count(self) -> float:
        """Return the last number that the command prints."""
        cure = f"run it by hand: {self.place}"
        try:
            done = subprocess.run(
                shlex.split(self.place), capture_output=True, text=True, check=False,
                timeout=PATIENCE_S,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise AdapterError(f"the command `{self.place}` failed: {error}", cure=cure) from error
        found = _NUMBER.findall(done.stdout)
        if done.returncode or not found:
            said = (done.stderr or done.stdout).strip()[-200:] or "nothing"
            raise AdapterError(
                f"the command `{self.place}` printed no number, but {said!r} "
                f"(exit code {done.returncode})",
                cure=cure,
            )
        return float(found[-1])
