"""A cache of models that were built and checked, with their metrics.

Invariant: a kept model is used only for the very numbers it was made from: 1, 1.0 and True are
equal in Python, yet a model may treat them differently.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.system import Metric, Value
from headroom.simulation.runs.run import ReadyModel

MOST_BYTES = 16 * 2**20
"""Bytes of models as data that are kept; the model itself takes some ten times as many."""


MOST_CONFIGURATIONS = 64
"""Configurations whose metrics are kept: each claim on an experiment needs those of a point."""


class KnownMetrics:
    """The metrics of the configurations that were requested last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Metric, ...]] = OrderedDict()

    def of(
        self, config: Mapping[str, Value], find: Callable[[], tuple[Metric, ...]]
    ) -> tuple[Metric, ...]:
        """Return the metrics of `config`, and `find` them if they are not kept."""
        key = _key(config, ())
        if key not in self._kept:
            self._kept[key] = find()
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_CONFIGURATIONS:
            self._kept.popitem(last=False)
        return self._kept[key]


class ReadyModels:
    """The models that were used last, up to `most_bytes` of data."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, ReadyModel] = OrderedDict()

    def of(
        self,
        config: Mapping[str, Value],
        changes: Sequence[Change],
        build: Callable[[], ReadyModel],
    ) -> ReadyModel:
        """Return the model of `config` with `changes`, and `build` it if it is not kept."""
        key = _key(config, changes)
        if key not in self._kept:
            self._kept[key] = build()
        self._kept.move_to_end(key)
        self._forget()
        return self._kept[key]

    def kept(self, config: Mapping[str, Value]) -> ReadyModel | None:
        """Return the unchanged model of `config`, None if it is not kept."""
        return self._kept.get(_key(config, ()))

    def _forget(self) -> None:
        """Drop the least recently used models; the last one stays."""
        size = sum(len(model.data) for model in self._kept.values())
        while size > self._most_bytes and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            size -= len(gone.data)


def _key(config: Mapping[str, Value], changes: Sequence[Change]) -> str:
    return repr((sorted(config.items()), [change.text for change in changes]))
