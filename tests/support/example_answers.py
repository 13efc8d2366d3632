"""Builders of small results for each kind of answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.answer_evidence import Answer
from headroom.analysis.evidence import (
    Allowed,
    AppliedChange,
    CrossingEvidence,
    IntervalEvidence,
    LostShare,
    Outcome,
)
from headroom.analysis.results import (
    Bottleneck,
    ClaimResult,
    Disturbance,
    Effect,
    ExperimentResult,
    Factor,
    Knee,
    LimitCrossing,
    ParameterUsed,
    PointResult,
    PrintedPoint,
    Resource,
    Saturation,
    StudyResult,
    Verdict,
    WhatIfResult,
)
from headroom.experiment.protocol.system import Value
from tests.support.example_results import estimate, study
from tests.support.example_verdicts import limit_evidence

Metric = tuple[str, Literal["high", "low", "none"], str]
THROUGHPUT: Metric = ("throughput", "high", "1/s")
RESPONSE: Metric = ("response_s_mean", "low", "s")
WALL: Metric = ("wall_s", "low", "s")
RATIO: Metric = ("compression_ratio", "high", "1")


def point(
    levels: Mapping[str, Value],
    values: Mapping[Metric, float],
    *,
    limits: str = "",
    busy: float = 0.5,
    relative: float | None = 0.01,
    **fields: Any,
) -> PointResult:
    """Return a point with a value of each metric, and a verdict about its station."""
    found = [
        estimate(name, unit, value, better=better, relative=relative)
        for (name, better, unit), value in values.items()
    ]
    station = limits or "database"
    used = f"station.{station}.utilization"
    verdict = Bottleneck(
        limits=bool(limits), kind="station" if limits else "none", name=limits,
        evidence=limit_evidence(station, busy, limits=bool(limits)), utilization=busy,
        utilization_low=busy, utilization_high=busy,
    )  # fmt: skip
    estimates = {one.metric: one for one in found}
    estimates[used] = estimate(used, "1", busy, better="none")
    key = ",".join(f"{name}={level}" for name, level in levels.items())
    return PointResult(
        **{
            "key": key, "levels": dict(levels), "done": 10, "failed": 0, "planned": 10,
            "estimates": estimates, "bottleneck": verdict,
            "resources": [Resource(kind="station", name=station, capacity=2)], **fields,
        }
    )  # fmt: skip


def experiment(
    points: Sequence[PointResult],
    *,
    metrics: Sequence[Metric] = (THROUGHPUT, RESPONSE),
    column: Literal["measure", "model"] = "model",
    **fields: Any,
) -> ExperimentResult:
    """Return an experiment whose factors are those of its points."""
    names = list(points[0].levels)
    zipped = {**{name: [] for name in names}, **fields.pop("zipped", {})}
    factors = [
        Factor(
            name=name, unit="1",
            is_numeric=not any(isinstance(one.levels[name], str) for one in points),
            levels=(
                [one.levels[name] for one in points] if zipped[name]
                else list(dict.fromkeys(one.levels[name] for one in points))
            ),
            zipped_with=zipped[name],
        )
        for name in names
    ]  # fmt: skip
    return ExperimentResult(
        **{
            "name": "load", "title": "Load", "system": "model", "column": column,
            "factors": factors, "responses": [name for name, _, _ in metrics],
            "points": list(points), **fields,
        }
    )  # fmt: skip


def measured(points: Sequence[PointResult], **fields: Any) -> ExperimentResult:
    """Return a measured experiment: no verdicts, no stations."""
    plain = [msgspec.structs.replace(one, bottleneck=None, resources=[]) for one in points]
    return experiment(plain, column="measure", metrics=(WALL, RATIO), **fields)


def sweep(*, limits_from: int | None = 250, knee: bool = True, **fields: Any) -> ExperimentResult:
    """Return users from 100 to 400, of whom the database carries 228."""
    users = (100, 200, 250, 300, 400)
    points = [
        point(
            {"users": one},
            {THROUGHPUT: min(one, 228.0), RESPONSE: 0.02 + max(0, one - 228) * 0.005},
            limits="database" if limits_from is not None and one >= limits_from else "",
            busy=min(one / 228.0, 1.0) if limits_from is not None else one / 465.0,
        )
        for one in users
    ]
    found = Knee(
        metric="throughput", factor="users", where={}, found=True, level=228.0, level_low=224.0,
        level_high=232.0,
    )  # fmt: skip
    return experiment(points, knees=[found] if knee else [], **fields)


def losing(result: ExperimentResult, *, share: float = 0.3) -> ExperimentResult:
    """Return an experiment whose last point loses a share of its jobs with their last try."""
    last = result.points[-1]
    done = last.estimates["throughput"].value
    lost = [LostShare(cause="failed", share=share)]
    outcome = Outcome(offered=done / (1.0 - share), goodput=done, lost=lost)
    points = [*result.points[:-1], msgspec.structs.replace(last, outcomes=[outcome])]
    return msgspec.structs.replace(result, points=points)


def what_if(ratio: float, *, name: str = "database", spread: float = 0.01) -> WhatIfResult:
    """Return doubled servers of a station, with the ratio of the throughput."""
    effect = Effect(
        metric="throughput", unit="1/s", better="high", before=228.0, after=228.0 * ratio,
        ratio=ratio, low=ratio - spread, high=ratio + spread, pairs=5, variance_reduction=None,
    )  # fmt: skip
    change = AppliedChange(
        kind="station", name=name, aspect="servers", before=2.0, after=4, factor=2.0
    )
    text = f"station.{name}.servers=x2"
    return WhatIfResult(change=text, applied=[change], done=5, failed=0, effects=[effect])


def with_what_ifs(result: ExperimentResult, *tried: WhatIfResult) -> ExperimentResult:
    """Return an experiment whose last point has what-if runs."""
    last = msgspec.structs.replace(result.points[-1], what_ifs=list(tried))
    return msgspec.structs.replace(result, points=[*result.points[:-1], last])


def purchases() -> ExperimentResult:
    """Return purchases at 400 users, in addition to two servers and 20 connections."""
    rows = [
        ("nothing", 20, 2, 228.0),
        ("connections", 40, 2, 228.2),
        ("server", 20, 3, 292.0),
        ("both", 40, 4, 350.0),
    ]
    points = [
        point({"buy": buy, "connections": pool, "servers": servers}, {THROUGHPUT: value})
        for buy, pool, servers, value in rows
    ]
    names = ["buy", "connections", "servers"]
    zipped = {name: [other for other in names if other != name] for name in names}
    fixed = ParameterUsed(name="users", value=400, unit="1", source="", origin="fixed")
    return experiment(
        points, name="purchase", metrics=(THROUGHPUT,), zipped=zipped, parameters=[fixed]
    )


def now() -> list[ParameterUsed]:
    """Return the parameters of the shop that purchases change."""
    return [
        ParameterUsed(name="connections", value=20, unit="1", source="assumed", origin="default"),
        ParameterUsed(name="servers", value=2, unit="1", source="assumed", origin="default"),
        ParameterUsed(name="buy", value="nothing", unit="", source="assumed", origin="default"),
    ]


def crossing(state: Literal["breaks", "holds", "broken", "unclear"]) -> LimitCrossing:
    """Return where a limit of 200 ms breaks, or that it does not."""
    is_break = state == "breaks"
    return LimitCrossing(
        metric="response_s_mean", unit="s", at_most=0.2, at_least=None, factor="users", where={},
        state=state, level=264.0 if is_break else None, level_low=260.0 if is_break else None,
        level_high=268.0 if is_break else None, current=200.0, headroom=1.32 if is_break else None,
        evidence=CrossingEvidence(at={"holds": 400.0, "broken": 100.0}.get(state, 250.0)),
    )  # fmt: skip


def saturated(levels: Mapping[str, Value]) -> PointResult:
    """Return a point at which the database is offered 1.2 times what it can do."""
    found = Saturation(kind="station", name="database", basis="formulas", load=1.2)
    return msgspec.structs.replace(
        point(levels, {}, limits="database", busy=1.0), estimates={}, saturation=found
    )


def programs(walls: Sequence[float], ratios: Sequence[float], **fields: Any) -> ExperimentResult:
    """Return programs with their times and compression ratios."""
    names = ("gzip", "xz", "bzip2", "zstd")
    rows = zip(names, walls, ratios, strict=False)
    points = [point({"program": name}, {WALL: wall, RATIO: ratio}) for name, wall, ratio in rows]
    return measured(points, **fields)


def disturbed(result: ExperimentResult, *, runs: int) -> ExperimentResult:
    """Return an experiment of which some runs of each point were disturbed."""
    found = [Disturbance(kind="others", share=0.25, replications=list(range(runs)))]
    points = [msgspec.structs.replace(one, disturbances=found) for one in result.points]
    return msgspec.structs.replace(result, points=points)


def claim(name: str, verdict: Verdict, *, source: str = "", **fields: Any) -> ClaimResult:
    """Return a claim about the throughput."""
    return ClaimResult(
        **{
            "name": name, "text": f"Claim {name}", "kind": "value", "experiment": "load",
            "metric": "throughput", "published": "10 /s", "value": 10.0, "low": 9.9, "high": 10.1,
            "verdict": verdict, "evidence": IntervalEvidence(allowed=Allowed(low=9.0, high=11.0)),
            "source": source, "unit": "1/s", **fields,
        }
    )  # fmt: skip


def of_paper(holds: int, differs: int, undecided: int = 0, *, printed: bool = False) -> StudyResult:
    """Return a study whose claims come from a paper."""
    counts: list[tuple[Verdict, int]] = [
        ("holds", holds), ("differs", differs), ("undecided", undecided),
    ]  # fmt: skip
    verdicts = [verdict for verdict, count in counts for _ in range(count)]
    value = PrintedPoint({"users": 100}, 12.0) if printed else None
    claims = [
        claim(str(number), verdict, source="paper by Kim, figure 1", printed=value)
        for number, verdict in enumerate(verdicts)
    ]
    return with_claims(study(sweep()), claims)


def with_claims(result: StudyResult, claims: Sequence[ClaimResult]) -> StudyResult:
    """Return a study with other claims."""
    return msgspec.structs.replace(result, claims=list(claims))


def plain(*experiments: ExperimentResult, **fields: Any) -> StudyResult:
    """Return a complete study without claims."""
    result = msgspec.structs.replace(study(*experiments), claims=[], is_complete=True, failed=0)
    return msgspec.structs.replace(result, **fields)


def answered(result: StudyResult) -> Answer:
    """Return the answer of a study."""
    answer = with_answer(result).answer
    assert answer is not None
    return answer


Build = Callable[[], StudyResult]
