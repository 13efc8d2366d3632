"""A Dask cluster of separate processes, as users start it: a scheduler, and workers with nannies.

Its processes can be killed one by one; all end with the `with` block.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from distributed import Client

ROOT = Path(__file__).resolve().parents[2]
_START_S = 120.0
_QUIET = {
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
}


class DaskProcesses:
    """A scheduler and `worker_count` workers with one thread each, on the loopback interface.

    Parameters
    ----------
    folder
        Folder for their files.
    worker_count
        Workers, each with a nanny.
    hosts
        Hosts that one further worker each announces: all are this machine, the first under the
        address 127.0.0.2, the next under 127.0.0.3 ...
    """

    def __init__(self, folder: Path, *, worker_count: int = 2, hosts: Sequence[str] = ()) -> None:
        self.folder = folder
        self._worker_count = worker_count
        self._hosts = hosts
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def on(self) -> str:
        """The address for `--on`."""
        return self.address.replace("tcp://", "dask://")

    @property
    def pids(self) -> list[int]:
        """The scheduler and the commands that start the workers."""
        started = [self._scheduler, *self._workers]
        return [process.pid for process in started if process is not None]

    def start(self) -> None:
        """Start all processes, and wait until every worker is known."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        self._scheduler = self._started(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(file),
        )  # fmt: skip
        deadline = monotonic() + _START_S
        while not self._is_written(file):
            assert monotonic() < deadline, "the scheduler does not start"
            assert self._scheduler.poll() is None
            sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        options = [["--host", "127.0.0.1", "--nworkers", str(self._worker_count)]]
        options += [
            ["--host", f"127.0.0.{number}", "--resources", f"{name}=1"]
            for number, name in enumerate(self._hosts, start=2)
        ]
        for one in options:
            self.join(*one)
        self.await_workers()

    def join(self, *options: str) -> None:
        """Start one more command with workers, without a wait."""
        worker = self._started(
            "worker", self.address, "--nthreads", "1", "--no-dashboard", "--memory-limit", "0",
            "--local-directory", str(self.folder), *options,
        )  # fmt: skip
        self._workers.append(worker)

    def await_workers(self) -> None:
        """Wait until every worker is known to the scheduler."""
        with self.client() as client:
            count = self._worker_count + len(self._hosts)
            client.wait_for_workers(count, timeout=_START_S)

    def client(self) -> Client:
        """Return a new connection."""
        return Client(self.address, set_as_default=False, timeout=_START_S)

    def worker_pids(self) -> list[int]:
        """Return the process of each worker."""
        with self.client() as client:
            return sorted(client.run(os.getpid).values())

    def kill_scheduler(self) -> None:
        """Kill the scheduler alone."""
        assert self._scheduler is not None
        self._scheduler.kill()
        self._scheduler.wait()

    def kill_workers(self) -> None:
        """Kill the workers and their nannies: they have a session of their own."""
        for leader in self._workers:
            _kill_session(leader)
        self._workers = []

    def stop(self) -> None:
        """Kill what still runs."""
        self.kill_workers()
        _kill_session(self._scheduler)
        self._scheduler = None

    def _started(self, kind: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments],
            env={**os.environ, **_QUIET, "PYTHONPATH": str(ROOT)},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @staticmethod
    def _is_written(file: Path) -> bool:
        try:
            return bool(json.loads(file.read_text()))
        except (OSError, ValueError):
            return False


def _kill_session(leader: "subprocess.Popen[bytes] | None") -> None:
    if leader is not None:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()
