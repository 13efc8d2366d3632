"""Run one process of a suite, and read its samples."""

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from headroom.gate.suites.tool import (
    Call,
    Choice,
    Output,
    Sample,
    SuiteFailedError,
    Tool,
    combined,
    unreadable,
)

_LINES = 12
"""Last lines of the output of a process that failed, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Commands of one tool.

    Parameters
    ----------
    name, tool
        The tool.
    commands
        Words of each command, as the user gave them.
    time_limit_s
        Of each process.
    any_exit_code
        Accept every exit code.
    """

    name: str
    tool: Tool
    commands: Sequence[Sequence[str]]
    time_limit_s: float
    any_exit_code: bool = False

    def run(self, folder: Path, choice: Choice) -> list[Sample]:
        """Run one process of each command in a folder; return its samples.

        Where the user gave several commands, names of rows begin with the command.

        Raises
        ------
        SuiteFailedError
            A process failed, or wrote no results that the tool would write.
        """
        found = []
        for argv in self.commands:
            head = " ".join(argv) if len(self.commands) > 1 or not self.has_names else ""
            own = choice if not head else _without(choice, f"{head}: ")
            if own is not None:
                found += [_named(head, sample) for sample in self._process(argv, folder, own)]
        return found

    @property
    def has_names(self) -> bool:
        """Whether the tool names its rows."""
        return self.name not in {"program", "number", "rate"}

    def _process(self, argv: Sequence[str], folder: Path, choice: Choice) -> list[Sample]:
        with TemporaryDirectory(prefix="headroom-suite-") as name:
            scratch = Path(name)
            call = self.tool.call(argv, scratch, choice)
            output = self._output(call, folder, scratch)
            try:
                return combined(self.tool.samples(output))
            except (KeyError, TypeError, ValueError, AttributeError, LookupError) as error:
                unreadable(self.name, error)

    def _output(self, call: Call, folder: Path, scratch: Path) -> Output:
        argv, environment = call.argv, {**os.environ, **call.environment}
        paths = scratch / ".stdout", scratch / ".stderr"
        with paths[0].open("wb") as out, paths[1].open("wb") as err:
            start_s = monotonic()
            try:
                process = subprocess.Popen(
                    argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                    stderr=err, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise SuiteFailedError(
                    f"`{argv[0]}` cannot start: {error.strerror}", cure="check its path"
                ) from error
            clock = threading.Timer(self.time_limit_s, _kill, [process.pid])
            clock.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            finally:
                clock.cancel()
                _kill(process.pid)  # What it started and left behind would disturb the next one.
            wall_s = monotonic() - start_s
            process.returncode = os.waitstatus_to_exitcode(status)
        stdout, stderr = (path.read_text("utf-8", errors="replace") for path in paths)
        if process.returncode and not self.any_exit_code:
            last = "\n".join((stdout + stderr).splitlines()[-_LINES:])
            raise SuiteFailedError(
                f"`{' '.join(argv)}` ended with {process.returncode}:\n{last}",
                cure="run it by hand; --ignore-failure accepts every exit code, --time-limit is "
                f"{self.time_limit_s:g} s",
            )
        return Output(
            stdout=stdout, scratch=scratch, wall_s=wall_s,
            processor_time_s=usage.ru_utime + usage.ru_stime,
        )  # fmt: skip


def _kill(process_id: int) -> None:
    try:
        os.killpg(process_id, signal.SIGKILL)
    except ProcessLookupError:
        return


def _without(choice: Choice, head: str) -> Choice | None:
    """Return what a command contributes to a choice, None if nothing."""
    if not choice.wanted:
        return choice
    wanted, others = (
        [name.removeprefix(head) for name in names if name.startswith(head) or name == head[:-2]]
        for names in (choice.wanted, choice.others)
    )
    return Choice(wanted=wanted, others=others) if wanted else None


def _named(head: str, sample: Sample) -> Sample:
    name = ": ".join(filter(None, [head, sample.name]))
    return Sample(
        name=name, metric=sample.metric, value=sample.value, unit=sample.unit, better=sample.better
    )
