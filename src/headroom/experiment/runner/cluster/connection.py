"""A cluster for one command: opened at first use, checked, and left in order.

A Dask scheduler runs any code that a client sends: it belongs behind TLS (`tls://`, with Dask's own
settings for certificates; a cluster of this machine has its own, see `private_cluster`).

Invariant: a worker whose program differs from this one runs nothing; if others are there, it is
left out and named.
"""

import asyncio
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.runner.cluster import on_worker
from headroom.experiment.runner.cluster.address import Address
from headroom.experiment.runner.cluster.parcel import pack
from headroom.experiment.runner.executors import Executor
from headroom.experiment.runner.tasks import Recipe
from headroom.experiment.study.plan import PlannedExperiment

if TYPE_CHECKING:
    from distributed import Client

    from headroom.experiment.runner.cluster.host import FarHost

WAIT_S = 60.0
"""Time (s) that a command waits for the first worker, and for another one once all are gone."""
CONNECT_S = 30.0
"""Time (s) that a scheduler may take to answer: job scripts start it just before."""
_CALL_S = 30.0
_LOOK_S = 2.0
_SETTINGS = {
    "logging": {"distributed": "critical", "distributed.client": "critical"},
    "distributed.nanny.pre-spawn-environ": {"DASK_LOGGING__DISTRIBUTED": "critical"},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.preload": [on_worker.__name__],
    "distributed.scheduler.allowed-failures": 2,
    "distributed.admin.large-graph-warning-threshold": "1 GiB",
    "distributed.comm.retry.count": 1,
}
"""Dask's settings for the driver and for clusters of this machine: three deaths fail a task."""


class Cluster:
    """Workers of a Dask cluster; a `Place`.

    Parameters
    ----------
    address
        Where it is.
    say
        Called with a sentence for the user.
    wait_s
        Time (s) that workers may take to appear.
    """

    def __init__(
        self, address: Address, say: Callable[[str], None], *, wait_s: float = WAIT_S
    ) -> None:
        self.name = address.text
        self.session = uuid4().hex
        self.say = say
        self._address = address
        self._wait_s = wait_s
        self._client: Client | None = None
        self._local = ExitStack()
        self._count = 0
        self.left_out: set[str] = set()
        self._sends_functions = False
        self._simulating: list[str] = []
        self._looked_at = 0.0
        self._has_said: set[str] = set()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def client(self) -> "Client":
        """The connection, opened at first use.

        Raises
        ------
        EnvironmentUnfitError
            No scheduler answers, no worker appears, or a worker has another program.
        """
        if self._client is None:
            self._client = self._connected()
            self._await_workers(self._client)
            self.check_workers()
            count = f"{self._count} worker{'' if self._count == 1 else 's'}"
            self.say(f"simulations run on {self.name} ({count})")
        return self._client

    @property
    def worker_count(self) -> int:
        """Simulations that run at the same time: threads of all workers, at least 1.

        Counted again every few seconds; workers may come and go.
        """
        _ = self.client
        if monotonic() - self._looked_at > _LOOK_S:
            self._look()
        return max(self._count, 1)

    @property
    def is_empty(self) -> bool:
        """Whether all workers are gone."""
        return self.worker_count == 1 and self._count == 0

    @property
    def wait_s(self) -> float:
        """Time (s) that workers may take to appear."""
        return self._wait_s

    def executor(
        self, experiments: Iterable[PlannedExperiment], recipes: Mapping[str, Recipe]
    ) -> Executor:
        """Send the recipes to the workers, and return what hands them chunks."""
        from headroom.experiment.runner.cluster.dask_executor import DaskExecutor  # noqa: PLC0415

        planned = list(experiments)
        sent = [one.system for one in planned if one.spec.name in recipes]
        if any(getattr(system, "carries_functions", False) for system in sent):
            self._sends_functions = True
            self.check_workers()
        parcel = pack(planned, recipes)
        if parcel.note and parcel.note not in self._has_said:
            self._has_said.add(parcel.note)
            self.say(parcel.note)
        return DaskExecutor(
            self, parcel, has_time_limits=any(one.time_limit_s for one in recipes.values())
        )

    @property
    def code(self) -> on_worker.Code:
        """What a worker's program must be; its Python matters only where functions travel."""
        here = on_worker.code_here()
        return here if self._sends_functions else msgspec.structs.replace(here, python="")

    def hosts(
        self, experiments: Mapping[str, Sequence[PlannedExperiment]], folder: Path
    ) -> "Mapping[str, FarHost]":
        """Return the machines that workers announce, by `Experiment.site`."""
        from headroom.experiment.runner.cluster.host import far_hosts  # noqa: PLC0415 - a few studies

        return far_hosts(self, experiments, folder)

    def host_address(self, name: str) -> str:
        """Return the one worker that announces a host.

        Raises
        ------
        EnvironmentUnfitError
            There is none, or several.
        """
        addresses = [address for address, names in self.announced().items() if name in names]
        if len(addresses) == 1:
            return addresses[0]
        there = sorted({name for names in self.announced().values() for name in names})
        what = f"{len(addresses)} workers announce" if addresses else "no worker announces"
        raise EnvironmentUnfitError(
            f"{what} the host {name!r} in {self.name}; announced: {', '.join(there) or 'none'}",
            cure=f"start one worker on that machine: dask worker ADDRESS --nthreads 1 --resources "
            f'"{name}=1"',
        )

    def announced(self) -> dict[str, dict[str, float]]:
        """Return the hosts that each worker announces, and how many of each."""
        return {address: dict(one["resources"]) for address, one in self._workers().items()}

    def asked(self, address: str, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - of any function
        """Return the result of a function on one worker, or its error; waits as long as both live.

        Raises
        ------
        EnvironmentUnfitError
            The scheduler is gone.
        """
        client = self.client

        async def ask() -> Any:  # noqa: ANN401 - as above
            run = client.run(
                function, *arguments, workers=[address], on_error="return", asynchronous=True
            )
            task = asyncio.ensure_future(run)
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            try:
                while not (await asyncio.wait([task], timeout=_LOOK_S))[0]:
                    # Dask itself would try to connect for half a minute.
                    if not await _is_known(client, address):
                        return ConnectionError("its worker ended")
                return (await task).get(address)
            finally:
                task.cancel()

        try:
            return client.sync(ask)
        except OSError as error:
            raise lost(self, error) from error

    @property
    def simulating(self) -> list[str]:
        """Workers that simulate, where some announce hosts or are left out; empty if all may."""
        if monotonic() - self._looked_at > _LOOK_S:
            self._look()
        return self._simulating

    def leave_out(self, address: str, difference: str) -> None:
        """Send nothing more to a worker with another program, named once; raise without others."""
        if address not in self.left_out:
            self.left_out.add(address)
            self.say(f"{address} is left out: it has another program: {difference}")
        self._look()
        if not self._count:
            raise refused(f"{address}: {difference}")

    def close(self) -> None:
        """Leave the cluster; one of this machine ends."""
        client, self._client = self._client, None
        if client is not None:
            if client.status == "running" and self._address.scheduler:
                with suppress(Exception):  # what is left there ends with its worker
                    self._ask(client, on_worker.forget, self.session)
            with suppress(Exception):
                client.close(timeout=2)
        with suppress(Exception):
            self._local.close()

    def _connected(self) -> "Client":
        import dask  # noqa: PLC0415 - loaded for clusters only

        dask.config.set(_SETTINGS)
        from distributed import Client  # noqa: PLC0415 - after its settings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if self._address.scheduler.startswith("tls:"):
                    _check_certificates(self.name)
                if self._address.scheduler:
                    return Client(self._address.scheduler, timeout=CONNECT_S, set_as_default=False)
                # It is loaded after Dask's settings, and for clusters of this machine only.
                from headroom.experiment.runner.cluster.private_cluster import (  # noqa: PLC0415
                    private_cluster,
                )

                count = self._address.worker_count or os.cpu_count() or 1
                local = self._local.enter_context(private_cluster(count))
                return Client(local, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise EnvironmentUnfitError(
                f"no Dask scheduler answers at {self.name}: {_first_line(error)}",
                cure="start it (dask scheduler --host ADDRESS), or correct the address; tls:// "
                "needs certificates in Dask's settings",
            ) from error

    def _await_workers(self, client: "Client") -> None:
        from distributed.core import CommClosedError  # noqa: PLC0415 - as above

        self._look()
        if self._count:
            return
        self.say(f"waiting for the first worker of {self.name}")
        with suppress(TimeoutError, CommClosedError):
            client.wait_for_workers(1, timeout=self._wait_s)
        self._look()
        if not self._count:
            raise no_workers(self)

    def check_workers(self) -> bool:
        """Leave out workers with another program; returns whether some are new, raises if all."""
        try:
            answers: Mapping[str, Any] = self._ask(self.client, on_worker.describe_code)
        except (OSError, TimeoutError) as error:
            raise lost(self, error) from error
        wrong = {address: _difference(self.code, answer) for address, answer in answers.items()}
        wrong = {address: difference for address, difference in wrong.items() if difference}
        new = sorted(wrong.keys() - self.left_out)
        if wrong and len(wrong) == len(answers):
            address, difference = next(iter(sorted(wrong.items())))
            raise refused(f"{address}: {difference}", count=len(wrong), of=len(answers))
        for address in new:
            self.leave_out(address, wrong[address])
        return bool(new)

    def _ask(self, client: "Client", function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        """Return what a function returns on each worker, or its error; waits only so long."""
        run = partial(client.run, function, *arguments, on_error="return", asynchronous=True)
        return client.sync(run, callback_timeout=_CALL_S)

    def _look(self) -> None:
        """Find the workers that simulate, and count their threads."""
        there = self._workers()
        workers = {address: one for address, one in there.items() if address not in self.left_out}
        free = {address: one for address, one in workers.items() if not one["resources"]}
        chosen = free or workers
        self._simulating = sorted(chosen) if len(chosen) < len(there) else []
        self._count = sum(one["nthreads"] for one in chosen.values())
        self._looked_at = monotonic()

    def _workers(self) -> Mapping[str, Any]:
        from distributed.core import CommClosedError  # noqa: PLC0415 - as above

        client = self.client
        if client.status != "running":
            raise lost(self)
        ask = partial(client.scheduler.identity, n_workers=-1)
        try:
            answer = client.sync(ask, callback_timeout=_CALL_S)
        except (OSError, TimeoutError, CommClosedError) as error:
            raise lost(self, error) from error
        workers: Mapping[str, Any] = answer["workers"]
        return workers


async def _is_known(client: "Client", address: str) -> bool:
    """Return whether the scheduler knows a worker; `OSError` without a scheduler."""
    if client.status != "running":
        raise ConnectionError("it has ended")
    answer = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), _CALL_S)
    return address in answer["workers"]


def lost(cluster: Cluster, error: BaseException | None = None) -> HeadroomError:
    """Return the error of a scheduler that no longer answers."""
    reason = f": {_first_line(error)}" if error is not None else ""
    return EnvironmentUnfitError(
        f"the connection to the scheduler at {cluster.name} is lost{reason}",
        cure="finished replications are stored; start the scheduler and its workers again, then "
        "run the same command to resume",
    )


def no_workers(cluster: Cluster) -> HeadroomError:
    """Return the error of a cluster without workers."""
    return EnvironmentUnfitError(
        f"{cluster.name} has had no worker for {cluster.wait_s:g} s",
        cure="start some (dask worker ADDRESS --nthreads 1), then run the same command; finished "
        "replications are stored",
    )


def refused(difference: str, *, count: int = 1, of: int = 1) -> HeadroomError:
    """Return the error of workers with another program."""
    others = f" (and {count - 1} more of {of} workers)" if count > 1 else ""
    return EnvironmentUnfitError(
        f"a worker has another program: {difference}{others}",
        cure="install the same version of Headroom, of its plug-ins and of Python on all machines, "
        "and start the workers again; a model in a file needs no equal Python",
    )


def _check_certificates(name: str) -> None:
    """Refuse `tls://` without certificates: Dask would fail with a type error."""
    from distributed.security import Security  # noqa: PLC0415 - loaded for clusters only

    if Security().get_connection_args("client").get("ssl_context") is None:
        raise EnvironmentUnfitError(
            f"{name} needs certificates, and Dask's settings name none",
            cure="name distributed.comm.tls.ca-file, and cert and key of distributed.comm.tls."
            "client; see https://distributed.dask.org/en/stable/tls.html",
        )


def _difference(here: on_worker.Code, answer: object) -> str:
    if isinstance(answer, bytes):
        return here.difference(msgspec.msgpack.decode(answer, type=on_worker.Code))
    if isinstance(answer, OSError | TimeoutError):
        return ""  # it is gone, whatever its program was
    return f"Headroom cannot be loaded there ({_first_line(answer)})"


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
