"""Tidy tables: rows as dictionaries, and as a pandas DataFrame where that is installed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headroom.errors import EnvironmentUnfitError

if TYPE_CHECKING:
    import pandas as pd

_FACTOR = "factor."
_RENAMED = {"count": "n"}


def tidy(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return exported rows with short names: a factor by its own name, the count as ``n``.

    A factor that is called like another column keeps its long name. All rows have the same
    columns, in the same order.

    Examples
    --------
    >>> tidy([{"factor.users": 5, "metric": "throughput", "count": 3, "factor.metric": "x"}])
    [{'users': 5, 'metric': 'throughput', 'n': 3, 'factor.metric': 'x'}]
    """
    found = list(rows)
    columns = list(dict.fromkeys(name for row in found for name in row))
    taken = {_RENAMED.get(name, name) for name in columns if not name.startswith(_FACTOR)}
    names = {name: _short(name, taken) for name in columns}
    return [{short: row.get(name) for name, short in names.items()} for row in found]


def _short(name: str, taken: set[str]) -> str:
    short = name.removeprefix(_FACTOR)
    if name.startswith(_FACTOR) and short in taken:
        return name
    return _RENAMED.get(name, short)


def frame_of(rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return rows as a pandas DataFrame.

    Raises
    ------
    EnvironmentUnfitError
        pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - heavy, and not everyone has it
    except ImportError as error:
        raise EnvironmentUnfitError(
            "a frame needs pandas, which is not installed",
            cure="install it: pip install 'headroom-lab[notebook]'; or take to_rows()",
        ) from error
    return pd.DataFrame.from_records(list(rows))
