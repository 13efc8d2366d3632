"""The basis of a claim, and the law next to the simulation, as text and as a table.

Invariant: restates `ClaimResult.basis` and `PointResult.law`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import Basis, ClaimResult, ExperimentResult
from headroom.report.findings.beside import Pair, pair_cells, pair_heads
from headroom.report.tables.tables import Table
from headroom.report.words import count_noun, join_words

BASIS_WORDS: dict[Basis, str] = {
    "fitted": "fitted",
    "arithmetic": "follows by arithmetic",
    "simulator": "needs the simulator",
    "own": "own",
    "": "",
}
"""The data of the table."""
_SENTENCES: dict[Basis, tuple[str, str]] = {
    "fitted": ("is what the model was fitted to", "are what the model was fitted to"),
    "arithmetic": (
        "follows by arithmetic: the law passes it too",
        "follow by arithmetic: the law passes them too",
    ),
    "simulator": ("needs the simulator", "need the simulator"),
    "own": ("is our own", "are our own"),
}
_VERDICTS = (("holds", "hold"), ("differs", "differ"), ("undecided", "undecided"))


def basis_sentences(claims: Sequence[ClaimResult]) -> list[str]:
    """Return how many claims rest on what, and what came of them; nothing without a law.

    Examples
    --------
    >>> basis_sentences([])
    []
    """
    found = []
    for basis, (one, many) in _SENTENCES.items():
        of_it = [claim for claim in claims if claim.basis == basis]
        if of_it:
            words = one if len(of_it) == 1 else many
            found.append(f"{count_noun(len(of_it), 'claim')} {words} ({_verdicts(of_it)}).")
    return found


def _verdicts(claims: Sequence[ClaimResult]) -> str:
    counts = [
        (sum(claim.verdict == verdict for claim in claims), verdict, word)
        for verdict, word in _VERDICTS
    ]
    told = [
        f"{count} {verdict if count == 1 else word}" for count, verdict, word in counts if count
    ]
    return join_words(told)


def law_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return the responses of all points by simulation and by law; None without a law."""
    pairs = [
        Pair(point, point.estimates[metric].of_runs(), point.law[metric])
        for point in experiment.points
        for metric in experiment.responses
        if metric in point.law and metric in point.estimates
    ]
    if not pairs:
        return None
    rows = [pair_cells(experiment, pair) for pair in pairs[:at_most]]
    note = "The law is arithmetic: no queues and no chance."
    return Table("Simulation and the law", pair_heads(experiment, "law"), rows, note)
