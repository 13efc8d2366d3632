"""One replication of a command: set up, warm up, measure, extract values, clean up.

Invariant: after `measure` nothing of the replication is left, no process and no file, except
what its own commands wrote outside its temporary folder.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.recording.launching.launcher import (
    Launch,
    Launcher,
    LauncherStoppedError,
    TimeLimitError,
    Usage,
)
from headroom.recording.launching.observer import (
    NotObservedError,
    Report,
    observed,
    read_report,
)
from headroom.systems.command.failure import (
    CommandFailedError,
    Role,
    ended_badly,
    last_words,
    launcher_stopped,
    ran_too_long,
    shown,
)
from headroom.systems.command.pick import divide, pick
from headroom.systems.command.plan import Words
from headroom.systems.command.setup_table import CommandSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """A command with all words filled, and its own temporary folder.

    Parameters
    ----------
    setup
        Limits, accepted exit codes and metrics.
    words
        What to run.
    scratch
        Existing folder (outside the working folder) for what the programs say.
    launcher
        Starts the programs.
    """

    setup: CommandSetup
    words: Words
    scratch: Path
    launcher: Launcher
    beside: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered for the measured run only."""
    check: Callable[[], None] = lambda: None
    """Raises if something that the program needs has ended."""

    watched: list[Report] | None = None
    """Takes what the first warm-up run was seen to use; None if it is not observed."""

    def observe(self) -> list[Report]:
        """Set up, run and clean up once under the observer; nothing is measured."""
        reports: list[Report] = []
        try:
            for argv in self.words.set_up:
                self._run(argv, role="set-up", ok_exit_codes=[0], reports=reports)
            self._run_program(reports)
        except BaseException as error:
            self._clean_up_after(error)
            raise
        self._clean_up()
        return reports

    def measure(self) -> tuple[Usage, dict[str, float]]:
        """Run everything; return what the measured run used, and all its metrics."""
        try:
            for argv in self.words.set_up:
                self._run(argv, role="set-up", ok_exit_codes=[0])
            for number in range(self.setup.warm_up_runs):
                if number or not self._is_first_watched():
                    self._run_program()
            with self.beside():
                usage = self._run_program()
            self.check()
            values = self._values(usage)
        except BaseException as error:
            self._clean_up_after(error)
            raise
        self._clean_up()
        return usage, values

    def _is_first_watched(self) -> bool:
        """Observe the first warm-up run; False if it must be run again, unobserved."""
        if self.watched is None:
            return False
        try:
            self._run_program(self.watched)
        except HeadroomError:
            return False
        # What outlived it was killed, as an observed process would disturb the measured run.
        return not any("l" in report.notes for report in self.watched)

    def _run_program(self, reports: list[Report] | None = None) -> Usage:
        codes = self.setup.ok_exit_codes
        stdin = self.words.stdin
        return self._run(
            self.words.argv, role="program", ok_exit_codes=codes, stdin=stdin, reports=reports
        )

    def _run(
        self,
        argv: list[str],
        *,
        role: Role,
        ok_exit_codes: Sequence[int],
        stdin: Path = Path(os.devnull),
        reports: list[Report] | None = None,
    ) -> Usage:
        launch = self._launch(argv, stdin)
        report = self.scratch / "report"
        if reports is not None:
            launch = observed(launch, report, keeps=role == "set-up")
        try:
            usage = self.launcher.run(launch)
        except TimeLimitError:
            said = last_words(launch.stderr, launch.stdout)
            limit_s = self.setup.time_limit_s
            raise ran_too_long(argv, role=role, limit_s=limit_s, said=said) from None
        except LauncherStoppedError:
            raise launcher_stopped(argv, role=role) from None
        except OSError as error:
            raise _not_started(launch, error) from error
        if reports is not None:
            reports.append(_read_report(report))
        if usage.signal or usage.exit_code not in ok_exit_codes:
            self.check()
            said = last_words(launch.stderr, launch.stdout)
            code, signal_number = usage.exit_code, usage.signal
            raise ended_badly(argv, role=role, code=code, signal_number=signal_number, said=said)
        return usage

    def _launch(self, argv: list[str], stdin: Path) -> Launch:
        return Launch(
            program=program_path(argv[0], environment=self.words.environment),
            argv=argv,
            environment=self.words.environment,
            folder=self.words.folder,
            stdin=stdin,
            stdout=self.scratch / "stdout",
            stderr=self.scratch / "stderr",
            time_limit_s=self.setup.time_limit_s,
        )

    def _values(self, usage: Usage) -> dict[str, float]:
        values = {
            "wall_s": usage.wall_s,
            "user_s": usage.user_s,
            "system_s": usage.system_s,
            "peak_memory_bytes": float(usage.peak_memory_bytes),
            "exit_code": float(usage.exit_code),
            "stdout_bytes": float((self.scratch / "stdout").stat().st_size),
        }
        for metric in self.setup.metrics:
            if metric.quotient:
                values[metric.name] = divide(metric, values)
            else:
                path = self.words.metric_files.get(metric.name, self.scratch / metric.origin)
                values[metric.name] = pick(metric, path=path)
        return values

    def _clean_up(self) -> None:
        for argv in self.words.clean_up:
            self._run(argv, role="clean-up", ok_exit_codes=[0])

    def _clean_up_after(self, error: BaseException) -> None:
        """Clean up without hiding `error`, which is the cause to report."""
        try:
            self._clean_up()
        except HeadroomError as second:
            note = f"{error}; then the clean-up failed too: {second.message}"
            if isinstance(error, HeadroomError):
                raise CommandFailedError(note, cure=error.cure) from error


def _read_report(path: Path) -> Report:
    try:
        return read_report(path)
    except NotObservedError as error:
        raise EnvironmentUnfitError(f"not observed: {error}", cure="set observe = false") from error
    finally:
        path.unlink(missing_ok=True)


def program_path(name: str, *, environment: Mapping[str, str]) -> str:
    """Return the path of a program, or raise `EnvironmentUnfitError` if there is none.

    A name with a slash is a path, from the working folder on; others are looked up in PATH.
    """
    if os.sep in name:
        return _checked_path(name)
    search = environment.get("PATH", os.defpath)
    path = shutil.which(name, path=search)
    if path is None:
        raise EnvironmentUnfitError(
            f"program {name!r} not found (PATH is {search})",
            cure=f"install {name}, correct its name in `argv`, or give its whole path",
        )
    return str(Path(path).absolute())


def _checked_path(name: str) -> str:
    if Path(name).is_absolute() and not os.access(name, os.X_OK):
        is_there = Path(name).exists()
        raise EnvironmentUnfitError(
            f"{name} {'is not executable' if is_there else 'does not exist'}",
            cure=f"chmod +x {name}" if is_there else "correct the path in `argv`",
        )
    return name


_CURES = {
    errno.ENOENT: "check the path, the working folder, and the first line of a script (#!)",
    errno.EACCES: "make it executable: chmod +x",
    errno.E2BIG: "pass less on the command line, for example a file",
    errno.ENOSPC: "free some space on the disk of the temporary folder (TMPDIR)",
}


def _not_started(launch: Launch, error: OSError) -> HeadroomError:
    missing = [path for path in (launch.folder, launch.stdin) if not path.exists()]
    if missing:
        return EnvironmentUnfitError(
            f"{shown(list(launch.argv))} could not start: {missing[0]} does not exist",
            cure="correct `folder` or `stdin`, or make it in `set_up`",
        )
    return EnvironmentUnfitError(
        f"{shown(list(launch.argv))} could not start: {error.strerror} ({launch.program})",
        cure=_CURES.get(error.errno or 0, "run it by hand in the same folder"),
    )


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a fresh temporary folder that removes itself, whatever is in it."""
    return tempfile.TemporaryDirectory(prefix="headroom-", ignore_cleanup_errors=True)
