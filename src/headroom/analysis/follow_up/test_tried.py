"""Stations that reject work, on real models: verdicts agree with the effect of doubling."""

from pathlib import Path

import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.follow_up.tried import useless_stations
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import Effect, Estimate, PointResult, WhatIfResult
from headroom.experiment.journal.journal import Journal
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.example_session import run_study
from tests.support.study_text import Head

MODELS = """
from headroom.simulation import Model, exponential


def _shop(buffer, fill):
    model = Model("shop", time_unit="ms")
    cpu = model.station("cpu", servers=2)
    log = model.station("log", when_full="reject", buffer=buffer)
    request = model.program("request")
    request.use(cpu, exponential(10))
    fill(model, request, log)
    model.closed_class("users", request, population=10, think=exponential(100))
    return model


def started() -> Model:
    def fill(model, request, log):
        write = model.program("write")
        write.use(log, exponential(200))
        request.start(write)
    return _shop(2, fill)


def started_with_tries() -> Model:
    def fill(model, request, log):
        write = model.program("write")
        with write.attempt(tries=3) as attempt, attempt.work():
            write.use(log, exponential(200))
        request.start(write)
    return _shop(2, fill)


def with_a_way_around() -> Model:
    def fill(model, request, log):
        with request.attempt() as attempt:
            with attempt.work():
                request.use(log, exponential(200))
            with attempt.failed():
                pass
    return _shop(0, fill)


def lost() -> Model:
    model = Model("lines", time_unit="ms")
    call = model.program("call")
    call.use(model.station("log", servers=10, when_full="reject", buffer=0), exponential(100))
    model.open_class("calls", call, interarrival=exponential(2))
    return model


def retried() -> Model:
    def fill(model, request, log):
        with request.attempt(tries=1000, pause=exponential(20)) as attempt, attempt.work():
            request.use(log, exponential(50))
    return _shop(1, fill)
"""
STUDY = Head("tried", "What was tried", "load", seed=3).then("""\
system = {{ name = "model", file = "model.py", function = "{function}", completions = 10_000 }}
replications = {{ count = 3 }}
what_if = {{ replications = 3 }}
""")


def analysed(folder: Path, function: str) -> PointResult:
    (folder / "model.py").write_text(MODELS)
    (folder / "study.toml").write_text(STUDY.format(function=function))
    plan = make_plan(load_study(folder), quick=False)
    with Journal.open(folder / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        run_study(planned_what_ifs(plan, journal), journal)
        result = analyse(plan, journal, environments=journal.environments(), command="")
    return result.experiments[0].points[0]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("started", "unawaited"),
        ("started_with_tries", "unawaited"),
        ("with_a_way_around", "no_gain"),
    ],
)
def test_a_full_station_whose_doubling_gives_nothing_is_not_called_the_limit(
    tmp_path: Path, function: str, why: str
) -> None:
    point = analysed(tmp_path, function)
    assert point.estimates["station.log.utilization"].value > 0.9
    assert {what_if.change for what_if in point.what_ifs} >= {"station.log.servers=x2"}
    assert point.bottleneck is not None
    assert not point.bottleneck.limits
    overflows = point.bottleneck.evidence.overflows
    assert [(overflow.resource.name, overflow.harmless) for overflow in overflows] == [("log", why)]
    gains = [
        e.ratio for what_if in point.what_ifs for e in what_if.effects if e.metric == "throughput"
    ]
    assert max(gains) < 1.05


@pytest.mark.parametrize("function", ["lost", "retried"])
def test_a_full_station_whose_rejections_cost_jobs_or_time_limits(
    tmp_path: Path, function: str
) -> None:
    point = analysed(tmp_path, function)
    assert point.bottleneck is not None
    assert (point.bottleneck.limits, point.bottleneck.name) == (True, "log")
    gains = [
        e.ratio for what_if in point.what_ifs for e in what_if.effects if e.metric == "throughput"
    ]
    assert max(gains) > 1.3


def tried(*, rejected: float, ratio: float, low: float | None, high: float | None) -> PointResult:
    effect = Effect(
        metric="throughput", unit="1/s", better="high", before=1.0, after=ratio, ratio=ratio,
        low=low, high=high, pairs=3, variance_reduction=None,
    )  # fmt: skip
    share = Estimate(
        metric="station.log.reject_ratio", unit="1", better="low", value=rejected, low=None,
        high=None, count=3, method="none", centre="mean", mean=rejected, median=rejected,
        stdev=0.0, minimum=rejected, maximum=rejected,
    )  # fmt: skip
    doubling = WhatIfResult(change="station.log.servers=x2", done=3, failed=0, effects=[effect])
    return PointResult(
        key="a", levels={}, done=3, failed=0, what_ifs=[doubling], estimates={share.metric: share}
    )


def test_a_doubling_is_useless_only_where_that_is_sure_and_much_is_turned_away() -> None:
    assert useless_stations(tried(rejected=0.5, ratio=1.0, low=0.99, high=1.01)) == {"log"}
    assert not useless_stations(tried(rejected=0.5, ratio=1.0, low=0.9, high=1.1)), "too wide"
    assert not useless_stations(tried(rejected=0.5, ratio=1.0, low=None, high=None)), "unknown"
    assert not useless_stations(tried(rejected=0.5, ratio=1.3, low=1.2, high=1.4)), "a gain"
    assert not useless_stations(tried(rejected=0.001, ratio=1.0, low=0.99, high=1.01)), "rare"
