"""The most frequent choice of a system, for metrics that are settings: ``chosen_node_bytes``.

The middle of several choices may not be a valid setting, and the middles of two settings may never
have been chosen together. So all settings of the most frequent choice are reported, of
equally frequent ones the earliest.

Invariant: the reported settings are those of one replication.
"""

from collections.abc import Mapping

import msgspec

from headroom.analysis.results import Estimate
from headroom.analysis.statistics.intervals import Sample
from headroom.units import is_choice


def with_choices(
    estimates: Mapping[str, Estimate], samples: Mapping[str, Sample]
) -> dict[str, Estimate]:
    """Return the estimates, of settings the most frequent choice; it has no interval."""
    names = [name for name in estimates if is_choice(name)]
    columns = [samples[name].values.tolist() for name in names]
    if len({len(column) for column in columns}) != 1:  # None, or no choice of all settings.
        return dict(estimates)
    rows = list(zip(*columns, strict=True))
    commonest = max(rows, key=rows.count)
    chosen = {
        name: msgspec.structs.replace(
            estimates[name],
            value=value, low=None, high=None, method="none", centre="choice", reason=None,
        )
        for name, value in zip(names, commonest, strict=True)
    }  # fmt: skip
    return {**estimates, **chosen}
