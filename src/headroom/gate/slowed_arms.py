"""Measure a point undisturbed and with each of its parts slowed, side by side; see `causes`."""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeAlias

import msgspec

from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.options import QUICK, SETTINGS, Options, option
from headroom.experiment.protocol.system import Metric, Value
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.study import Experiment, Quick, Replications, WhatIf
from headroom.gate.arms import ArmPlan, Arms, Place
from headroom.gate.causes import CauseResult, Share, Verdict, judged_causes, with_share
from headroom.gate.compare import RunsFailedError
from headroom.gate.measuring import Measuring, Seen, errors_of
from headroom.gate.question import Question, share_of

SLOWED, NOTHING, SHARE = "slowed", "nothing", "slowed_share"
BASE = "base"
MACHINE = "machine.cpu.utilization"
SLICES_S = (0.001, 0.02, 0.005)
"""Lengths of the stops: work alone; then waits too; then waits where fewer jobs circulate."""
KEEPS_UP = 0.97
"""Share of the offered load from which a system keeps up with it."""
_PRECISION = 0.2
"""Half-width of a share of the limit that is sure enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatLimits(Options):
    """What is slowed, by how much, and how long it is measured."""

    point: str | None = option(
        "--point",
        "Point of the study: its key, or its levels [the last one that is measured].",
        metavar="POINT",
    )
    by: float = option(
        "--by", "Share by which each part is slowed.", read=share_of, written="20%",
        metavar="SHARE", default=0.2,
    )  # fmt: skip
    parts: Sequence[str] = option(
        "--part", "Slow this part; repeatable [the program and every service].", default=()
    )
    less: Sequence[str] = option(
        "--less",
        "Lower this parameter of the study by the share, as a pool or a limit that it sets; "
        "repeatable.",
        metavar="PARAMETER",
        default=(),
    )
    runs: int | None = option("--runs", "A fixed number of blocks [until it is sure].", low=8)
    max_runs: int = option("--max-runs", "Maximum number of blocks.", low=8, default=60)
    max_time_s: float | None = option(
        "--max-time",
        "Start no run after this time [no new round after 300 s].",
        metavar="SECONDS",
        low=0.0,
    )
    quick: bool = option(like=QUICK, default=False)
    settings: Sequence[str] = option(like=SETTINGS, default=())

    @property
    def question(self) -> Question:
        """How long the arms are measured."""
        return Question(
            runs=self.runs,
            max_runs=self.max_runs,
            max_time_s=self.max_time_s,
            until=(1.0 - self.by) ** -_PRECISION - 1.0,
        )


_Values: TypeAlias = Mapping[str, Sequence[Mapping[str, float]]]
"""Metrics of each run of each arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """A point, its experiment, and the values that parameters get when they are lowered."""

    loaded: LoadedStudy
    experiment: PlannedExperiment
    point: Point
    less: Mapping[str, Value]


def causes_of(
    loaded: LoadedStudy,
    folder: Path,
    asked: WhatLimits,
    *,
    point_key: Callable[[Any, str], str],
    new_progress: Callable[[], Progress],
) -> CauseResult:
    """Slow each part of a point in turn, and say what limits it.

    Parameters
    ----------
    loaded
        The study.
    folder
        Empty folder for the journals.
    asked
        What is slowed, and how long it is measured.
    point_key
        Finds a point of a plan by what the user wrote.
    new_progress
        Returns the progress of a round.

    Raises
    ------
    StudyError
        There is nothing to slow.
    RunsFailedError
        A part was slowed and no run succeeded.
    """
    chosen = _chosen(loaded, asked, point_key)
    slices = SLICES_S if chosen.experiment.spec.system.get("name") == "command" else SLICES_S[:1]
    earlier: list[Share] = []
    for number, slice_s in enumerate(slices):
        place = folder / str(number)
        place.mkdir()
        found = _measured(chosen, asked, slice_s, place, new_progress)
        # Longer stops that name no part may have starved all of them: shorter ones are next.
        if found.verdict == "part" or found.stopped == "interrupted":
            break
        if not earlier and found.verdict != "nothing":
            break
        earlier = earlier or found.shares
    is_later = bool(earlier) and found.verdict == "part"
    # Where longer stops name no part, they prove nothing: the first ones are the answer.
    if earlier and not is_later:
        verdict: Verdict = "nothing"
        return msgspec.structs.replace(found, verdict=verdict, named=[], shares=earlier)
    return msgspec.structs.replace(found, by_waiting=is_later, earlier=earlier)


def _chosen(
    loaded: LoadedStudy, asked: WhatLimits, point_key: Callable[[Any, str], str]
) -> _Chosen:
    plan = make_plan(loaded, quick=asked.quick)
    points = [
        (experiment, point)
        for experiment in plan.experiments
        for point in experiment.points
        if experiment.spec.system.get("name") == "command" or asked.less
    ]
    if asked.point is not None:
        key = point_key(plan, asked.point)
        points = [pair for pair in points if pair[1].key == key]
    if not points:
        raise StudyError(
            "no point of the study runs a program whose parts can be slowed",
            cure="of a model, ask `headroom what-if`; or lower a parameter: --less NAME",
        )
    experiment, point = points[-1]
    less = {name: _lower(name, point, asked.by) for name in asked.less}
    return _Chosen(loaded=loaded, experiment=experiment, point=point, less=less)


def _lower(name: str, point: Point, by: float) -> Value:
    """Return the value of a parameter lowered by a share; a whole number by 1 at least.

    Raises
    ------
    StudyError
        It is no number that can be lowered.
    """
    value = point.config.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise StudyError(
            f"{name!r} is no number above 0 at this point",
            cure=f"--less takes one of: {', '.join(map(str, point.config)) or 'none'}",
        )
    if isinstance(value, float) and not value.is_integer():
        return value * (1.0 - by)
    lower = min(math.floor(value * (1.0 - by)), int(value) - 1)
    if lower < 1:
        raise StudyError(f"{name!r} is {value:g} and cannot be lowered", cure="leave it out")
    return lower


def _measured(
    chosen: _Chosen,
    asked: WhatLimits,
    slice_s: float,
    folder: Path,
    new_progress: Callable[[], Progress],
) -> CauseResult:
    arms = _arms(chosen, asked, slice_s)
    with Journal.open(journal_path(folder, False), create=True) as journal, kept_workers():  # noqa: FBT003 - no variant
        measuring = Measuring(arms=arms, journal=journal, new_progress=new_progress)
        stopped = measuring.run(asked.question)
        (seen,) = measuring.look()
        values = {
            name: [row.run.values for row in journal.rows(one.spec.name, point.key) if row.run]
            for name, (one, point) in arms.places[0].points.items()
        }
    if errors := errors_of([seen]):
        raise RunsFailedError(errors[0], cure="run the study alone: headroom run STUDY")
    shares = _shares(seen, values, chosen, asked, slice_s)
    machine = _median(values[BASE], MACHINE)
    metric = arms.places[0].metrics[0]
    base = _median(values[BASE], metric.name) or 0.0
    verdict, named = judged_causes(shares, machine=machine)
    if verdict != "part" and _keeps_up(chosen, metric.name, base):
        verdict, named = "load", []
    return CauseResult(
        study=chosen.loaded.study.name,
        experiment=chosen.experiment.spec.name,
        levels=dict(chosen.point.levels),
        metric=metric,
        base=base,
        verdict=verdict,
        named=named,
        shares=shares,
        machine=machine,
        blocks=min((share.rows[0].pairs or share.rows[0].count for share in shares), default=0),
        stopped=stopped,
        notes=measuring.notes,
    )


def _arms(chosen: _Chosen, asked: WhatLimits, slice_s: float) -> Arms:
    """Return the plan in which the point runs undisturbed, and with each part slowed."""
    spec, point = chosen.experiment.spec, chosen.point
    is_command = spec.system.get("name") == "command"
    parts = _parts(chosen, asked) if is_command else []
    names = [BASE, *parts, *chosen.less]
    columns: dict[str, list[Value]] = {}
    if is_command:
        columns[SLOWED] = [NOTHING, *parts, *(NOTHING for _ in chosen.less)]
    for name, lower in chosen.less.items():
        value = point.config[name]
        columns[name] = [lower if arm == name else value for arm in names]
    table = {"by": asked.by, "slice_s": slice_s} if is_command else None
    planned = _planned(chosen, table, columns)
    points = dict(zip(names, planned.points, strict=True))
    place = Place(
        experiment=spec.name,
        points={name: (planned, one) for name, one in points.items()},
        metrics=_metrics(planned),
    )
    plan = make_plan(chosen.loaded, quick=False)
    return Arms(
        plan=replace(plan, experiments=(planned,), seed=secrets.randbits(32)),
        arms=tuple(ArmPlan(name=name, label=name) for name in names),
        places=(place,),
    )


def _parts(chosen: _Chosen, asked: WhatLimits) -> list[str]:
    """Return the parts to slow, as the system names them."""
    probe = _planned(chosen, {"by": asked.by}, {SLOWED: [NOTHING]})
    known = next(one for one in probe.system.parameters() if one.name == SLOWED).choices
    parts = [str(name) for name in known if name != NOTHING]
    for name in asked.parts:
        if name not in parts:
            raise StudyError(f"no such part: {name!r}", cure=f"choose among {', '.join(parts)}")
    return list(dict.fromkeys(asked.parts)) or parts


def _planned(
    chosen: _Chosen, slowed: Mapping[str, Any] | None, columns: dict[str, list[Value]]
) -> PlannedExperiment:
    """Return the experiment at the point alone, in the variants that the columns list."""
    spec, point = chosen.experiment.spec, chosen.point
    fixed = {name: value for name, value in spec.fixed.items() if name not in columns}
    fixed |= {name: value for name, value in point.levels.items() if name not in columns}
    alone: Experiment = msgspec.structs.replace(
        spec,
        system={**spec.system, **({"slowed": dict(slowed)} if slowed else {})},
        fixed=fixed,
        factors={},
        zipped=[columns],
        without=[],
        quick=Quick(),
        replications=Replications(count=10),
        what_if=WhatIf(),
        limits=[],
        derived=[],
        compare=None,
        fit=None,
    )
    study = msgspec.structs.replace(chosen.loaded.study, experiments=[alone], claims=[], asks=[])
    plan = make_plan(replace(chosen.loaded, study=study, settings=()), quick=False)
    return plan.experiments[0]


def _metrics(experiment: PlannedExperiment) -> tuple[Metric, ...]:
    """Return the throughput, or the time of a run, and then the other responses with a side."""
    declared = {one.name: one for one in experiment.system.metrics(experiment.points[0].config)}
    observe = experiment.spec.system.get("observe")
    named = observe.get("throughput", "") if isinstance(observe, dict) else ""
    rates = [name for name, one in declared.items() if one.unit == "1/s" and one.better == "high"]
    first = named or next(iter(rates), "wall_s")
    if first not in declared:
        raise StudyError(
            "the study has no rate and no time that could become worse",
            cure="name the throughput: [experiment.system.observe] throughput = METRIC",
        )
    others = [
        declared[name]
        for name in experiment.spec.responses
        if name in declared and name != first and declared[name].better != "none"
    ]
    return declared[first], *others[:2]


def _shares(
    seen: Seen, values: _Values, chosen: _Chosen, asked: WhatLimits, slice_s: float
) -> list[Share]:
    found = []
    for part in (name for name in seen.points if name != BASE):
        rows = [seen.row(metric, base=BASE, other=part) for metric in seen.place.metrics]
        by = asked.by
        if part in chosen.less:
            by = 1.0 - float(chosen.less[part]) / float(chosen.point.config[part])
        else:
            held = [run[SHARE] for run in values[part]]
            by = fmean(held) if held else asked.by  # none yet, where Ctrl-C came first
        is_stopped = part not in chosen.less and not part.endswith(".limit")
        share = Share(part=part, by=by, slice_s=slice_s if is_stopped else None, rows=rows)
        found.append(with_share(share))
    return found


def _median(runs: Sequence[Mapping[str, float]], metric: str) -> float | None:
    values = [run[metric] for run in runs if metric in run]
    return median(values) if values else None


def _keeps_up(chosen: _Chosen, metric: str, base: float) -> bool:
    """Return whether undisturbed runs carry the load that was offered."""
    tables = chosen.experiment.spec.system.get("metric", ())
    offered = next((one.get("offered") for one in tables if one.get("name") == metric), None)
    load = chosen.point.config.get(offered) if offered else None
    return isinstance(load, int | float) and base >= KEEPS_UP * load
