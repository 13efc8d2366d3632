"""Combinations of levels without a point: the key `without` of an experiment.

Invariant: the variant as written names factors and levels that it has; the quick one may lack some,
and a combination of levels that it lacks leaves nothing out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.plan import FactorSpec
from headroom.experiment.study.variants import Variant

Without: TypeAlias = Sequence[Mapping[str, Value | list[Value]]]


def check_without(
    loaded: LoadedStudy, variant: Variant, factors: Sequence[FactorSpec], *, is_quick: bool
) -> None:
    """Refuse combinations of factors or levels that do not exist.

    Raises
    ------
    StudyError
        A factor or a level is unknown, or a table is empty, which would leave all out.
    """
    known = {factor.name: factor.levels for factor in factors}
    for number, table in enumerate(variant.spec.without):
        if not table:
            place = variant.key_path("without", number)
            raise loaded.error(place, "the table names no factor", cure="name one, or remove it")
        for name, given in table.items():
            place = variant.key_path("without", number, name)
            if name not in known and not is_quick:
                cure = suggestion(name, known)
                raise loaded.error(place, f"unknown factor {name!r}", cure=cure)
            missing = [level for level in _levels(given) if level not in known.get(name, ())]
            if missing and not is_quick:
                cure = suggestion(str(missing[0]), [str(level) for level in known[name]])
                message = f"factor {name!r} has no level {missing[0]!r}"
                raise loaded.error(place, message, cure=cure)


def is_kept(without: Without) -> Callable[[Mapping[str, Value]], bool]:
    """Return a function that says whether a combination of levels has a point.

    Examples
    --------
    >>> keeps = is_kept([{"node_bytes": 64, "record_bytes": [128, 256]}])
    >>> keeps({"node_bytes": 64, "record_bytes": 256}), keeps({"node_bytes": 64})
    (False, True)
    """
    tables = [{name: _levels(given) for name, given in table.items()} for table in without]
    return lambda levels: (
        not any(
            all(name in levels and levels[name] in wanted for name, wanted in table.items())
            for table in tables
        )
    )


def _levels(given: Value | list[Value]) -> list[Value]:
    return given if isinstance(given, list) else [given]
