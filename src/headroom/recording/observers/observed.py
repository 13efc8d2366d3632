"""Metrics and series of what was observed, over the part of a run that counts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.run import ResourceTable, TimeSamples
from headroom.experiment.protocol.system import Metric
from headroom.recording.observers.machine import DISK_BUSY
from headroom.recording.observers.watch import AT, Look

_FEWEST = 2
_MACHINE_SHARES = {
    "cpu.utilization": ("busy_s", "Busy share of all processors"),
    "cpu.user_share": ("user_s", "Share of all processors that programs take"),
    "cpu.system_share": ("system_s", "Share of all processors that the kernel takes"),
    "cpu.steal_share": ("steal_s", "Share of all processors that a hypervisor gave to others"),
    "cpu.wait_share": ("wait_s", "Share of all processors that wait for disks with nothing to do"),
}
_RATES = {
    "switches": "Context switches per second",
    "faults": "Page faults per second",
    "disk_read_bytes": "Bytes per second read from disks",
    "disk_write_bytes": "Bytes per second written to disks",
}
_MACHINE_RATES = {
    **_RATES,
    "major_faults": "Page faults per second that read a disk",
    "net_receive_bytes": "Bytes per second received, loop-back left out",
    "net_send_bytes": "Bytes per second sent, loop-back left out",
}
_PER_OPERATION = {
    "cpu_s": "Processor time of an operation",
    "queue_s": "Time of an operation in which threads wait for a processor",
    "switches": "Context switches of an operation",
    "voluntary_switches": "Context switches of an operation in which a thread stops to wait",
}
_OF_GROUP = {
    "cpu.busy_mean": "Processors that it keeps busy",
    "cpu.crowd_mean": "Mean number of its threads that wait for a processor, without the busiest",
    "blocked_mean": "Mean number of its threads that wait for a device",
    "busiest_thread.runnable_share": "Share of the time in which its busiest thread runs or waits "
    "for a processor",
}
_STALLED = "Share of the time in which some thread of it waits for a device"
_UTILIZATION = ".utilization"
BUSIEST = "busiest_thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Looks at one run.

    Parameters
    ----------
    looks
        Two or more, in order of time.
    cpus
        Processors of the machine.
    limits
        Group to the processors that it may use, where a limit is set.
    own_cpu_s
        Processor time (s) of looking.
    """

    looks: Sequence[Look]
    cpus: int
    limits: Mapping[str, float]
    own_cpu_s: float

    def values(self, *, skip_s: float, throughput: float | None) -> dict[str, float]:
        """Return the metrics over all but the first `skip_s` (s).

        Parameters
        ----------
        throughput
            Operations per second of this time; without it there are no values per operation.
        """
        looks = self._kept(skip_s)
        first, last = looks[0], looks[-1]
        values = {"observer.cpus": self.own_cpu_s / (self.looks[-1].at_s - self.looks[0].at_s)}
        for group in last.totals:
            gained = _gained(first.totals[group], last.totals[group])
            length_s = gained.get(AT, last.at_s - first.at_s)
            memory = [look.totals[group]["memory_bytes"] for look in looks]
            values[f"{group}.memory_bytes_max"] = max(memory)
            rates = _MACHINE_RATES if group == "machine" else _RATES
            values |= {f"{group}.{name}_per_s": gained[name] / length_s for name in rates}
            if "stalled_s" in gained:
                values[f"{group}.io.stalled_share"] = min(gained["stalled_s"] / length_s, 1.0)
            if group == "machine":
                whole_s = self.cpus * length_s
                shares = {name: total for name, (total, _) in _MACHINE_SHARES.items()}
                # The kernel counts these in steps of 10 ms, so that a full window may seem fuller.
                values |= {
                    f"machine.{name}": min(gained[total] / whole_s, 1.0)
                    for name, total in shares.items()
                }
                runnable = [look.totals[group]["runnable"] for look in looks]
                values["machine.runnable_mean"] = sum(runnable) / len(runnable)
                values["machine.cpu.count"] = float(self.cpus)
                disks = [time_s for name, time_s in gained.items() if name.startswith(DISK_BUSY)]
                if disks:
                    values["machine.disk.utilization"] = min(max(disks) / length_s, 1.0)
                continue
            capacity = self.limits.get(group, float(self.cpus))
            values[f"{group}.cpu{_UTILIZATION}"] = gained["cpu_s"] / (capacity * length_s)
            busy_s, runnable_s, queue_s = _busiest_s(first, last, group)
            values[f"{group}.{BUSIEST}{_UTILIZATION}"] = busy_s / length_s
            values[f"{group}.{BUSIEST}.runnable_share"] = min(runnable_s / length_s, 1.0)
            values[f"{group}.cpu.busy_mean"] = gained["cpu_s"] / length_s
            values[f"{group}.cpu.crowd_mean"] = max(gained["queue_s"] - queue_s, 0.0) / length_s
            blocked = [look.totals[group].get("blocked", 0.0) for look in looks]
            values[f"{group}.blocked_mean"] = sum(blocked) / len(blocked)
            queues = [look.totals[group].get("accept_queue") for look in looks]
            known = [queue for queue in queues if queue is not None]
            if known:
                values[f"{group}.accept_queue_mean"] = sum(known) / len(known)
            if "throttled_s" in gained and group in self.limits:
                values[f"{group}.throttled_share"] = gained["throttled_s"] / length_s
            if throughput:
                each = throughput * length_s
                values |= {
                    f"{group}.{name}_per_op": gained.get(name, 0.0) / each
                    for name in _PER_OPERATION
                }
        return values

    def capacities(self) -> dict[str, float]:
        """Return the observed resources, each with its number of servers."""
        found = {"machine.cpu": float(self.cpus)}
        for group in self.looks[-1].totals:
            if group != "machine":
                found[f"{group}.{BUSIEST}"] = 1.0
                if group in self.limits:
                    found[f"{group}.cpu"] = self.limits[group]
        return found

    def samples(self) -> TimeSamples | None:
        """Return the busy processors over time; None for fewer than two intervals of equal length.

        Looks are not quite as regular as a series must be, so totals are interpolated.
        """
        start_s = self.looks[0].at_s
        at_s = np.array([look.at_s for look in self.looks]) - start_s
        if at_s.size <= _FEWEST:
            return None
        steps = np.arange(1, at_s.size - 1) * (at_s[-2] / (at_s.size - 2))
        names = [
            "machine.cpu",
            *(f"{name}.cpu" for name in self.looks[0].totals if name != "machine"),
        ]
        totals = [
            [look.totals[name.removesuffix(".cpu")][_busy_of(name)] for look in self.looks]
            for name in names
        ]
        gained = [np.array(row) - row[0] for row in totals]
        read_s = [self._read_s(name.removesuffix(".cpu")) - start_s for name in names]
        busy_s = np.column_stack(
            [np.interp(steps, own_s, row) for own_s, row in zip(read_s, gained, strict=True)]
        )
        capacity = [self.limits.get(name.removesuffix(".cpu"), float(self.cpus)) for name in names]
        table = ResourceTable(
            kind="station", names=tuple(names), capacity=np.array(capacity),
            columns={"busy_s": busy_s},
        )  # fmt: skip
        return TimeSamples(times_s=steps, tables=(table,))

    def _read_s(self, group: str) -> npt.NDArray[np.float64]:
        """Return the times at which the totals of a group were read."""
        return np.array([look.totals[group].get(AT, look.at_s) for look in self.looks])

    def _kept(self, skip_s: float) -> Sequence[Look]:
        """Return the looks after `skip_s`, but two at least."""
        start_s = self.looks[0].at_s + skip_s
        kept = [look for look in self.looks if look.at_s >= start_s]
        return kept if len(kept) >= _FEWEST else self.looks[-_FEWEST:]


def metrics_of(groups: Iterable[str], limited: Iterable[str], *, per_op: bool) -> Iterator[Metric]:
    """Yield the metrics of the machine and of groups of processes.

    Examples
    --------
    >>> [metric.name for metric in metrics_of([], [], per_op=False)][:2]
    ['observer.cpus', 'machine.memory_bytes_max']
    """
    yield Metric(name="observer.cpus", unit="1", description="Processors that observing takes")
    for group in ("machine", *groups):
        is_machine = group == "machine"
        memory = f"{group}.memory_bytes_max"
        yield Metric(name=memory, unit="B", better="low", description="Most memory in use")
        name = f"{group}.io.stalled_share"
        yield Metric(name=name, unit="1", better="low", description=_STALLED)
        for name, text in (_MACHINE_RATES if is_machine else _RATES).items():
            unit = "B/s" if name.endswith("bytes") else "1/s"
            yield Metric(name=f"{group}.{name}_per_s", unit=unit, description=text)
        if is_machine:
            for name, (_, text) in _MACHINE_SHARES.items():
                yield Metric(name=f"machine.{name}", unit="1", description=text)
            text = "Mean number of threads that run or wait for a processor"
            yield Metric(name="machine.runnable_mean", unit="1", description=text)
            yield Metric(name="machine.cpu.count", unit="1", description="Processors")
            text = "Share of the time in which the busiest disk has work"
            yield Metric(name="machine.disk.utilization", unit="1", description=text)
            continue
        text = "Busy share of the processors that it may use"
        yield Metric(name=f"{group}.cpu{_UTILIZATION}", unit="1", description=text)
        text = "Busy share of its busiest thread"
        yield Metric(name=f"{group}.{BUSIEST}{_UTILIZATION}", unit="1", description=text)
        for name, text in _OF_GROUP.items():
            yield Metric(name=f"{group}.{name}", unit="1", description=text)
        text = "Mean number of connections that wait to be accepted"
        yield Metric(name=f"{group}.accept_queue_mean", unit="1", description=text)
        if group in limited:
            text = "Share of the time in which its limit of processors held it back"
            yield Metric(name=f"{group}.throttled_share", unit="1", description=text)
        for name, text in _PER_OPERATION.items() if per_op else ():
            unit = "s" if name.endswith("_s") else "1"
            yield Metric(name=f"{group}.{name}_per_op", unit=unit, better="low", description=text)


def _gained(first: Mapping[str, float], last: Mapping[str, float]) -> dict[str, float]:
    return {name: value - first.get(name, 0.0) for name, value in last.items()}


def _busiest_s(first: Look, last: Look, group: str) -> tuple[float, float, float]:
    """Return the time (s) that the busiest thread ran, that it could have run, and that it waited.

    The busiest is the one that could have run longest: neighbours take processors from it.
    """
    before_s, after_s = first.threads_s[group], last.threads_s[group]
    queues_s, waited_s = first.queues_s.get(group, {}), last.queues_s.get(group, {})
    found = [(0.0, 0.0, 0.0)]
    for thread, time_s in after_s.items():
        ran_s = time_s - before_s.get(thread, 0.0)
        queue_s = waited_s.get(thread, 0.0) - queues_s.get(thread, 0.0)
        found.append((ran_s, ran_s + queue_s, queue_s))
    most_s = max(found)[0]
    return most_s, *max(found, key=lambda one: one[1])[1:]


def _busy_of(name: str) -> str:
    return "busy_s" if name == "machine.cpu" else "cpu_s"
