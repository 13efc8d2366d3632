"""Models that were built, or checked too, and their metrics: each of a configuration once.

Invariant: a kept model is used only for the very numbers it was made from: 1, 1.0 and True are
equal in Python, yet a model may treat them differently.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.system import Metric, Value
from headroom.simulation import Model
from headroom.simulation.runs.run import ReadyModel

MOST_BYTES = 16 * 2**20
"""Bytes of models as data that are kept; the model itself takes some ten times as many."""
MOST_CONFIGURATIONS = 64
"""Configurations whose metrics are kept: each claim on an experiment needs those of a point."""
_Kept = TypeVar("_Kept")


class Recent(Generic[_Kept]):
    """What was made of the configurations that were used last, up to a size.

    Parameters
    ----------
    most
        Size of all that is kept; the last one stays, whatever its size.
    size_of
        Returns the size of one.
    """

    def __init__(self, most: int, size_of: Callable[[_Kept], int]) -> None:
        self._most, self._size_of, self._size = most, size_of, 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def of(
        self,
        config: Mapping[str, Value],
        changes: Sequence[Change],
        make: Callable[[], _Kept],
    ) -> _Kept:
        """Return what is kept of `config` with `changes`, and `make` it if it is not kept."""
        key = repr((sorted(config.items()), [change.text for change in changes]))
        if key not in self._kept:
            self._kept[key] = make()
            self._size += self._size_of(self._kept[key])
        self._kept.move_to_end(key)
        while self._size > self._most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self._size -= self._size_of(gone)
        return self._kept[key]


class BuiltModel(NamedTuple):
    """A model as its function returned it, and as data."""

    model: Model
    data: bytes


def recent_models() -> Recent[BuiltModel]:
    """Return a place for models as they were built."""
    return Recent(MOST_BYTES, lambda built: len(built.data))


def recent_ready_models() -> Recent[ReadyModel]:
    """Return a place for models that were checked and can run."""
    return Recent(MOST_BYTES, lambda once: len(once.data))


def recent_metrics() -> Recent[tuple[Metric, ...]]:
    """Return a place for the metrics of configurations."""
    return Recent(MOST_CONFIGURATIONS, lambda _: 1)
