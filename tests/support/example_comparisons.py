"""Builders of synthetic comparisons and predictions, for the page and the terminal."""

from collections.abc import Sequence

import msgspec

from headroom.analysis.evidence import (
    AgreementEvidence,
    Allowed,
    ComparisonEvidence,
    RunOrder,
)
from headroom.analysis.results import (
    ClaimResult,
    ComparisonVerdict,
    ExperimentResult,
    LevelComparison,
    LevelsCompared,
    PredictedPair,
    Verdict,
)

_RATIOS: Sequence[tuple[float, ComparisonVerdict]] = (
    (0.5, "better"), (2.0, "worse"), (1.01, "same"), (1.08, "undecided"), (1.4, "larger"),
)  # fmt: skip
_EVIDENCE: dict[ComparisonVerdict, ComparisonEvidence] = {
    "same": ComparisonEvidence(code="within"),
    "undecided": ComparisonEvidence(code="larger_open"),
    **dict.fromkeys(("better", "worse", "larger"), ComparisonEvidence(code="beyond")),
}


def compared(experiment: ExperimentResult, *, sizes: int = 1) -> ExperimentResult:
    """Return an experiment with a comparison of every verdict, at each of `sizes` other levels."""
    rows = [
        LevelComparison(
            level="ram",
            where={"size": size} if sizes > 1 else {},
            metric=f"task{number}_s",
            unit="s",
            better="low",
            verdict=verdict,
            evidence=_EVIDENCE[verdict],
            count=12,
            base_count=12,
            pairs=12,
            value=0.01 * ratio,
            base_value=0.01,
            ratio=ratio,
            low=0.97 * ratio,
            high=1.04 * ratio,
            method="order statistics",
            shift=0.01 * (ratio - 1.0),
            shift_low=0.009 * (ratio - 1.0),
            shift_high=0.012 * (ratio - 1.0),
            cliffs_delta=-0.4,
            effect="medium",
            p_value=0.0421,
        )
        for size in range(sizes)
        for number, (ratio, verdict) in enumerate(_RATIOS)
    ]
    rows.append(
        LevelComparison(
            level="ram", where={}, metric="error_count", unit="1", better="low",
            verdict="undecided", evidence=ComparisonEvidence(code="missing", levels=["ram"]),
        )
    )  # fmt: skip
    found = LevelsCompared(
        factor="target",
        base="disk",
        same_within=0.05,
        confidence=0.99,
        order=RunOrder(code="interleaved", intact=12, blocks=12),
        rows=rows,
    )
    return msgspec.structs.replace(experiment, compared=found)


def predicting(
    name: str, *, unit: str = "s", tolerance: float = 0.15, spread: float = 1.0
) -> ClaimResult:
    """Return a claim that was predicted at three points, one of each verdict."""
    verdicts: tuple[Verdict, ...] = ("holds", "differs", "undecided")
    pairs = [
        PredictedPair(
            levels={"load": 0.1 + 0.4 * number},
            to_levels={"load": 0.1 + 0.4 * number},
            predicted=0.01 * ratio * spread**number,
            predicted_low=0.0099 * ratio * spread**number,
            predicted_high=0.0101 * ratio * spread**number,
            measured=0.01 * spread**number,
            measured_low=0.0095 * spread**number,
            measured_high=None if number == 1 else 0.0104 * spread**number,
            ratio=ratio,
            low=0.98 * ratio,
            high=1.02 * ratio,
            verdict=verdict,
        )
        for number, (ratio, verdict) in enumerate(zip((1.05, 1.5, 1.14), verdicts, strict=True))
    ]
    return ClaimResult(
        name=name, text=f"It is foreseen ({name})", kind="agreement", experiment="model",
        metric="response_s_p99", published="", value=1.5, low=1.47,
        high=1.53, verdict="differs", evidence=AgreementEvidence(
            allowed=Allowed(low=1.0 - tolerance, high=1.0 + tolerance), count=3,
            confidence=1.0 - 0.05 / 3, worst=1, decisive=1,
        ), unit="1", to_experiment="device",
        to_metric="response_s_p99", tolerance=tolerance, pairs=pairs, pair_unit=unit,
    )  # fmt: skip
