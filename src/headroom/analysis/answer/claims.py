"""The claims taken together: a reproduction, a prediction, or counts.

Most claims with a published value come from a paper where their `source` begins with that word: the
study then asks whether the paper holds. A study whose claims are about errors of predictions, or
mostly about agreement, asks how good they are.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from headroom.analysis.answer_evidence import (
    Bounded,
    ClaimCounts,
    Findings,
    Prediction,
    PrintedNumbers,
    Reproduction,
)
from headroom.analysis.evidence import AgreementEvidence, ErrorsEvidence, MissingEvidence
from headroom.analysis.results import ClaimResult, StudyResult, Verdict

STANDS_FROM = 0.9
"""Share of the claims that hold from which on a publication stands."""
_FALLS_FROM = 0.5
_MAX_TOPICS = 2


def counts_of(claims: Sequence[ClaimResult]) -> ClaimCounts:
    """Return how many claims hold, and which do not."""
    verdicts = Counter(claim.verdict for claim in claims)
    exceptions = [claim for claim in claims if claim.verdict != "holds"]
    return ClaimCounts(
        holds=verdicts["holds"],
        differs=verdicts["differs"],
        undecided=verdicts["undecided"],
        left_out=sum(_is_left_out(claim) for claim in exceptions),
        exceptions=[
            claim.name for claim in sorted(exceptions, key=lambda one: one.verdict != "differs")
        ],
    )


def _is_left_out(claim: ClaimResult) -> bool:
    evidence = claim.evidence
    return isinstance(evidence, MissingEvidence) and evidence.is_quick


def reproduction_of(study: StudyResult) -> Reproduction | None:
    """Return whether a publication stands; None if most claims do not come from one."""
    published = [claim for claim in study.claims if claim.published]
    from_paper = sum(claim.source.lower().startswith("paper") for claim in published)
    if not published or 2 * from_paper <= len(study.claims):
        return None
    counts = counts_of(study.claims)
    differing = [claim for claim in study.claims if claim.verdict == "differs"]
    headline = sum(claim.printed is not None for claim in differing)
    topics = Counter(claim.metric for claim in differing)
    return Reproduction(
        state=_state(counts, headline),
        holds=counts.holds,
        differs=counts.differs,
        undecided=counts.undecided,
        left_out=counts.left_out,
        topics=[metric for metric, _ in topics.most_common(_MAX_TOPICS)],
        headline_differs=headline,
    )


def _state(counts: ClaimCounts, headline: int) -> Literal["stands", "partly", "falls"]:
    checked = counts.total - counts.left_out
    if counts.holds >= STANDS_FROM * checked and counts.holds and not headline:
        return "stands"
    return "falls" if counts.differs > _FALLS_FROM * checked else "partly"


def printed_numbers(claims: Sequence[ClaimResult]) -> PrintedNumbers | None:
    """Return how far the results are from the numbers that were printed, and not fitted to."""
    printed = [
        (claim.basis == "fitted", abs(claim.value / claim.printed.value - 1.0))
        for claim in claims
        if claim.printed is not None and claim.printed.value and claim.value is not None
    ]
    if not printed:
        return None
    errors = [error for is_fitted, error in printed if not is_fitted]
    return PrintedNumbers(
        count=len(errors), within=max(errors, default=None), fitted=len(printed) - len(errors)
    )


def findings_of(study: StudyResult) -> Findings | None:
    """Return how many of the claims of a study hold; None without claims."""
    if not study.claims:
        return None
    counts, first = counts_of(study.claims), study.claims[0]
    return Findings(
        holds=counts.holds,
        differs=counts.differs,
        undecided=counts.undecided - counts.left_out,
        first=first.text.rstrip(".") if first.verdict == "holds" else "",
    )


def predictions_of(study: StudyResult) -> list[ClaimResult]:
    """Return the claims about predictions, if the study asks about them; else none."""
    errors = [claim for claim in study.claims if claim.kind == "errors"]
    both = [claim for claim in study.claims if claim.kind in {"errors", "agreement"}]
    return both if errors or 2 * len(both) > len(study.claims) else []


def factor_of_pairs(claim: ClaimResult) -> str:
    """Return the only factor in which predicted points differ, if it is a number; else empty."""
    names = dict.fromkeys(name for pair in claim.pairs for name in pair.levels)
    levels = {name: {pair.levels.get(name) for pair in claim.pairs} for name in names}
    moving = [name for name, found in levels.items() if len(found) > 1]
    if len(moving) != 1 or len(levels[moving[0]]) != len(claim.pairs):
        return ""
    is_number = all(isinstance(level, int | float) for level in levels[moving[0]])
    return moving[0] if is_number else ""


def prediction_of(study: StudyResult) -> Prediction | None:
    """Return how good the predictions of a study are, by the claim that is worst."""
    claims = predictions_of(study)
    told = [one for one in claims if isinstance(one.evidence, AgreementEvidence | ErrorsEvidence)]
    if not told:
        return None
    order = ("differs", "undecided", "holds")
    worst = min(told, key=lambda claim: (order.index(claim.verdict), -(_worst(claim) or 0.0)))
    held = sum(claim.verdict == "holds" for claim in claims)
    return Prediction(
        verdict=_verdict(claims),
        metric=worst.metric,
        experiment=worst.experiment,
        to_experiment=worst.to_experiment,
        points=len(worst.pairs),
        median=_median(worst),
        worst=_worst(worst),
        is_bounded=not getattr(worst.evidence, "unbounded", []),
        claims=len(claims),
        held=held,
        undecided=sum(claim.verdict == "undecided" for claim in claims),
    )


def _verdict(claims: Sequence[ClaimResult]) -> Verdict:
    verdicts = {claim.verdict for claim in claims}
    return "differs" if "differs" in verdicts else "holds" if verdicts == {"holds"} else "undecided"


def _worst(claim: ClaimResult) -> float | None:
    """Return the largest error of a prediction, as a share of what was measured."""
    errors = [abs(pair.ratio - 1.0) for pair in claim.pairs if pair.ratio is not None]
    return max(errors, default=None)


def _median(claim: ClaimResult) -> Bounded | None:
    evidence = claim.evidence
    if isinstance(evidence, ErrorsEvidence):
        for measure in evidence.measures:
            if measure.code == "median" and measure.value is not None:
                return Bounded(value=measure.value, low=measure.low, high=measure.high)
    if isinstance(evidence, AgreementEvidence) and evidence.median is not None:
        return Bounded(value=evidence.median, low=evidence.median_low, high=evidence.median_high)
    errors = [abs(pair.ratio - 1.0) for pair in claim.pairs if pair.ratio is not None]
    return Bounded(value=statistics.median(errors)) if errors else None
