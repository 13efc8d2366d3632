"""A soft device as a file of a file system (FUSE), so that any program can be tested on it.

``python -m headroom.systems.storage.soft.soft_mount FOLDER SCRIPT.json --bytes "64 MiB"`` serves it
until Ctrl-C. The folder then has three files: `device`, which follows the script in real time;
`power`, which accepts ``off`` and ``on``; and `truth`, which lists the faults injected into the
requests. `soft_script` describes the script.

Invariant: the folder is unmounted on every exit path, even if the requesting process dies; a mount
left by a SIGKILL of the server is recognised by its source, and cleared by the next one.
"""

import argparse
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO, cast

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.machine.machine_facts import ROOT, read_text
from headroom.systems.storage import measure
from headroom.systems.storage.soft.soft_script import SoftScript
from headroom.systems.storage.workloads.sizes import parse_bytes

SOURCE = "headroom-soft"
"""The source of a soft device in the list of mounts."""
READY = "ready"
_END_S = 60.0
"""Maximum wait (s) for the server to end: then it is stuck, even if the machine is busy."""
_MODULE = "headroom.systems.storage.soft.soft_mount"


@dataclass(frozen=True, slots=True)
class SoftMount:
    """A soft device that is mounted in the folder `at`."""

    at: Path
    server: int

    @property
    def device(self) -> Path:
        """The file that is the device."""
        return self.at / "device"

    def switch(self, *, has_power: bool) -> None:
        """Switch the power off, which fails requests in flight, or on."""
        (self.at / "power").write_text("on" if has_power else "off")

    def truth(self) -> dict[str, int]:
        """Return how many requests of each kind have come, and the deliberate faults."""
        return msgspec.json.decode((self.at / "truth").read_bytes(), type=dict[str, int])


def why_not() -> str | None:
    """Return why no soft device can be mounted here, with a hint; None if it can."""
    if not measure.HAS_SOFT_MOUNT:
        return "FUSE is a part of Linux"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is missing: load the module (modprobe fuse), or allow it in the container"
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return "only root mounts without fusermount3: run as root, or install fuse3"
    return None


@contextmanager
def mounted(script: SoftScript, *, size_bytes: int, at: Path) -> Iterator[SoftMount]:
    """Serve a soft device in the empty folder `at` by a separate process.

    Parameters
    ----------
    script
        Its behaviour; its times count from the first request on.
    size_bytes
        Size (B).
    at
        An empty folder; a soft device whose server died is cleared away.

    Raises
    ------
    HeadroomError
        It cannot be mounted, or the script cannot be.
    """
    argv = [sys.executable, "-m", _MODULE, str(at), "-", "--bytes", str(size_bytes)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        to, answers = cast("TextIO", server.stdin), cast("TextIO", server.stdout)
        try:
            to.write(msgspec.json.encode(script).decode() + "\n")
            to.flush()
            if answers.readline().strip() != READY:
                raise EnvironmentUnfitError(
                    f"the soft device did not start in {at}",
                    cure="read the output of its server above",
                )
            yield SoftMount(at, server.pid)
        finally:
            _end(server)
            clear_stale(at)


def _end(server: subprocess.Popen[str]) -> None:
    """End the server, by force if it does not end by itself."""
    server.terminate()
    try:
        server.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.communicate()


def clear_stale(at: Path) -> bool:
    """Unmount a soft device whose server is gone; return whether there was one.

    Raises
    ------
    EnvironmentUnfitError
        Something else is mounted there, a soft device that is served among it.
    """
    source = _mounted_source(at)
    if source is None:
        return False
    try:
        at.stat()
    except OSError as error:
        if source == SOURCE and error.errno == errno.ENOTCONN:
            _unmount(at)
            return True
    raise EnvironmentUnfitError(
        f"{at} is in use: {source} is mounted there",
        cure="take another folder, or end the program that serves it",
    )


def _mounted_source(at: Path) -> str | None:
    """Return the source of the mount at a folder, which may no longer answer."""
    point = os.path.abspath(at)  # noqa: PTH100 - `resolve` asks a folder that may be dead
    source = None
    for line in (read_text(ROOT / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[4].encode().decode("unicode_escape") == point:
            source = after.split()[1]
    return source


def _unmount(at: Path) -> None:
    program = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
    done = subprocess.run([*program, str(at)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise EnvironmentUnfitError(
            f"{at} could not be unmounted: {done.stderr.strip()}",
            cure=f"unmount it yourself: {' '.join(program)} {at}",
        )


def serve(at: Path, script: SoftScript, size_bytes: int) -> None:
    """Serve a soft device in this process until a signal comes; report when it is ready.

    Raises
    ------
    HeadroomError
        It cannot be mounted, or the script cannot be.
    """
    script.check(size_bytes)
    clear_stale(at)
    if not at.is_dir() or any(at.iterdir()):
        raise StudyError(f"{at} is not an empty folder", cure="make one, or name another")
    measure.serve_soft_device(
        at,
        script.job(),
        size_bytes=size_bytes,
        is_ready=lambda: print(READY, flush=True),  # noqa: T201 - the waiting process reads it
    )


def _stop(_signal: int, _frame: object) -> NoReturn:
    # The end of the input sends a second signal, which must not interrupt what the first began.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _stop_at_the_end_of(text: TextIO) -> None:
    """End this process together with the holder of the other end of the pipe."""
    text.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _script(name: str) -> SoftScript:
    """Read a script from a file, or from the first line of what a parent process writes."""
    text = sys.stdin.readline() if name == "-" else Path(name).read_text()
    try:
        return msgspec.json.decode(text, type=SoftScript)
    except msgspec.DecodeError as error:
        raise StudyError(
            f"the script {name} cannot be read: {error}",
            cure="write JSON with the keys of headroom/systems/storage/soft_script.py",
        ) from error


def main() -> int:
    """Serve a soft device according to the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument(
        "script",
        help="JSON file; `-`: the first line of the input, at whose end the device ends too",
    )
    parser.add_argument("--bytes", default="64 MiB", help="size of the device (default 64 MiB)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    try:
        script = _script(given.script)
        if given.script == "-":
            threading.Thread(target=_stop_at_the_end_of, args=(sys.stdin,), daemon=True).start()
        serve(given.folder, script, parse_bytes(given.bytes))
    except KeyboardInterrupt:
        return 0
    except HeadroomError as error:
        print(error, file=sys.stderr)  # noqa: T201 - it is a command
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
