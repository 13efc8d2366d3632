"""A finding of `headroom doctor`: one check of this machine, its verdict and a hint.

A layer registers checks of its own under the entry point group ``headroom.checks``: a function
without arguments that returns a list of findings, changes nothing and needs no rights.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

GROUP = "headroom.checks"

Verdict: TypeAlias = Literal["prevents", "costs accuracy", "unknown", "fine"]
"""Worst first; `unknown`: this machine does not publish it."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a machine.

    Parameters
    ----------
    check
        Subject of the check: ``"clock source"``.
    state
        Result, with its value.
    verdict
        Consequence for measurements.
    effect
        Which measurements it affects and how, with a figure if there is one.
    cure
        A command or an advice; empty if there is nothing to do.
    facts
        Values behind the state, for programs; names include the unit.
    """

    check: str
    state: str
    verdict: Verdict
    effect: str = ""
    cure: str = ""
    facts: dict[str, float | str | bool] = {}


Facts: TypeAlias = dict[str, float | str | bool]


def fine(check: str, state: str, facts: Facts | None = None) -> Finding:
    """Return the finding of a check that passed."""
    return Finding(check=check, state=state, verdict="fine", facts=facts or {})


def unknown(check: str) -> Finding:
    """Return the finding of a check whose facts this machine does not publish."""
    return Finding(check=check, state="not published here", verdict="unknown")


def costs(check: str, state: str, *, effect: str, hint: str, facts: Facts | None = None) -> Finding:
    """Return the finding of a check that costs accuracy: what it affects, and a hint."""
    verdict: Verdict = "costs accuracy"
    return Finding(
        check=check, state=state, verdict=verdict, effect=effect, cure=hint, facts=facts or {}
    )


Check: TypeAlias = Callable[[], list[Finding]]
"""A check that a layer registers."""
