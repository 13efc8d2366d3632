"""Tidy tables: rows as dictionaries, a CSV file, a frame of pandas, Arrow for other libraries."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.errors import EnvironmentUnfitError
from headroom.output_file import csv_cell, output_file

if TYPE_CHECKING:
    import pandas as pd

_FACTOR = "factor."
_RENAMED = {"count": "n"}
_NUMBERS = {
    *("value", "low", "high", "mean", "median", "stdev", "minimum", "maximum", "mean_deviation"),
    *("before", "after", "ratio", "pairs", "variance_reduction", "base_value", "p_value"),
    *("shift", "shift_low", "shift_high"),
}


def tidy(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return exported rows with short names: a factor by its own name, the count as ``n``.

    A factor that is called like another column keeps its long name. All rows have the same
    columns, in the same order; a number that is missing is NaN.

    Examples
    --------
    >>> tidy([{"factor.users": 5, "metric": "throughput", "count": 3, "factor.metric": "x"}])
    [{'users': 5, 'metric': 'throughput', 'n': 3, 'factor.metric': 'x'}]
    """
    found = list(rows)
    columns = list(dict.fromkeys(name for row in found for name in row))
    taken = {_RENAMED.get(name, name) for name in columns if not name.startswith(_FACTOR)}
    names = {name: _short(name, taken) for name in columns}
    return [
        {
            short: nan if row.get(name) is None and name in _NUMBERS else row.get(name)
            for name, short in names.items()
        }
        for row in found
    ]


def _short(name: str, taken: set[str]) -> str:
    short = name.removeprefix(_FACTOR)
    if name.startswith(_FACTOR) and short in taken:
        return name
    return _RENAMED.get(name, short)


class Tabular:
    """What has rows is a frame too, and a stream of Arrow that polars, DuckDB and pyarrow take."""

    def to_rows(self) -> list[dict[str, Any]]:
        """Return tidy rows, one dictionary each."""
        raise NotImplementedError

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a pandas DataFrame; without pandas as a pyarrow Table.

        Raises
        ------
        EnvironmentUnfitError
            Neither is installed; `to_rows` needs no library.
        """
        return frame_of(self.to_rows())

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows as a CSV file, missing numbers as NaN, and return its path."""
        return csv_of(self.to_rows(), path)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows by Arrow's PyCapsule interface; pyarrow makes it."""
        return _arrow_table(self.to_rows()).__arrow_c_stream__(requested_schema)


def csv_of(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Write rows as a CSV file, with no cell that a spreadsheet computes; returns its path."""
    file = Path(path)
    with output_file(file) as stream:
        writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writerow({name: csv_cell(name) for name in writer.fieldnames})
        writer.writerows({name: csv_cell(cell) for name, cell in row.items()} for row in rows)
    return file


def frame_of(rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return rows as a pandas DataFrame, without pandas as a pyarrow Table."""
    try:
        import pandas as pd  # noqa: PLC0415 - heavy, and not everyone has it
    except ImportError:
        frame: pd.DataFrame = _arrow_table(rows)
        return frame
    return pd.DataFrame.from_records(list(rows))


def _arrow_table(rows: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - pyarrow has no types
    try:
        arrow = import_module("pyarrow")
    except ImportError as error:
        raise EnvironmentUnfitError(
            "a frame needs pandas or pyarrow, and neither is installed",
            cure="pip install 'headroom-lab[notebook]', or pyarrow; to_rows() needs no library",
        ) from error
    names = list(dict.fromkeys(name for row in rows for name in row))
    return arrow.table({name: _of_one_type([row.get(name) for row in rows]) for name in names})


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return the values of a column as Arrow wants them: numbers, or texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int, float} or kinds <= {str}:
        return [
            float(value) if kinds == {int, float} and value is not None else value
            for value in values
        ]
    return [None if value is None else str(value) for value in values]
