"""What the reference shows of this system: metrics by station, pool and class, and the models."""

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


def _metrics(metrics: Iterable[Metric], *, text: str, title: str = "") -> Section:
    rows = [
        (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
        for item in metrics
    ]
    return Section(title=title, text=text, header=_HEADER, rows=rows)


def _sections() -> Iterator[Section]:
    yield _metrics(
        resource_metrics(classes=["NAME"], stations=["NAME"], pools=["NAME"]),
        title="Metrics of every station, pool and class",
        text="`NAME` is the name that the model gives to the station, pool or class.",
    )
    yield _metrics(
        visit_metrics(),
        text="Where there are several classes, for each class `C` (up to 400 pairs of class and "
        "place)",
    )
    yield _metrics(group_metrics(), text="Where `NAME` is a group of like stations there is also")
    yield _metrics(
        failure_metrics(),
        text="Where a station can be full or break, or an attempt can fail, there are also",
    )
    yield Section(
        text="Where the time of each class goes, for the stations `S` and pools `P` that its "
        "program comes to (up to 400 pairs of class and place); the shares add up to the whole",
        header=("metric", "unit", "meaning"),
        rows=[(f"`{item.name}`", item.unit, item.description) for item in share_metrics_of_all()],
    )


REFERENCE = Reference(
    example={"model": "mm1"},
    title="Metrics of the registered model `mm1`, whose station is `server`",
    sections=_sections,
)
