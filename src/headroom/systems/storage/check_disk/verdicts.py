"""One claim per question that compares disks, so that a page begins with the answers.

Invariant: a claim names a point that the study has in its full and in its quick variant. That the
other disk is at least as fast as the first *holds*, *differs* (it is slower) or is *undecided*.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from headroom.quantities import format_levels
from headroom.report.words import title_metric

Table: TypeAlias = dict[str, Any]
_RATES = ("throughput", "bytes_per_s", "transactions_per_s")
"""Ends of metrics of which more is better; of the others that are compared, less is."""
_BOTH = {"read_share": (1.0, 0.0)}
"""Factors of which each of these levels gets a claim; of the others the largest level does."""


def verdict_claims(experiments: Sequence[Table], names: Sequence[str]) -> Iterator[Table]:
    """Yield claims that each disk is at least as fast as the first one.

    Parameters
    ----------
    experiments
        With a table `compare`, or without one: those are passed over.
    names
        Of the targets.

    Examples
    --------
    >>> one = {"name": "depths", "factors": {"target": ["a", "b"], "depth": [1, 4]},
    ...     "compare": {"metrics": ["throughput"]}}
    >>> [(claim["name"], claim["where"], claim["at_least"]) for claim in
    ...     verdict_claims([one], ["a", "b"])]
    [('depths-b', {'depth': 4, 'target': 'b'}, 1.0)]
    """
    base, *others = names
    for experiment in experiments:
        if "compare" not in experiment:
            continue
        metric = experiment["compare"]["metrics"][0]
        bound = "at_least" if metric.endswith(_RATES) else "at_most"
        for levels, name in product(_points(experiment), others):
            said = f" at {format_levels(levels)}" if levels else ""
            kind = {1.0: "-reads", 0.0: "-writes"}.get(levels.get("read_share", 0.5), "")
            yield {
                "name": f"{experiment['name']}{kind}-{name}",
                "text": f"{name} is at least as fast as {base}: {experiment['name']}{said} "
                f"({title_metric(metric)})",
                "kind": "ratio",
                "experiment": experiment["name"],
                "metric": metric,
                "where": {**levels, "target": name},
                "to": {**levels, "target": base},
                bound: 1.0,
            }


def _points(experiment: Table) -> Iterator[Table]:
    """Yield the levels, without the target, that both forms of an experiment have."""
    forms = [experiment, experiment.get("quick", {})]
    choices: list[list[Table]] = []
    for name, levels in experiment.get("factors", {}).items():
        if name == "target":
            continue
        quick = forms[1].get("factors", experiment["factors"]).get(name, levels)
        shared = [level for level in levels if level in quick]
        chosen = [level for level in _BOTH.get(name, ()) if level in shared] or shared[-1:]
        choices.append([{name: level} for level in chosen])
    for place, group in enumerate(experiment.get("zipped", [])):
        quick = forms[1].get("zipped", experiment["zipped"])[place]
        shared = [row for row in _rows(group) if row in _rows(quick)]
        choices.append(shared[:1])
    for parts in product(*choices):
        yield {name: level for part in parts for name, level in part.items()}


def _rows(group: Mapping[str, Sequence[Any]]) -> list[Table]:
    return [dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)]
