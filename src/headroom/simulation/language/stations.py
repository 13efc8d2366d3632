"""Stations and pools: the resources that jobs queue for, and their service disciplines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from headroom.simulation.errors import SimulationError, refused
from headroom.simulation.language.amounts import check_expression
from headroom.simulation.language.arguments import check_count, choose, is_number
from headroom.simulation.language.expression import Expression, Operand, as_expression
from headroom.simulation.language.schedules import Schedule
from headroom.simulation.language.streams import stream_key
from headroom.simulation.laws.distribution import Distribution

Discipline: TypeAlias = Literal[
    "fcfs",
    "lcfs",
    "lcfs_preempt",
    "priority",
    "priority_preempt",
    "ps",
    "infinite",
    "random",
    "elevator",
    "elevator_two_way",
    "nearest",
]
BY_POSITION: frozenset[str] = frozenset({"elevator", "elevator_two_way", "nearest"})
"""Disciplines that use the positions of jobs."""

WhenFull: TypeAlias = Literal["block", "reject"]
BreakdownUnit: TypeAlias = Literal["all", "each"]
PoolOrder: TypeAlias = Literal["fcfs", "priority"]
COUNTING = 1_000_000
"""Tokens from which on a pool never runs out, and only counts what holds them."""


@dataclass(frozen=True, slots=True)
class Station:
    """Servers with one queue; made by `Model.station`, with its parameters as fields."""

    name: str
    servers: int
    model_id: int = field(repr=False)
    discipline: Discipline = "fcfs"
    limit: int | None = None
    speeds: tuple[float, ...] | None = None
    buffer: int | None = None
    when_full: WhenFull = "block"
    batch: tuple[int, int] | None = None
    group: str = ""
    position: Expression | None = field(default=None, compare=False)
    location: str = field(default="", repr=False)
    server_schedule: Schedule | None = None
    speed_schedule: Schedule | None = None

    @property
    def row(self) -> str:
        """Name under which it is reported: that of its group where it has one."""
        return self.group or self.name

    @property
    def total_speed(self) -> float:
        """Work that all servers together do in a time unit: the servers if none is faster.

        Of a schedule its mean in the long run; of two, not more than they can do together.
        """
        total = float(self.servers) if self.speeds is None else sum(self.speeds)
        if self.server_schedule is not None and self.speed_schedule is not None:
            return total * self.speed_schedule.highest
        if self.server_schedule is not None:
            total *= self.server_schedule.mean / self.servers
        return total if self.speed_schedule is None else total * self.speed_schedule.mean

    @property
    def fastest(self) -> float:
        """Speed of the fastest server, 1 for servers without a speed."""
        pace = 1.0 if self.speed_schedule is None else self.speed_schedule.highest
        return pace if self.speeds is None else max(self.speeds) * pace

    @property
    def schedules(self) -> dict[str, Schedule]:
        """Attributes that follow a schedule: ``servers``, ``speed``."""
        known = {"servers": self.server_schedule, "speed": self.speed_schedule}
        return {kind: schedule for kind, schedule in known.items() if schedule is not None}

    @property
    def capacity(self) -> float:
        """Jobs that find room, in service or waiting; infinite without a buffer."""
        return float("inf") if self.buffer is None else float(self.servers + self.buffer)

    @property
    def blocks(self) -> bool:
        """True if a full station holds up jobs that want to enter."""
        return self.buffer is not None and self.when_full == "block"

    @property
    def rejects(self) -> bool:
        """True if a full station rejects arriving jobs."""
        return self.buffer is not None and self.when_full == "reject"

    def with_servers(self, servers: int) -> "Station":
        """Return the station with another number of servers; speeds are repeated in order."""
        servers = check_count(f"station {self.name!r}", "servers", servers)
        if self.discipline == "infinite":
            raise SimulationError(
                f"station {self.name!r} has infinitely many servers",
                cure="change the number of servers of a station of another discipline",
            )
        speeds = self.speeds
        if speeds is not None:
            speeds = tuple(speeds[index % len(speeds)] for index in range(servers))
        limit = None if self.limit is None else max(self.limit, servers)
        timed = _with_highest(self.server_schedule, servers, f"station {self.name!r}", "servers")
        return replace(self, servers=servers, speeds=speeds, limit=limit, server_schedule=timed)

    def with_speed(self, factor: float) -> "Station":
        """Return the station with servers that are `factor` (> 0) times as fast."""
        if not is_number(factor) or factor <= 0:
            raise SimulationError(
                f"station {self.name!r} is made {factor!r} times as fast",
                cure="give a factor above 0",
            )
        speeds = self.speeds or (1.0,) * self.servers
        return replace(self, speeds=tuple(float(speed * factor) for speed in speeds))

    def to_data(self) -> dict[str, object]:
        """Return the station as the kernel reads it."""
        data: dict[str, object] = {"name": self.name, "servers": self.servers}
        if self.discipline != "fcfs":
            data["discipline"] = self.discipline
        if self.limit is not None:
            data["limit"] = self.limit
        if self.speeds is not None:
            data["speeds"] = list(self.speeds)
        if self.buffer is not None:
            data["buffer"] = self.buffer
        if self.when_full != "block":
            data["when_full"] = self.when_full
        if self.batch is not None:
            data["batch"] = {"least": self.batch[0], "most": self.batch[1]}
        if self.group:
            data["group"] = self.group
        if self.position is not None:
            code = self.position.to_code(f"station {self.name}: position")
            data["position"] = {"kind": "expression", "code": code}
        return data


@dataclass(frozen=True, slots=True)
class Pool:
    """Counted tokens; made by `Model.pool`."""

    name: str
    tokens: int
    model_id: int = field(repr=False)
    order: PoolOrder = "fcfs"
    group: str = ""
    location: str = field(default="", repr=False)
    schedule: Schedule | None = None

    @property
    def row(self) -> str:
        """Name under which it is reported: that of its group where it has one."""
        return self.group or self.name

    @property
    def schedules(self) -> dict[str, Schedule]:
        """Attributes that follow a schedule: ``tokens``."""
        return {} if self.schedule is None else {"tokens": self.schedule}

    @property
    def mean_tokens(self) -> float:
        """Tokens, of a schedule their mean in the long run."""
        return float(self.tokens) if self.schedule is None else self.schedule.mean

    def with_tokens(self, tokens: int) -> "Pool":
        """Return the pool with another number of tokens; of a schedule, the highest."""
        what = f"pool {self.name!r}"
        count = check_count(what, "tokens", tokens)
        return replace(
            self, tokens=count, schedule=_with_highest(self.schedule, count, what, "tokens")
        )

    def to_data(self) -> dict[str, object]:
        """Return the pool as the kernel reads it."""
        data: dict[str, object] = {"name": self.name, "tokens": self.tokens}
        if self.order != "fcfs":
            data["order"] = self.order
        if self.group:
            data["group"] = self.group
        return data


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Failure and repair of the servers of a station; made by `Model.breakdowns`."""

    station: str
    unit: BreakdownUnit
    time_to_failure: Distribution
    repair: Distribution
    location: str = field(default="", repr=False)

    @property
    def availability(self) -> float:
        """Share of time in which a server is up, 0 to 1."""
        cycle = self.time_to_failure.mean + self.repair.mean
        return self.time_to_failure.mean / cycle if cycle < float("inf") else 1.0

    def to_data(self) -> dict[str, object]:
        """Return the breakdown as the kernel reads it."""
        return {
            "station": self.station,
            "unit": self.unit,
            "time_to_failure": self.time_to_failure.to_data(),
            "repair": self.repair.to_data(),
            "stream": stream_key(f"station {self.station}: breakdowns"),
        }


def _with_highest(timed: Schedule | None, highest: int, what: str, word: str) -> Schedule | None:
    """Return a schedule whose values grow with its highest; refuse fractional values."""
    if timed is None or timed.highest == highest:
        return timed
    scaled = timed.scaled(highest / timed.highest)
    whole = replace(scaled, values=tuple(float(round(value)) for value in scaled.values))
    if any(
        not math.isclose(value, other)
        for value, other in zip(scaled.values, whole.values, strict=True)
    ):
        raise SimulationError(
            f"{what} has {list(timed.values)!r} {word} by its schedule; scaled to a highest of "
            f"{highest}, they are not whole numbers",
            cure="choose a multiple that keeps all of them whole",
        )
    return whole


def checked_station(station: Station, *, when_full: str | None) -> Station:
    """Return a station with plain ints; refuse parameters that contradict each other."""
    name = f"station {station.name!r}"
    choose(name, "discipline", station.discipline, get_args(Discipline))
    choose(name, "rule when_full", station.when_full, get_args(WhenFull))
    servers = check_count(name, "servers", station.servers)
    buffer = station.buffer
    if buffer is not None:
        buffer = check_count(name, "waiting places (buffer)", buffer, least=0)
    elif when_full is not None:
        raise refused(
            f"{name} says what happens when it is full, but can never be full",
            cure="give buffer=, the number of waiting places, or leave when_full out",
        )
    _check_speeds(name, station)
    _check_schedules(name, station)
    limit = _checked_limit(name, station)
    _check_position(name, station)
    checked = replace(station, servers=servers, buffer=buffer, limit=limit)
    if station.batch is None:
        return checked
    return replace(checked, batch=_checked_batch(name, checked, station.batch))


def as_speeds(name: str, speeds: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return speeds as a tuple of positive numbers."""
    if speeds is None:
        return None
    values = tuple(speeds) if isinstance(speeds, Sequence) else (speeds,)
    if not values or not all(is_number(speed) and speed > 0 for speed in values):
        raise refused(
            f"station {name!r} has the speeds {speeds!r}", cure="give a list of numbers above 0"
        )
    return tuple(float(speed) for speed in values)


def as_batch(batch: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """Return a batch as its least and its most jobs; one number is both."""
    if batch is None:
        return None
    if isinstance(batch, tuple) and len(batch) == 2:  # noqa: PLR2004 - least and most
        return batch
    return (batch, batch)


def _check_speeds(name: str, station: Station) -> None:
    if station.speeds is None:
        return
    if len(station.speeds) != station.servers:
        raise refused(
            f"{name} has {station.servers} server(s) and {len(station.speeds)} speed(s)",
            cure=f"give one speed a server: servers={len(station.speeds)}",
        )
    if station.discipline == "ps" and len(set(station.speeds)) > 1:
        raise refused(
            f"{name} shares servers of different speed",
            cure="give all servers of a ps station the same speed, or make two stations",
        )


def _check_schedules(name: str, station: Station) -> None:
    if station.server_schedule is not None and station.discipline == "infinite":
        raise refused(
            f"{name} has infinitely many servers, and a schedule of them",
            cure="leave servers out, or choose another discipline",
        )
    if station.server_schedule is not None and len(set(station.speeds or ())) > 1:
        raise refused(
            f"{name} has servers of different speed, and a schedule of their number",
            cure="give all servers the same speed, or make a station of each speed",
        )
    pace = station.speed_schedule
    if pace is not None and min(pace.values) <= 0:
        raise refused(
            f"{name} has the speeds {list(pace.values)!r} by its schedule",
            cure="give numbers above 0; to close a station, let servers follow a schedule to 0",
        )


def as_position(name: str, position: Operand | None, model_id: int) -> Expression | None:
    """Return where jobs are as an expression."""
    if position is None:
        return None
    expression = as_expression(position)
    check_expression(expression, f"the position of jobs at station {name!r}", model_id)
    return expression


def _check_position(name: str, station: Station) -> None:
    is_by_position = station.discipline in BY_POSITION
    if is_by_position and station.position is None:
        raise refused(
            f"{name} serves by position ({station.discipline}), but has no positions of jobs",
            cure="give position=, an attribute or expression of the job",
        )
    if station.position is not None and not is_by_position:
        raise refused(
            f"{name} has positions of jobs, but its discipline is {station.discipline}",
            cure=f"leave position out, or choose one of {', '.join(sorted(BY_POSITION))}",
        )


def _checked_limit(name: str, station: Station) -> int | None:
    """Return the limit of a station; refuse what its discipline gives no meaning to."""
    limit = station.limit
    if limit is not None:
        limit = check_count(name, "jobs that share its servers (limit)", limit)
        if station.discipline != "ps":
            raise refused(
                f"{name} limits the jobs that share its servers, but its discipline is "
                f"{station.discipline}",
                cure='leave limit out, or write discipline="ps"',
            )
        if limit < station.servers:
            raise refused(
                f"{name} lets {limit} job(s) share {station.servers} servers, so that "
                "some never work",
                cure="give a limit of at least the servers",
            )
    if station.discipline == "infinite" and (station.servers != 1 or station.buffer is not None):
        raise refused(
            f"{name} has infinitely many servers, so no job waits",
            cure="leave servers and buffer out, or choose another discipline",
        )
    return limit


def _checked_batch(name: str, station: Station, batch: tuple[int, int]) -> tuple[int, int]:
    least = check_count(name, "jobs in a batch", batch[0])
    most = check_count(name, "jobs in a batch", batch[1], least=least)
    if station.discipline in {"ps", "infinite", "lcfs_preempt", "priority_preempt"}:
        raise refused(
            f"{name} takes jobs in batches, but its discipline is {station.discipline}",
            cure="choose fcfs, lcfs, priority, random or one by position for batch service",
        )
    if station.capacity < least:
        raise refused(f"{name} has no room for a batch of {least}", cure="give a larger buffer")
    return least, most
