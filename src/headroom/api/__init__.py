"""Headroom from Python: everything that the command does, with values to compute with.

`import headroom as hr` loads the names of this package when they are first used.

Invariant: no statistics here. A study goes through the same plan, runner, journal and analysis as
the command's, so the same study has the same rows.
"""

from headroom.simulation.language.model import Model

__all__ = ["Model"]


def _card_of(model: Model) -> str:
    # A program that shows no model loads neither solvers nor pictures.
    from headroom.api.models import card_of  # noqa: PLC0415

    return card_of(model)


Model._draw = _card_of
