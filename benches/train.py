"""Train a build of the core that counts how often each branch is taken: `scripts/wheel` runs it.

The compiler then lays out the code for these runs: the models of the benchmark, and those that ship
with Headroom. What they do not reach is taken to be rare, so they must reach what users run.
"""

import warnings

from benches.peers import own_models
from headroom.simulation import Model, ModelWarning, simulate
from headroom.systems.model import library

COMPLETIONS = 100_000
SMALL = 10_000


def models() -> list[tuple[Model, int]]:
    """Return the models, and how many jobs each completes."""
    central = [own_models.central_server(), own_models.pipeline()]
    open_ones = [own_models.mm1(), own_models.open_queue(3.2, 4)]
    shipped = [getattr(library, name)() for name in library.__all__ if name.islower()]
    return [(model, COMPLETIONS) for model in (*central, *open_ones)] + [
        (model, SMALL) for model in shipped if isinstance(model, Model)
    ]


def main() -> None:
    """Run all models once."""
    warnings.simplefilter("ignore", ModelWarning)
    for model, completions in models():
        simulate(model, seed=1, completions=completions)


if __name__ == "__main__":
    main()
