"""Running a model: one call into the kernel."""

import time as clocks
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

from headroom import _core
from headroom.simulation.checks.background import unawaited
from headroom.simulation.checks.blocking import blockers
from headroom.simulation.checks.check import canonical_json, refuse_overload
from headroom.simulation.checks.holding import holds, nested
from headroom.simulation.checks.remarks import warn_of
from headroom.simulation.errors import SimulationError, refused
from headroom.simulation.language.arguments import is_number, is_whole
from headroom.simulation.language.model import Model, check_stop
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.runs.result import SimulationResult, WaitsOf, from_kernel

Sampling: TypeAlias = Literal["fast", "inversion", "antithetic"]

SEED_LIMIT = 2**64
TRACE_LIMIT = 10_000_000
INTERVAL_LIMIT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyModel:
    """A model that was checked and read, so that it can be run again without either.

    Parameters
    ----------
    model
        The model; nothing may be added to it any more.
    data
        Its canonical JSON.
    holds, nested, blockers, unawaited
        What holds what, by row of the results; see `SimulationResult`.
    """

    model: Model
    data: bytes
    holds: Mapping[str, tuple[str, ...]]
    nested: Mapping[str, tuple[str, ...]]
    blockers: Mapping[str, tuple[str, ...]]
    unawaited: Mapping[str, tuple[str, ...]]


def ready(model: Model) -> ReadyModel:
    """Check and read `model`.

    Raises
    ------
    SimulationError
        If the model contradicts itself; the message names the line of the step.

    Examples
    --------
    >>> from headroom.systems.model import library
    >>> once = ready(library.mm1())
    >>> [int(run_ready(once, seed=seed, completions=9).classes.capacity.size) for seed in (1, 2)]
    [1, 1]
    """
    if not isinstance(model, Model):
        raise refused(
            f"{model!r} is not a model, so it cannot be simulated",
            cure="pass a Model; `headroom run` simulates model files of a study",
        )
    return ReadyModel(
        model=model,
        data=canonical_json(model),
        holds=_by_row(holds(model), model.pools, model.stations),
        nested=_by_row(nested(model), model.pools, model.pools),
        blockers=_by_row(blockers(model), model.stations, model.stations),
        unawaited=_unawaited_rows(model),
    )


def simulate(
    model: Model,
    *,
    seed: int,
    completions: int | None = None,
    time: float | None = None,
    sample_every: float | None = None,
    interval_ends: Sequence[float] = (),
    trace: int = 0,
    sampling: Sampling = "fast",
) -> SimulationResult:
    """Run `model` once.

    The result depends on model and seed alone, to the last bit, on every machine. Other threads run
    meanwhile.

    Parameters
    ----------
    model
        Model to run.
    seed
        Seed of all random streams, 0 to 2**64 - 1.
    completions, time
        Stop after this number of jobs (all classes together), or at this time (in the model's
        unit), whichever comes first. Either replaces the model's own limits.
    sample_every
        Interval (in the model's time unit) of `SimulationResult.samples`.
    interval_ends
        Ends of `SimulationResult.intervals` (in the model's time unit), rising and above 0; the
        last interval ends with the run.
    trace
        Number of events in `SimulationResult.trace`.
    sampling
        ``"fast"``; ``"inversion"`` of one random number a variate, so that runs of one seed stay in
        step if a law changes its shape; or ``"antithetic"``, the same with 1 - U, for pairs of runs
        whose mean varies less.

    Warns
    -----
    ModelWarning
        If a part of the model has no effect: a station that no program uses, a priority that
        nothing uses.

    Raises
    ------
    SimulationError
        If the model contradicts itself, is overloaded or draws times without a mean (unless it
        stops by time), deadlocks, or runs out of the range of its clock.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("queue", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(0.8))
    >>> model.open_class("customers", program, interarrival=exponential(1))
    >>> result = simulate(model, seed=1, completions=1000)
    >>> int(result.classes.columns["completion_count"][-1, 0])
    1000
    """
    once = ready(model)
    warn_of(model)
    return run_ready(
        once,
        seed=seed,
        completions=completions,
        time=time,
        sample_every=sample_every,
        interval_ends=interval_ends,
        trace=trace,
        sampling=sampling,
    )


def run_ready(
    once: ReadyModel,
    *,
    seed: int,
    completions: int | None = None,
    time: float | None = None,
    sample_every: float | None = None,
    interval_ends: Sequence[float] = (),
    waits: Sequence[WaitsOf] = (),
    trace: int = 0,
    sampling: Sampling = "fast",
) -> SimulationResult:
    """Run a model that `ready` gave once, as `simulate` does, but without remarks on it.

    The result also has the `waits` that are named.
    """
    _check_wishes(seed, completions, time)
    _check_extras(sample_every, trace, sampling)
    _check_interval_ends(interval_ends)
    model = once.model
    if model.holds is not None and completions is not None and completions > model.holds:
        raise SimulationError(
            f"model {model.name!r} holds {model.holds:,} jobs of work, and {completions:,} "
            "completions are asked for",
            cure="give it more work, or leave `completions` out: it then ends with its work",
        )
    if time is None and (completions is not None or model.stop_time is None):
        refuse_overload(model)
    before_s = clocks.thread_time()
    try:
        raw = _core.simulate(
            model=once.data,
            seed=seed,
            completions=completions,
            time=time,
            sample_every=sample_every,
            interval_ends=list(interval_ends),
            waits=waits,
            trace_limit=trace,
            sampling=sampling,
        )
    except _core.KernelError as error:
        message, cure, place = error.args
        where = _line(model, place)
        raise SimulationError(f"{where}model {model.name!r}: {message}", cure=cure) from error
    processor_s = clocks.thread_time() - before_s
    return from_kernel(
        raw,
        processor_s=processor_s,
        holds=once.holds,
        nested=once.nested,
        blockers=once.blockers,
        unawaited=once.unawaited,
        waits=waits,
    )


def _check_wishes(seed: int, completions: int | None, time: float | None) -> None:
    if not is_whole(seed) or not 0 <= seed < SEED_LIMIT:
        raise refused(f"the seed is {seed!r}", cure="give a whole number from 0 to 2**64-1")
    if completions is not None or time is not None:
        check_stop(completions, time)


def _unawaited_rows(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the rows of stations and pools to which only unawaited work comes."""
    names_by_kind = {kind: frozenset(names) for kind, names in unawaited(model).items()}
    of_kinds: dict[str, Mapping[str, tuple[Station | Pool, ...]]] = {
        "station": model.station_rows(),
        "pool": model.pool_rows(),
    }
    return {
        kind: rows
        for kind, names in names_by_kind.items()
        if (
            rows := tuple(
                row
                for row, members in of_kinds[kind].items()
                if all(member.name in names for member in members)
            )
        )
    }


def _by_row(
    relations: Mapping[str, tuple[str, ...]],
    owners: Mapping[str, Station] | Mapping[str, Pool],
    others: Mapping[str, Station] | Mapping[str, Pool],
) -> dict[str, tuple[str, ...]]:
    """Return relations of stations and pools as relations of the rows that report them."""
    rows: dict[str, dict[str, None]] = {}
    for owner, names in relations.items():
        row = rows.setdefault(owners[owner].row, {})
        row.update(dict.fromkeys(others[name].row for name in names))
    return {row: tuple(names) for row, names in rows.items()}


def _line(model: Model, place: tuple[str, int, bool] | None) -> str:
    """Return the line of Python that wrote a step, or made a class, as a beginning."""
    name, step, is_class = place or ("", 0, False)
    if is_class and name in model.classes:
        return f"{model.classes[name].location}: "
    if is_class or name not in model.programs:
        return ""
    return f"{model.programs[name].steps[step].location}: "


def _check_extras(sample_every: float | None, trace: int, sampling: Sampling) -> None:
    if sample_every is not None and (not is_number(sample_every) or sample_every <= 0):
        raise refused(
            f"the samples lie {sample_every!r} apart", cure="give a time above 0 as sample_every"
        )
    if not is_whole(trace) or not 0 <= trace <= TRACE_LIMIT:
        raise refused(
            f"the trace is to keep {trace!r} events",
            cure=f"give a whole number from 0 to {TRACE_LIMIT}",
        )
    if sampling not in get_args(Sampling):
        raise refused(
            f"the sampling is {sampling!r}", cure=f"choose one of {', '.join(get_args(Sampling))}"
        )


def _check_interval_ends(ends: Sequence[float]) -> None:
    if len(ends) > INTERVAL_LIMIT:
        raise refused(
            f"there are {len(ends):,} interval ends", cure=f"give at most {INTERVAL_LIMIT:,}"
        )
    if not all(is_number(end) and end > 0 for end in ends) or any(
        later <= earlier for earlier, later in pairwise(ends)
    ):
        raise refused(
            "the interval ends do not rise from above 0", cure="give each time once, in order"
        )
