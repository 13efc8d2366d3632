"""What the reference shows of this system: the metrics of stations, pools and classes."""

from collections.abc import Iterator

from headroom.experiment.protocol.reference import Reference, Section
from headroom.systems.model.metrics import (
    failure_metrics,
    group_metrics,
    resource_metrics,
    visit_metrics,
)
from headroom.systems.model.share_metrics import share_metrics_of_all


def _names_of_visits(kind: str) -> str:
    names = [item.name.rpartition(".")[2] for item in visit_metrics() if item.name.startswith(kind)]
    return ", ".join(f"`{name}`" for name in names)


def _sections() -> Iterator[Section]:
    yield Section(
        title="Metrics of every model",
        text="`NAME` is the name of a station, pool or class. The whole model has the metrics of a "
        "class, without `class.NAME.`.",
        metrics=resource_metrics(classes=["NAME"], stations=["NAME"], pools=["NAME"]),
    )
    of_visits = " and ".join(
        f"{_names_of_visits(kind)} as `{kind}.NAME.class.C.METRIC`" for kind in ("station", "pool")
    )
    yield Section(
        text=f"With several classes, each class `C` also has {of_visits} (up to 400 pairs of class "
        "and station or pool).\n\nA group of stations also has",
        metrics=group_metrics(),
    )
    yield Section(
        text="If a station can be full or fail, or an attempt can fail, there are also",
        metrics=failure_metrics(),
    )
    yield Section(
        text="The time in the system of each class divides into these shares, for the stations `S` "
        "and pools `P` of its program (up to 400 pairs); they add up to 1",
        header=("metric", "unit", "meaning"),
        rows=[(f"`{item.name}`", item.unit, item.description) for item in share_metrics_of_all()],
    )


REFERENCE = Reference(sections=_sections)
