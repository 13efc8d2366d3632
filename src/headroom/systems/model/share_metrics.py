"""The time shares of each class that its programs make possible.

Invariant: the metrics declared here are those that `headroom.analysis.run.states` finds in a run,
and only for the stations and pools that a class can come to. If only work comes that no job waits
for, there is no share: it does not count towards the time of a job.
"""

from collections.abc import Collection, Iterator, Mapping

from headroom.experiment.protocol.system import Metric
from headroom.simulation import Model
from headroom.simulation.checks.background import unawaited
from headroom.simulation.language.step import Step

MOST_PLACES = 400
"""Stations, or pools, times classes up to which each pair has shares; as the analysis has it."""
_WORDS = {
    "wait_share": "Share of the time in the system spent in the queue there",
    "service_share": "Share of the time in the system spent in service there",
    "blocked_share": "Share of the time in the system spent on a server there, with no way on",
    "pool.wait_share": "Share of the time in the system spent waiting for tokens of it",
    "delay_share": "Share of the time in the system spent in delays",
    "join_share": "Share of the time in the system spent waiting for arms or replies",
    "outside_share": "Share of the time in the system spent outside of full stations",
}


def share_metrics(model: Model) -> Iterator[Metric]:
    """Yield the time shares that jobs of each class can spend in each state."""
    can_fill = any(
        station.buffer is not None and not station.rejects for station in model.stations.values()
    )
    background = unawaited(model)
    for name, steps in _steps_of_classes(model).items():
        ops = {step.op for step in steps}
        yield from _place_shares(model, name, steps, background, can_fill=can_fill)
        if "delay" in ops or any("pause" in step.amounts for step in steps):
            yield _share(f"class.{name}.delay_share", "delay_share")
        if ops & {"fork", "call"}:
            yield _share(f"class.{name}.join_share", "join_share")
        if can_fill:
            yield _share(f"class.{name}.outside_share", "outside_share")


def share_metrics_of_all() -> tuple[Metric, ...]:
    """Return every share, with NAME for the class and S, P for a station and a pool."""
    places = {
        "station.S.wait_share": "wait_share",
        "station.S.service_share": "service_share",
        "station.S.blocked_share": "blocked_share",
        "pool.P.wait_share": "pool.wait_share",
    }
    rest = {name: name for name in ("delay_share", "join_share", "outside_share")}
    return tuple(_share(f"class.NAME.{name}", kind) for name, kind in (places | rest).items())


def _place_shares(
    model: Model,
    name: str,
    steps: list[Step],
    background: Mapping[str, Collection[str]],
    *,
    can_fill: bool,
) -> Iterator[Metric]:
    """Yield the shares of the stations and pools that `steps` come to."""
    if len(model.classes) * len(model.station_rows()) <= MOST_PLACES:
        used_ones = _named(steps, "use", "station", background.get("station", ()))
        stations = (model.stations[used] for used in used_ones)
        for used, station in {part.row: part for part in stations}.items():
            prefix = f"class.{name}.station.{used}."
            if station.discipline != "infinite":
                yield _share(f"{prefix}wait_share", "wait_share")
            yield _share(f"{prefix}service_share", "service_share")
            if can_fill and station.discipline != "infinite":
                yield _share(f"{prefix}blocked_share", "blocked_share")
    if len(model.classes) * len(model.pool_rows()) <= MOST_PLACES:
        asked_ones = _named(steps, "acquire", "pool", background.get("pool", ()))
        for asked in dict.fromkeys(model.pools[asked_one].row for asked_one in asked_ones):
            yield _share(f"class.{name}.pool.{asked}.wait_share", "pool.wait_share")


def _named(steps: list[Step], op: str, key: str, left_out: Collection[str]) -> list[str]:
    named = dict.fromkeys(str(step.data[key]) for step in steps if step.op == op)
    return [name for name in named if name not in left_out]


def _steps_of_classes(model: Model) -> dict[str, list[Step]]:
    """Return the steps that jobs of each class can take, including callees and started programs."""
    return {name: _reached(model, job_class.program) for name, job_class in model.classes.items()}


def _reached(model: Model, first: str) -> list[Step]:
    programs, reached = [first], []
    for name in programs:
        steps = model.programs[name].steps
        reached += steps
        called = [str(s.data["program"]) for s in steps if s.op in {"call", "start"}]
        programs += [callee for callee in dict.fromkeys(called) if callee not in programs]
    return reached


def _share(name: str, kind: str) -> Metric:
    return Metric(name=name, unit="1", description=_WORDS[kind])
