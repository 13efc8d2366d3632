"""Reference page of this system: metrics by station, pool and class, and the models."""

from collections.abc import Iterable, Iterator

from headroom.experiment.protocol.reference import Reference, Section
from headroom.experiment.protocol.system import Metric
from headroom.systems.model.metrics import (
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
