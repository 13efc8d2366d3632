"""All services of a command: those on its own host, and those on others, asked by messages.

Metrics of another machine are named by its role: ``machine.server.cpu.utilization``.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from headroom.experiment.journal.run_codec import decode_run
from headroom.experiment.protocol.roles import Placement
from headroom.experiment.protocol.run import ResourceTable, Run, TimeSamples
from headroom.experiment.protocol.system import Metric, Value
from headroom.recording.observers.observed import metrics_of
from headroom.recording.observers.observing import Observing
from headroom.recording.services.keeper import Fill, Keeper
from headroom.recording.services.service import ServiceFailedError
from headroom.recording.services.table import ServiceTable
from headroom.systems.command.apart.messages import Answer, Ask
from headroom.systems.command.observation import beside
from headroom.systems.command.setup_table import CommandSetup

LOCAL_WORDS = ("folder", "log", "bin")
"""Placeholders of a service that mean something on its own host only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The services of a command.

    Parameters
    ----------
    setup
        The command.
    keeper
        Services of this host.
    placement
        Where the others are, None if all are here.
    """

    setup: CommandSetup
    keeper: Keeper
    placement: Placement | None

    def ensure(self, config: Mapping[str, Value], seed: int, fill: Fill) -> dict[str, str]:
        """Start what does not run yet, in the order of the study; return their placeholders."""
        words: dict[str, str] = {}
        for table in self.setup.services:
            if self.placement is None or self.placement.is_here(table.role):
                words = self.keeper.ensure([table], fill, words)
                continue
            ask = Ask(
                what="start",
                config=dict(config),
                seed=seed,
                service=table.name,
                words=travelling(words),
            )
            words |= travelling(self._asked(self.placement.hosts[table.role], ask).words)
        return words

    def check(self) -> None:
        """Raise `ServiceFailedError` if a service has ended that no fault was to end."""
        self.keeper.check()
        self._all(Ask(what="check"))

    @contextmanager
    def beside(self, observer: Observing) -> Iterator[None]:
        """Observe the measured run on all hosts while the faults of its services happen."""
        with ExitStack() as stack:
            for host in self._others:
                self._asked(host, Ask(what="begin"))
                stack.callback(self._asked, host, Ask(what="end"))
            stack.enter_context(beside(observer, self.keeper))
            yield

    def found(self, config: Mapping[str, Value]) -> Iterator[str]:
        """Yield what other hosts supply, each word with its role."""
        ask = Ask(what="find", config=dict(config))
        for host in self._others:
            role = self.placement.role_at(host) if self.placement else ""
            yield from (f"{role}:{word}" for word in self._asked(host, ask).found.split())

    def added_to(self, run: Run) -> Run:
        """Return a run with what was observed on other hosts."""
        observe = self.setup.observers
        throughput = run.values.get(observe.throughput) if observe else None
        for host in self._others:
            found = self._asked(host, Ask(what="observe", throughput=throughput)).run
            run = _joined(run, decode_run(found), self.placement.role_at(host))  # type: ignore[union-attr]  # others have a placement
        return run

    def logs(self) -> dict[str, bytes]:
        """Return the ends of the logs on other hosts, as far as these still answer."""
        return {
            name: text
            for host in self._others
            for name, text in self._asked(host, Ask(what="logs")).logs.items()
        }

    def end_of_run(self) -> None:
        """End the services that each replication starts again."""
        self.keeper.end_of_run()
        self._all(Ask(what="end_of_run"))

    @property
    def _others(self) -> tuple[str, ...]:
        """Other hosts with services, if they are held."""
        if self.placement is None or not self.placement.addresses:
            return ()
        return self.placement.others

    def _all(self, ask: Ask) -> None:
        for host in self._others:
            self._asked(host, ask)

    def _asked(self, host: str, ask: Ask) -> Answer:
        if self.placement is None:
            raise AssertionError(f"{host} is asked, but all services are here")
        encoded = self.placement.ask(host, msgspec.msgpack.encode(ask))
        answer = msgspec.msgpack.decode(encoded, type=Answer)
        if answer.error:
            raise ServiceFailedError(f"{host}: {answer.error}", cure=answer.cure)
        return answer


def travelling(words: Mapping[str, str]) -> dict[str, str]:
    """Return the placeholders that mean the same on every host.

    Examples
    --------
    >>> travelling({"db.port": "5432", "db.log": "/tmp/log"})
    {'db.port': '5432'}
    """
    return {k: v for k, v in words.items() if k.rpartition(".")[2] not in LOCAL_WORDS}


def metrics_elsewhere(placement: Placement) -> Iterator[Metric]:
    """Yield the metrics of the other machines."""
    for host in placement.others:
        role = placement.role_at(host)
        for metric in metrics_of([], [], per_op=False):
            text = f"{metric.description}, on the machine of the {role}"
            yield replace(metric, name=named_by_role(metric.name, role), description=text)


def named_by_role(name: str, role: str) -> str:
    """Return the name of a metric or resource of another machine.

    Examples
    --------
    >>> named_by_role("machine.cpu", "server"), named_by_role("service.db.cpu", "server")
    ('machine.server.cpu', 'service.db.cpu')
    """
    first, _, rest = name.partition(".")
    return f"{first}.{role}.{rest}" if first in {"machine", "observer"} else name


def services_at(tables: Iterable[ServiceTable], placement: Placement | None) -> list[ServiceTable]:
    """Return the services of this host."""
    return [table for table in tables if placement is None or placement.is_here(table.role)]


def _joined(run: Run, found: Run, role: str) -> Run:
    def renamed(values: Mapping[str, float]) -> dict[str, float]:
        return {named_by_role(name, role): value for name, value in values.items()}

    return replace(
        run,
        values={**run.values, **renamed(found.values)},
        observed={**run.observed, **renamed(found.observed)},
        counters={**run.counters, **{f"{role}_{k}": v for k, v in found.counters.items()}},
        remarks=(*run.remarks, *(f"{role}: {remark}" for remark in found.remarks)),
        samples=_side_by_side(run.samples, found.samples, role),
    )


def _side_by_side(
    samples: TimeSamples | None, found: TimeSamples | None, role: str
) -> TimeSamples | None:
    """Return both over the times of the first: they began together, within milliseconds."""
    if samples is None or found is None:
        return samples
    (own,), (far,) = samples.tables, found.tables
    times_s = np.concatenate([[0.0], found.times_s])
    busy_s = [
        np.interp(samples.times_s, times_s, np.concatenate([[0.0], column]))
        for column in far.columns["busy_s"].T
    ]
    table = ResourceTable(
        kind="station",
        names=(*own.names, *(named_by_role(name, role) for name in far.names)),
        capacity=np.concatenate([own.capacity, far.capacity]),
        columns={"busy_s": np.column_stack([own.columns["busy_s"], *busy_s])},
    )
    return TimeSamples(times_s=samples.times_s, tables=(table,))
