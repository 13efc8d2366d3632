"""Train a build of the core that counts which way each branch goes; `scripts/wheel` runs it.

The compiler then lays the code out for these runs: the models of the speed benchmark, and a piece
of each model with a known answer, which together use every kind of station, step and choice. The
compiler treats all other code as rare.
"""

import warnings

from benches.known.subjects import subjects
from benches.peers import own_models
from benches.peers.workloads import MMC_OFFERED, MMC_SERVERS
from headroom.simulation import ModelWarning, simulate

COMPLETIONS = 150_000
PIECE_S = 500.0
"""Simulated time of a model with a known answer, whose services take seconds."""


def main() -> None:
    """Run all models once."""
    warnings.simplefilter("ignore", ModelWarning)
    fast = (
        own_models.mm1(),
        own_models.open_queue(MMC_OFFERED, MMC_SERVERS),
        own_models.central_server(),
        own_models.pipeline(),
    )
    for model in fast:
        simulate(model, seed=1, completions=COMPLETIONS)
    for subject in subjects():
        simulate(subject.build(), seed=1, time=PIECE_S)


if __name__ == "__main__":
    main()
