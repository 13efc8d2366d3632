"""Fresh measurements: rows of an experiment before a mark in the journal do not count.

A mark is an environment without rows. It is durable before the first new replication, so an
interrupted session resumes after it: measurements since the mark count, older ones do not.
Simulations need no mark: the same fingerprint and seed give the same bits.
"""

from collections.abc import Mapping
from typing import Any

from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine import environment
from headroom.experiment.protocol.system import Column
from headroom.experiment.runner.seen_inputs import is_sight
from headroom.experiment.study.plan import Plan

FRESH = "fresh"
"""Key of an environment that is a mark: the names of the experiments that start again."""


def mark_fresh(plan: Plan, journal: Journal) -> list[str]:
    """Make stored measurements of the plan's experiments count no longer.

    Returns the names of the experiments that are measured again: simulated ones are not, nor are
    those that have no measurements.
    """
    names = [
        experiment.spec.name
        for experiment in plan.experiments
        if experiment.system.column is Column.MEASURE
        and journal.newest_environment(experiment.spec.name)
    ]
    if names:
        journal.add_environment({**environment.collect(plan.folder), FRESH: names})
    return names


def fresh_experiments(facts: Mapping[str, Any]) -> list[str]:
    """Return the experiments that start again with an environment; most have none."""
    return list(facts.get(FRESH, ()))


def is_mark(facts: Mapping[str, Any]) -> bool:
    """Return whether an environment is a mark, or what was seen of a run, and no session."""
    return FRESH in facts or is_sight(facts)
