"""The model of an experiment as data, for its picture in the report.

A model changes from point to point, mostly by a number. The report keeps the model of the point
that it shows first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headroom.analysis.pictures import first_point
from headroom.analysis.results import DrawnModel, PointResult
from headroom.experiment.protocol.system import Modelled
from headroom.experiment.study.plan import PlannedExperiment
from headroom.simulation import model_data

BYTES_AT_MOST = 500_000
"""A larger model is not stored with the results; `headroom model picture` still draws it."""
_STREAMS = ("stream", "batch_stream", "pause_stream")


def drawn_model(experiment: PlannedExperiment, points: Sequence[PointResult]) -> DrawnModel | None:
    """Return the model of the point to look at first; None for systems without one."""
    system = experiment.system
    if not isinstance(system, Modelled):
        return None
    chosen = first_point(points)
    key = chosen.key if chosen else experiment.points[0].key
    config = next(point.config for point in experiment.points if point.key == key)
    data = without_streams(model_data(system.model(config)))
    if len(msgspec.json.encode(data)) > BYTES_AT_MOST:
        return None
    return DrawnModel(point=key, data=data)


def without_streams(data: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a model's data without the keys of its random streams: a picture has no use of them.

    Examples
    --------
    >>> without_streams({"steps": [{"op": "delay", "stream": 17}]})
    {'steps': [{'op': 'delay'}]}
    """
    if isinstance(data, Mapping):
        return {name: without_streams(v) for name, v in data.items() if name not in _STREAMS}
    if isinstance(data, (list, tuple)):
        return [without_streams(item) for item in data]
    return data
