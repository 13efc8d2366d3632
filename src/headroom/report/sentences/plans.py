"""What a plan may add, and what it can never decide, as sentences before the run."""

from collections.abc import Mapping

from headroom.analysis.follow_up.refine import Refinement
from headroom.analysis.statistics.undecidable import TooFewReplications, Undecidable
from headroom.quantities import format_level
from headroom.report.words import count_noun


def refinement_sentence(one: Refinement) -> str:
    """Return how many levels a limit may add.

    Examples
    --------
    >>> refinement_sentence(Refinement(levels=4, factor="load", curves=1, metric="wait_s_mean"))
    'up to 4 levels of load may be added, where the limit on wait_s_mean breaks'
    """
    where = f" on each of {one.curves} curves" if one.curves > 1 else ""
    return (
        f"up to {one.levels} levels of {one.factor} may be added{where}, where the limit on "
        f"{one.metric} breaks"
    )


def undecidable_lines(found: Mapping[str, TooFewReplications]) -> list[str]:
    """Return each sentence once, after the names of its experiments."""
    names: dict[str, list[str]] = {}
    for name, one in found.items():
        names.setdefault(undecidable_sentence(one), []).append(name)
    return [f"{', '.join(experiments)}: {sentence}" for sentence, experiments in names.items()]


def undecidable_sentence(one: TooFewReplications) -> str:
    """Return for which questions the planned replications can never be enough.

    Examples
    --------
    >>> median = Undecidable(question="median", needs=6)
    >>> one = TooFewReplications(planned=5, key="replications.count", questions=(median,))
    >>> undecidable_sentence(one)[:67]
    '5 replications can never be enough for the 95% interval of a median'
    """
    listed = ", ".join(
        f"{_question_words(question)} (needs {question.needs})" for question in one.questions
    )
    runs = count_noun(one.planned, "replication")
    return f"{runs} can never be enough for {listed}; set {one.key} = {one.needs}"


def _question_words(one: Undecidable) -> str:
    metrics = count_noun(one.metrics, "metric")
    return {
        "median": "the 95% interval of a median",
        "comparison": f"the comparison of {metrics} with {format_level(one.base)}",
        "claim": f'claim "{one.claim}"',
    }[one.question]
