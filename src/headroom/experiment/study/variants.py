"""The two variants of an experiment: as written, and reduced by `--quick`.

`quick` replaces whole keys: a factor's levels, a fixed value, a key of the system's set-up. A
parameter that `quick` fixes is no longer a factor, and vice versa.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from headroom.experiment.study.study import Experiment, Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """An experiment in one variant, and where each of its keys is in the file.

    Parameters
    ----------
    index
        Number of the experiment in the file, from 0.
    spec
        The experiment with the variant applied.
    replaced
        Keys (table, name) that the quick variant brought.
    """

    index: int
    spec: Experiment
    replaced: frozenset[tuple[str, ...]] = frozenset()

    def key_path(self, *keys: str | int) -> tuple[str | int, ...]:
        """Return where a key of the experiment is in the study file."""
        here = ("experiment", self.index)
        names = tuple(key for key in keys[:2] if isinstance(key, str))
        is_quick = names in self.replaced or names[:1] in self.replaced
        return (*here, "quick", *keys) if is_quick else (*here, *keys)


def full_variant(index: int, spec: Experiment) -> Variant:
    """Return the experiment as written."""
    return Variant(index=index, spec=spec)


def quick_variant(index: int, spec: Experiment) -> Variant:
    """Return the experiment with the keys of its `quick` table in place."""
    quick = spec.quick
    changes: dict[str, Any] = {
        "system": {**spec.system, **quick.system},
        "fixed": {**_without(spec.fixed, quick.factors), **quick.fixed},
        "factors": {**_without(spec.factors, quick.fixed), **quick.factors},
    }
    replaced: set[tuple[str, ...]] = {("system", key) for key in quick.system}
    replaced |= {("fixed", name) for name in quick.fixed}
    replaced |= {("factors", name) for name in quick.factors}
    if quick.zipped is not None:
        changes["zipped"] = quick.zipped
        replaced.add(("zipped",))
    if quick.refine is not None:
        changes["limits"] = [_refined(limit, quick.refine) for limit in spec.limits]
    if quick.replications is not None:
        changes["replications"] = quick.replications
        replaced.add(("replications",))
    changed = msgspec.structs.replace(spec, **changes)
    return Variant(index=index, spec=changed, replaced=frozenset(replaced))


def _refined(limit: Limit, points: int) -> Limit:
    """Return a limit that adds at most `points` levels, if it adds any."""
    rule = limit.refinement
    if not rule.points:
        return limit
    return msgspec.structs.replace(limit, refine=msgspec.structs.replace(rule, points=points))


def _without(table: Mapping[str, Any], names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in names}
