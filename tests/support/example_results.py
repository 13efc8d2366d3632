"""Builders of synthetic results, one per shape that a report must show.

Every shape is a plain `StudyResult`, so that the page and the terminal are tested without
running a study.
"""

import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.evidence import (
    Allowed,
    CurveEvidence,
    Fault,
    IntervalEvidence,
    LevelEstimate,
    NoInterval,
    NoKnee,
    Step,
    WarmUpEvidence,
)
from headroom.analysis.results import (
    Bottleneck,
    ClaimResult,
    Distribution,
    DrawnModel,
    Estimate,
    ExperimentResult,
    Factor,
    Knee,
    LittleCheck,
    Method,
    ParameterUsed,
    PointResult,
    Resource,
    StudyResult,
    WarmUpCut,
)
from headroom.experiment.study.study import Replications
from tests.support.example_comparisons import compared, predicting
from tests.support.example_verdicts import limit_evidence

if TYPE_CHECKING:
    from headroom.experiment.protocol.system import Value

_SATURATION = 110.0


def estimate(
    metric: str,
    unit: str,
    value: float,
    *,
    relative: float | None = 0.03,
    better: Literal["high", "low", "none"] = "low",
    count: int = 10,
    centre: Literal["mean", "median"] = "mean",
) -> Estimate:
    """Return an estimate whose interval is `relative` to each side, None for no interval."""
    side = None if relative is None else abs(value) * relative
    method: Method = "student-t" if centre == "mean" else "order statistics"
    return Estimate(
        metric=metric,
        unit=unit,
        better=better,
        count=count,
        value=value,
        low=None if side is None else value - side,
        high=None if side is None else value + side,
        method=method if side is not None else "none",
        centre=centre,
        mean=value,
        median=value,
        stdev=abs(value) * 0.05,
        minimum=value * 0.9,
        maximum=value * 1.1,
        reason=None if side is not None else NoInterval(code="one_replication"),
    )


def _response_s(users: float, servers: int) -> float:
    """Return a response time that is flat at first and then grows with the queue."""
    load = users / (_SATURATION * servers / 2)
    flat = 0.040 + 0.012 / max(1 - min(load, 0.93), 0.07)
    return flat + max(0.0, users - _SATURATION * servers / 2) * 0.011


def _histogram(mean: float, count: int) -> Distribution:
    low = [0.001 * 1.12**step for step in range(90)]
    high = [bound * 1.12 for bound in low]
    share = [math.exp(-((math.log(bound / mean) + 0.2) ** 2) / (2 * 0.55**2)) for bound in low]
    counts = [round(count * part / sum(share)) for part in share]
    return Distribution(
        metric="response_s", unit="s", count=sum(counts), low=low, high=high, counts=counts
    )


def _warm_up(mean: float, *, is_steady: bool) -> WarmUpCut:
    times = [float(step) for step in range(200)]
    drift = 0.0 if is_steady else 0.004
    values = [
        mean * (1 - math.exp(-time / 12) + 0.04 * math.sin(time * 1.7) + drift * time)
        for time in times
    ]
    return WarmUpCut(
        method="mser5",
        cut_s=35.0,
        run_s=200.0,
        is_steady=is_steady,
        evidence=(
            None
            if is_steady
            else WarmUpEvidence(code="still_settles", run_s=200.0, metric="response_s")
        ),
        times_s=times,
        values=values,
        metric="response_s",
    )


def _estimates_of(resource: Resource, used: float) -> list[Estimate]:
    prefix = f"{resource.kind}.{resource.name}."
    queue = used**4 / max(1 - used, 0.01)
    return [
        estimate(f"{prefix}utilization", "1", used, relative=0.01, better="none"),
        estimate(f"{prefix}queue_len_mean", "1", queue, relative=0.08),
        estimate(f"{prefix}wait_s_mean", "s", 0.005 * queue, relative=0.08),
        estimate(f"{prefix}throughput", "1/s", 190.0 * used, better="high"),
    ]


def model_point(users: int, servers: int, *, is_steady: bool = True) -> PointResult:
    """Return one simulated point with everything that a point can carry."""
    response, used = _response_s(users, servers), min(0.995, users / (_SATURATION * servers / 2))
    loads = [
        (Resource(kind="station", name="web", capacity=4), used * 0.55),
        (Resource(kind="station", name="database", capacity=servers), used),
        (Resource(kind="pool", name="connections", capacity=20), used * 0.8),
    ]
    estimates = [
        estimate("response_s_mean", "s", response),
        estimate("response_s_p50", "s", response * 0.8),
        estimate("response_s_p95", "s", response * 2.1, relative=0.05),
        estimate("response_s_p99", "s", response * 2.9, relative=0.09),
        estimate("throughput", "1/s", 2.0 * min(users, _SATURATION * servers / 2), better="high"),
        *(found for resource, load in loads for found in _estimates_of(resource, load)),
    ]
    return PointResult(
        key=f"users={users},servers={servers}",
        levels={"users": users, "servers": servers},
        done=10,
        failed=0,
        estimates={found.metric: found for found in estimates},
        resources=[resource for resource, _ in loads],
        bottleneck=Bottleneck(
            limits=used > 0.95,
            kind="station" if used > 0.95 else "none",
            name="database" if used > 0.95 else "",
            evidence=limit_evidence("database", used, limits=used > 0.95),
            utilization=used,
            utilization_low=used * 0.99,
            utilization_high=min(1.0, used * 1.01),
        ),
        warm_up=_warm_up(response, is_steady=is_steady),
        distributions=[_histogram(response, 50_000)],
        little=LittleCheck(passed=True, worst_gap=0.004, kind="station", name="database"),
        seeds=[1000 + users * 10 + step for step in range(3)],
    )


def model_experiment() -> ExperimentResult:
    """Return a sweep over one numeric factor with a second one as series."""
    users: list[Value] = [10, 20, 40, 60, 80, 100, 120, 160, 200, 300]
    servers: list[Value] = [2, 4]
    points = [
        model_point(int(user), int(server), is_steady=int(user) < 300 or int(server) > 2)
        for server in servers
        for user in users
    ]
    return ExperimentResult(
        name="load",
        title="How many users does the shop carry?",
        system="model",
        column="model",
        factors=[
            Factor(name="users", unit="1", is_numeric=True, levels=users),
            Factor(name="servers", unit="1", is_numeric=True, levels=servers),
        ],
        responses=["response_s_p99", "throughput", "station.database.utilization"],
        points=points,
        knees=[
            Knee(
                metric="response_s_p99",
                factor="users",
                where={"servers": server},
                found=True,
                level=level,
                level_low=level * 0.85,
                level_high=level * 1.1,
                value=0.21,
            )
            for server, level in ((2, 100.0), (4, 190.0))
        ],
        parameters=[
            ParameterUsed(
                name="users", value=None, unit="1", source="", origin="factor", low=1, high=5000
            ),
            ParameterUsed(
                name="database_ms",
                value=8.0,
                unit="ms",
                source="assumed: a small indexed read",
                origin="default",
                low=0.1,
                high=1000,
                description="Mean service time of one query.",
            ),
        ],
        replications=Replications(count=10),
    )


def _class_estimates(name: str, rate: float, response: float) -> list[Estimate]:
    """Return the metrics of one class: its own, its states, and its visits to each part."""
    states = {
        "station.web.service_share": 0.22,
        "station.web.wait_share": 0.04,
        "station.database.wait_share": 0.41,
        "station.database.service_share": 0.18,
        "station.database.blocked_share": 0.03,
        "pool.connections.wait_share": 0.08,
        "delay_share": 0.02,
    }
    visit = f"station.database.class.{name}."
    return [
        estimate(f"class.{name}.throughput", "1/s", rate, better="high"),
        estimate(f"class.{name}.response_s_mean", "s", response),
        estimate(f"class.{name}.jobs_mean", "1", rate * response),
        estimate(f"class.{name}.lost_ratio", "1", 0.002),
        estimate(f"class.{name}.failed_tries_mean", "1", 0.04),
        *(estimate(f"class.{name}.{state}", "1", share) for state, share in states.items()),
        estimate(f"{visit}wait_s_mean", "s", response * 0.4),
        estimate(f"{visit}response_s_mean", "s", response * 0.6),
        estimate(f"pool.connections.class.{name}.wait_s_mean", "s", response * 0.08),
    ]


def classes_experiment() -> ExperimentResult:
    """Return simulated points of two classes, with all that the kernel records about them."""
    experiment = model_experiment()
    points = []
    for point in experiment.points[:3]:
        more = [*_class_estimates("web users", 90.0, 0.2), *_class_estimates("batch", 3.0, 2.5)]
        down = estimate("station.database.down_ratio", "1", 0.01)
        jobs = Distribution(
            metric="station.database.jobs",
            unit="1",
            count=1_000_000,
            low=[0.0, 1.0, 2.0],
            high=[1.0, 2.0, 3.0],
            counts=[500_000, 300_000, 200_000],
        )
        points.append(
            msgspec.structs.replace(
                point,
                estimates={**point.estimates, **{one.metric: one for one in [*more, down]}},
                distributions=[*point.distributions, jobs],
            )
        )
    return msgspec.structs.replace(
        experiment, points=points, knees=[], model=DrawnModel(point=points[0].key, data=SHOP)
    )


SHOP: dict[str, Any] = {
    "format": 1,
    "name": "web shop",
    "time_unit": "ms",
    "stations": [{"name": "web", "servers": 4}, {"name": "database", "servers": 2}],
    "pools": [{"name": "connections", "tokens": 20}],
    "programs": [
        {
            "name": "page",
            "steps": [
                {"op": "use", "station": "web", "service": {"kind": "exponential", "mean": 7}},
                {"op": "acquire", "pool": "connections", "tokens": 1},
                {"op": "use", "station": "database", "service": {"kind": "constant", "value": 3}},
                {"op": "release", "pool": "connections", "tokens": 1},
            ],
        }
    ],
    "classes": [
        {"kind": "closed", "name": "web users", "program": "page", "population": 150},
        {"kind": "open", "name": "batch", "program": "page"},
    ],
}


def measured_point(codec: str, level: int, wall_s: float, size: float) -> PointResult:
    """Return one measured point with raw samples."""
    samples = [wall_s * (1 + 0.02 * math.sin(step * 2.3) + 0.001 * step) for step in range(15)]
    estimates = [
        estimate("wall_s", "s", wall_s, relative=0.02, count=15, centre="median"),
        estimate("size_bytes", "B", size, relative=0.0, count=15, centre="median"),
        estimate("peak_memory_bytes", "B", 2e6 * level**1.5, count=15, centre="median"),
    ]
    return PointResult(
        key=f"codec={codec},level={level}",
        levels={"codec": codec, "level": level},
        done=15,
        failed=0,
        estimates={found.metric: found for found in estimates},
        distributions=[
            Distribution(
                metric="wall_s", unit="s", count=15, low=[], high=[], counts=[], samples=samples
            ),
            Distribution(
                metric="size_bytes",
                unit="B",
                count=15,
                low=[],
                high=[],
                counts=[],
                samples=[size] * 15,
            ),
        ],
        seeds=list(range(15)),
        precision_reached=codec != "xz",
    )


def measured_experiment() -> ExperimentResult:
    """Return measurements over two factors that move together."""
    rows = [
        ("gzip", 1, 0.021, 1.92e6), ("gzip", 6, 0.058, 1.61e6), ("gzip", 9, 0.143, 1.60e6),
        ("xz", 1, 0.19, 1.48e6), ("xz", 6, 0.83, 1.33e6), ("xz", 9, 0.91, 1.33e6),
        ("zstd", 1, 0.009, 1.71e6), ("zstd", 9, 0.061, 1.49e6), ("zstd", 19, 1.21, 1.35e6),
    ]  # fmt: skip
    return ExperimentResult(
        name="codecs",
        title="Which compressor for the logs?",
        system="command",
        column="measure",
        factors=[
            Factor(
                name="codec",
                unit="",
                is_numeric=False,
                levels=[row[0] for row in rows],
                zipped_with=["level"],
            ),
            Factor(
                name="level",
                unit="1",
                is_numeric=True,
                levels=[row[1] for row in rows],
                zipped_with=["codec"],
            ),
        ],
        responses=["wall_s", "size_bytes", "peak_memory_bytes"],
        points=[measured_point(*row) for row in rows],
        facts={"launcher_overhead_s": 0.0012, "clock_resolution_s": 1e-9},
        replications=Replications(metric="wall_s", half_width=0.02, maximum=40),
    )


def black_box_experiment() -> ExperimentResult:
    """Return a measurement of a device from outside: a queue and times, no number of servers."""
    experiment = measured_experiment()
    queue = [
        estimate("station.device.queue_len_mean", "1", 0.4, centre="median"),
        estimate("station.device.wait_s_mean", "s", 1e-4, centre="median"),
    ]
    points = [
        msgspec.structs.replace(
            point,
            estimates={**point.estimates, **{one.metric: one for one in queue}},
            resources=[Resource(kind="station", name="device", capacity=None)],
            notes=["what limits is the target"],
        )
        for point in experiment.points
    ]
    return msgspec.structs.replace(experiment, name="device", points=points)


def failing_experiment() -> ExperimentResult:
    """Return an experiment in which a point failed, one has a fault, one a single replication."""
    good = model_point(20, 2)
    lonely = msgspec.structs.replace(
        model_point(40, 2),
        done=1,
        estimates={"response_s_p99": estimate("response_s_p99", "s", 0.2, relative=None, count=1)},
    )
    broken = PointResult(
        key="users=5000,servers=2",
        levels={"users": 5000, "servers": 2},
        done=0,
        failed=3,
        errors=["deadlock: web waits for connections, connections waits for web\n  hint: more"],
    )
    faulty = msgspec.structs.replace(
        model_point(60, 2), faults=[Fault(code="reported", message="driver saturated")], failed=1
    )
    return msgspec.structs.replace(
        model_experiment(),
        name="trouble",
        title="Where it breaks",
        factors=[
            Factor(name="users", unit="1", is_numeric=True, levels=[20, 40, 60, 5000]),
            Factor(name="servers", unit="1", is_numeric=True, levels=[2]),
        ],
        points=[good, lonely, faulty, broken],
        knees=[
            Knee(
                metric="response_s_p99",
                factor="users",
                where={},
                found=False,
                reason=NoKnee(code="straight"),
            )
        ],
    )


def categorical_experiment() -> ExperimentResult:
    """Return a simulated comparison over two factors of words and one number held."""
    policies: list[Value] = ["round robin", "least connections", "random of two"]
    databases: list[Value] = ["one primary", "two replicas"]
    sizes: list[Value] = [100, 200]
    points = [
        PointResult(
            key=f"{policy}-{database}-{size}",
            levels={"policy": policy, "database": database, "size": size},
            done=10,
            failed=0,
            estimates={
                "response_s_mean": estimate(
                    "response_s_mean", "s", 0.01 * (i + 1) + 0.004 * j + k * 0.002
                )
            },
        )
        for i, policy in enumerate(policies)
        for j, database in enumerate(databases)
        for k, size in enumerate(sizes)
    ]
    return ExperimentResult(
        name="policies",
        title="Which policy?",
        system="model",
        column="model",
        factors=[
            Factor(name="policy", unit="", is_numeric=False, levels=policies),
            Factor(name="database", unit="", is_numeric=False, levels=databases),
            Factor(
                name="size",
                unit="1",
                is_numeric=False,
                levels=["100", "200"],
            ),
        ],
        responses=["response_s_mean"],
        points=points,
    )


def without_intervals(experiment: ExperimentResult) -> ExperimentResult:
    """Return an experiment of one replication per point: no metric has an interval."""
    points = [
        msgspec.structs.replace(
            point,
            done=1,
            estimates={
                name: msgspec.structs.replace(found, low=None, high=None, count=1, method="none")
                for name, found in point.estimates.items()
            },
        )
        for point in experiment.points
    ]
    return msgspec.structs.replace(experiment, points=points, knees=[])


def long_names_experiment() -> ExperimentResult:
    """Return a comparison of which one level has 900 signs without a blank."""
    experiment = categorical_experiment()
    name = "x" * 900
    points = [
        msgspec.structs.replace(p, levels={**p.levels, "policy": name})
        if p.levels["policy"] == "round robin"
        else p
        for p in experiment.points
    ]
    policy, *others = experiment.factors
    levels = [name, *policy.levels[1:]]
    factors = [msgspec.structs.replace(policy, levels=levels), *others]
    return msgspec.structs.replace(experiment, points=points, factors=factors)


def claims() -> list[ClaimResult]:
    """Return one claim of every verdict."""
    return [
        ClaimResult(
            name="knee",
            text="The knee lies at 100 users with two database servers",
            kind="knee",
            experiment="load",
            metric="response_s_p99",
            published="about 100 users",
            value=100.0,
            low=85.0,
            high=110.0,
            verdict="holds",
            evidence=IntervalEvidence(allowed=Allowed(low=90.0, high=110.0)),
            unit="1",
            source="Example handbook, table 3",
        ),
        ClaimResult(
            name="double",
            text="Twice the servers give twice the throughput",
            kind="ratio",
            experiment="load",
            metric="throughput",
            published="x2.0",
            value=1.72,
            low=1.65,
            high=1.79,
            verdict="differs",
            evidence=IntervalEvidence(allowed=Allowed(low=1.9, high=2.1), is_ratio=True),
            unit="1",
        ),
        ClaimResult(
            name="xz",
            text="xz needs less memory than zstd at level 9",
            kind="ordering",
            experiment="codecs",
            metric="peak_memory_bytes",
            published="",
            value=None,
            low=None,
            high=None,
            verdict="undecided",
            evidence=CurveEvidence(
                shape="ordered",
                factor="codec",
                levels=[
                    LevelEstimate(level=codec, value=54e6, low=53e6, high=55e6)
                    for codec in ("xz", "zstd")
                ],
                comparisons=1,
                confidence=0.95,
                decisive=Step(level="xz", to_level="zstd", value=0.0, low=-1e6, high=1e6),
            ),
            unit="B",
        ),
    ]


def study(*experiments: ExperimentResult, title: str = "Web shop capacity") -> StudyResult:
    """Return a study of `experiments`."""
    failed = sum(point.failed for found in experiments for point in found.points)
    done = sum(point.done for found in experiments for point in found.points)
    result = StudyResult(
        format=1,
        name="web-shop",
        title=title,
        question="Where is the knee, and what should be bought next?",
        folder="studies/web-shop",
        seed=42,
        is_quick=False,
        is_complete=failed == 0,
        done=done,
        failed=failed,
        planned=done + failed,
        experiments=list(experiments),
        claims=claims() if experiments else [],
        environments=[
            {
                "machine": {"cpu": "Example CPU 9000", "cores": 8, "memory_bytes": 16e9},
                "kernel": "Linux 6.1.0",
                "versions": {"headroom": "0.1.0", "python": "3.11.2"},
                "commit": "0123abc",
                "is_dirty": False,
            }
        ],
        command="headroom run studies/web-shop --seed 42",
        generated="2026-01-02 03:04:05 UTC",
        headroom_version="0.1.0",
    )
    return with_answer(result)


def large_study(count: int) -> StudyResult:
    """Return a sweep of `count` points of which each carries all that a point can."""
    template = model_experiment()
    made = [
        msgspec.structs.replace(
            template.points[place % 2],
            key=str(place),
            levels={"users": place // 10, "servers": place % 10},
        )
        for place in range(count)
    ]
    factors = [
        msgspec.structs.replace(factor, levels=list(dict.fromkeys(p.levels[name] for p in made)))
        for factor, name in zip(template.factors, ("users", "servers"), strict=True)
    ]
    return study(msgspec.structs.replace(template, points=made, factors=factors, knees=[]))


def predicted_study() -> StudyResult:
    """Return comparisons with few and with many rows, and predictions."""
    many = msgspec.structs.replace(compared(measured_experiment(), sizes=6), name="many")
    claimed = [*claims(), predicting("near"), predicting("far", spread=9.0, tolerance=0.3)]
    result = study(compared(measured_experiment()), many)
    return msgspec.structs.replace(result, claims=claimed)


SHAPES = {
    "numeric sweep": study(model_experiment()),
    "measured": study(measured_experiment()),
    "categorical": study(categorical_experiment()),
    "several classes": study(classes_experiment()),
    "no intervals": study(
        *(
            without_intervals(experiment)
            for experiment in (model_experiment(), measured_experiment(), categorical_experiment())
        )
    ),
    "long names": study(long_names_experiment()),
    "black box": study(black_box_experiment()),
    "failed points": study(failing_experiment()),
    "empty": study(),
    "compared": predicted_study(),
    "everything": study(model_experiment(), measured_experiment(), failing_experiment()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_example_survives_json_and_back(shape: str) -> None:
    """The results are plain data, so the examples represent anything that a journal can yield."""
    result = SHAPES[shape]
    assert msgspec.json.decode(msgspec.json.encode(result), type=StudyResult) == result
