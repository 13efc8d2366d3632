"""The file of recorded runs: metrics, and runs with their levels.

Invariant: every run has a level for each factor, and values of known metrics alone.
"""

from pathlib import Path

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Direction, Value
from headroom.input_file import MalformedError, MissingFileError, decode_json, read_file
from headroom.units import Unit, unit_named

FORMAT = 1


class RecordedMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric of the runs, see `headroom.experiment.protocol.system.Metric`."""

    name: str
    unit: str
    better: Direction = "none"
    description: str = ""


class RecordedRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run: levels, values by metric, source, date (UTC), and what else the source says."""

    levels: dict[str, Value]
    values: dict[str, float]
    source: str
    taken: str = ""
    settings: dict[str, str] = {}


class Recorded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of recorded runs."""

    format: int = FORMAT
    metrics: list[RecordedMetric]
    runs: list[RecordedRun]


def read_recorded(path: Path) -> Recorded:
    """Return the content of a file.

    Raises
    ------
    StudyError
        It is missing, of another format, or incomplete.
    """
    try:
        found = decode_json(read_file(path), path, type=Recorded)
    except MissingFileError as error:
        raise StudyError(
            error.message, cure="import the results again: headroom import --help"
        ) from error
    except MalformedError as error:
        raise StudyError(
            f"not a file of recorded runs: {error.message}", cure="import the results again"
        ) from error
    if found.format != FORMAT:
        raise StudyError(
            f"{path} has format {found.format}, not {FORMAT}",
            cure="import the results again with this version",
        )
    _check(path, found)
    return _in_base_units(found)


def _in_base_units(found: Recorded) -> Recorded:
    """Return the runs with their values in base units, as limits and reports take them."""
    units = {one.name: unit_named(one.unit) or Unit(one.unit, 1.0) for one in found.metrics}
    for place, one in enumerate(found.metrics):
        found.metrics[place] = msgspec.structs.replace(one, unit=units[one.name].base)
    for run in found.runs:
        run.values.update({name: units[name].factor * run.values[name] for name in run.values})
    return found


def _check(path: Path, found: Recorded) -> None:
    names = {metric.name for metric in found.metrics}
    factors = found.runs[0].levels.keys() if found.runs else set[str]()
    for place, run in enumerate(found.runs, start=1):
        if run.levels.keys() != factors or not run.values.keys() <= names:
            odd = sorted((run.levels.keys() ^ factors) | (run.values.keys() - names))
            raise StudyError(
                f"{path}: run {place} differs from the others in {', '.join(odd)}",
                cure="give every run the same factors, and declare every metric",
            )
    if not found.runs:
        raise StudyError(f"{path} has no runs", cure="import results that have some")
