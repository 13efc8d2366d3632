"""Reference page of this system: metrics by station, pool and class, and the models."""

from collections.abc import Iterable, Iterator

from headroom.experiment.protocol.reference import Reference, Section
from headroom.experiment.protocol.system import Metric
from headroom.systems.model.metrics import (
    MAKESPAN,
    failure_metrics,
    group_metrics,
    resource_metrics,
    visit_metrics,
)
from headroom.systems.model.share_metrics import share_metrics_of_all

_HEADER = ("metric", "unit", "better", "meaning")
_OF_THE_TIME = "Share of the time in the system spent "


def _metrics(metrics: Iterable[Metric], *, text: str, title: str = "") -> Section:
    rows = [
        (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
        for item in metrics
    ]
    return Section(title=title, text=text, header=_HEADER, rows=rows)


def _sections() -> Iterator[Section]:
    yield _metrics(
        resource_metrics(classes=["NAME"], stations=["NAME"], pools=["NAME"]),
        title="Metrics of every model",
        text="`NAME` is the name of a station, pool or class. The whole model has the metrics of a "
        "class, without `class.NAME.`.",
    )
    yield Section(
        text=f"With several classes, each class `C` also has {_names_of_visits('station')} as "
        f"`station.NAME.class.C.METRIC` and {_names_of_visits('pool')} as "
        "`pool.NAME.class.C.METRIC` (up to 400 pairs of class and station or pool)."
    )
    yield Section(
        text="If the study names them, anywhere, there are also these, of any percentile and any "
        "time (`200ms`, `1_5s` is 1.5 s, `2min`); `NAME.class.C` is the part of class `C`",
        header=("metric", "unit", "meaning"),
        rows=[
            ("`class.NAME.response_s_p80`", "s", "Response time that 80% of the jobs stay below"),
            (
                "`class.NAME.response_share_within_200ms`", "1",
                "Share of the jobs with a response time of at most 0.2 s",
            ),
            (
                "`station.NAME.wait_s_p80`, `pool.NAME.wait_s_p80`", "s",
                "Time in the queue that 80% of the visits, or requests, stay below",
            ),
            (
                "`station.NAME.wait_share_within_30s`, `pool.NAME.wait_share_within_30s`", "1",
                "Share that waits at most 30 s; `0s`: that does not wait at all",
            ),
            (
                "`station.NAME.lag_s_max`, `pool.NAME.lag_s_max`", "s",
                "Longest wait in the queue at any moment of a run, its end included: how far a "
                "consumer is behind; `queue_len_max` is that in jobs",
            ),
        ],
    )  # fmt: skip
    yield _metrics(
        [MAKESPAN],
        text="If all arrivals come from traces, a run without a time limit and with enough "
        "completions ends with its last job, and there is",
    )
    yield _metrics(group_metrics(), text="A group of stations also has")
    yield _metrics(
        failure_metrics(),
        text="If a station can be full or fail, or an attempt can fail, there are also",
    )
    yield Section(
        text="The time in the system of each class divides into these shares, for the stations `S` "
        "and pools `P` of its program (up to 400 pairs); they add up to 1",
        header=("metric", "time spent"),
        rows=[
            (f"`{item.name}`", item.description.removeprefix(_OF_THE_TIME))
            for item in share_metrics_of_all()
        ],
    )


def _names_of_visits(kind: str) -> str:
    names = [item.name.rpartition(".")[2] for item in visit_metrics() if item.name.startswith(kind)]
    return ", ".join(f"`{name}`" for name in names)


REFERENCE = Reference(sections=_sections)
