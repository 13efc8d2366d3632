"""Wording of evidence: one snapshot per kind; the verdicts are tested where they are computed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.evidence import (
    AgreementEvidence,
    Allowed,
    ClaimEvidence,
    ClassLoss,
    ClassShare,
    ComparisonEvidence,
    CrossingEvidence,
    CrossoversEvidence,
    CurveEvidence,
    FlatEvidence,
    IntervalEvidence,
    LevelEstimate,
    LimitEvidence,
    Limiting,
    MissingEvidence,
    NoComparison,
    NoInterval,
    NoKnee,
    NoKneeEvidence,
    NotLimited,
    Overflow,
    RunOrder,
    SaturatedSpan,
    SignEvidence,
    Step,
    Symptom,
    UnboundedEvidence,
    UnboundedPair,
    UsedResource,
    WorstSpan,
    ZeroEvidence,
)
from headroom.analysis.results import (
    Bottleneck,
    ClaimResult,
    ComparisonVerdict,
    Effect,
    FitSet,
    Knee,
    LevelComparison,
    LevelsCompared,
    LimitCrossing,
    PredictedPair,
    Verdict,
)
from headroom.experiment.protocol.fit_method import Refuted, ServiceEvidence
from headroom.quantities import to_ascii
from headroom.report.sentences.bottleneck import bottleneck_text, limit_sentence
from headroom.report.sentences.claims import claim_sentence
from headroom.report.sentences.comparisons import (
    comparison_reason,
    comparison_sentence,
    no_comparison_sentence,
    order_sentences,
)
from headroom.report.sentences.fits import fit_notes
from headroom.report.sentences.knee import knees_sentence, no_knee_sentence
from headroom.report.sentences.limits import limit_sentences
from headroom.report.sentences.what_if import effects_clause, next_bottleneck


def claim(
    verdict: Verdict,
    evidence: ClaimEvidence,
    interval: tuple[float, float, float] | None = None,
    *,
    unit: str = "1/s",
    kind: str = "value",
) -> ClaimResult:
    value, low, high = interval or (None, None, None)
    return ClaimResult(
        name="claim", text="It is so.", kind=kind, experiment="web", metric="throughput",
        published="", value=value, low=low, high=high, verdict=verdict, evidence=evidence,
        unit=unit, tolerance=0.15,
    )  # fmt: skip


def levels(*values: float) -> list[LevelEstimate]:
    return [
        LevelEstimate(level=10 * place, value=value, low=value - 0.1, high=value + 0.1)
        for place, value in enumerate(values, 1)
    ]


CURVE = CurveEvidence(
    shape="rises",
    factor="users",
    levels=levels(1.0, 2.0, 4.0, 3.5, 6.0, 9.0),
    smallest_step=Step(level=30, to_level=40, value=-0.5, low=-0.7, high=-0.3),
    comparisons=5,
    confidence=0.99,
    decisive=Step(level=30, to_level=40, value=-0.5, low=-0.7, high=-0.3),
)
PAIR = PredictedPair(
    levels={"load": 0.9}, to_levels={"load": 0.9}, predicted=3.0, predicted_low=2.9,
    predicted_high=3.1, measured=2.0, measured_low=1.9, measured_high=2.1, ratio=1.5, low=1.4,
    high=1.6, verdict="differs",
)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            claim(
                "differs",
                IntervalEvidence(allowed=Allowed(high=1.05), is_ratio=True),
                (1.11, 1.08, 1.15),
                unit="1",
            ),
            "Differs: 1.11x (1.08 to 1.15); at most 1.05x allowed.",
        ),
        (
            claim(
                "undecided",
                IntervalEvidence(allowed=Allowed(low=90.0, high=110.0)),
                (108.0, 104.0, 112.0),
            ),
            "Undecided: 108 /s (104 to 112); 90 /s to 110 /s allowed; run more replications.",
        ),
        (
            claim("holds", SignEvidence(allowed=Allowed(low=1.0), place="inside")),
            "Holds: no ratio; a value is not above zero, so differences decide: within what is "
            "allowed, at least 1x.",
        ),
        (
            claim("holds", ZeroEvidence(allowed=Allowed(high=1.0))),
            "Holds: no ratio; zero in every run of both points, so they are equal.",
        ),
        (
            claim("differs", CURVE),
            "Differs: 1.00 /s at 10 to 9.00 /s at 60 in 5 steps; smallest rise -0.5 /s (-0.7 to "
            "-0.3) from 30 to 40; throughput from users = 30 to 40: the margin is -0.5 /s (-0.7 "
            "to -0.3) (5 comparisons, each at 99% confidence).",
        ),
        (
            claim(
                "holds",
                FlatEvidence(
                    factor="users",
                    mean=10.0,
                    mean_low=9.9,
                    mean_high=10.1,
                    largest_distance=0.2,
                    comparisons=6,
                    confidence=1.0 - 0.05 / 6,
                ),
            ),
            "Holds: 10.00 /s (9.90 to 10.10) on average, every level within 2% of it; all 6 "
            "comparisons hold, each at 99.17% confidence.",
        ),
        (
            claim("differs", UnboundedEvidence(factor="users", level=30)),
            "Differs: throughput grows without bound at users = 30.",
        ),
        (
            claim("undecided", NoKneeEvidence(reason=NoKnee(code="straight")), kind="knee"),
            "Undecided: no knee; the curve is straight within its intervals.",
        ),
        (
            claim("undecided", CrossoversEvidence(count=2, levels=9), kind="crossover"),
            "Undecided: 2 crossovers; the claim is about a single crossover.",
        ),
        (
            msgspec.structs.replace(
                claim(
                    "differs",
                    AgreementEvidence(
                        allowed=Allowed(low=0.85, high=1.15),
                        count=2,
                        confidence=0.975,
                        worst=0,
                        decisive=0,
                        unbounded=[UnboundedPair(levels={"load": 1}, side="predicted")],
                    ),
                ),
                pairs=[PAIR],
            ),
            "Differs: 1.50x (1.40 to 1.60); saturated as predicted but not as measured at load = "
            "1; too high by a factor of 1.5; 0.85x to 1.15x allowed (2 points, each at 97.5% "
            "confidence).",
        ),
        (
            claim("undecided", MissingEvidence(code="not_planned", levels={"users": 9})),
            "Undecided: no point with users = 9 was planned.",
        ),
    ],
    ids=lambda value: value.evidence.__class__.__name__ if isinstance(value, ClaimResult) else "",
)
def test_claims(found: ClaimResult, sentence: str) -> None:
    assert to_ascii(claim_sentence(found)) == sentence


@given(st.lists(st.floats(0.1, 1e4), min_size=5, max_size=200))
def test_the_words_of_a_curve_stay_short(values: list[float]) -> None:
    found = msgspec.structs.replace(CURVE, levels=levels(*values), decisive=None)
    assert len(claim_sentence(claim("holds", found))) < 250


KNEE = Knee(
    metric="throughput", factor="users", where={}, found=True, level=228.0, level_low=224.0,
    level_high=232.0, value=220.0,
)  # fmt: skip


def test_knees() -> None:
    slow = msgspec.structs.replace(
        KNEE, metric="response_s_mean", is_cut=True, without=[9.0], where={"servers": 2}
    )
    assert knees_sentence([KNEE]) == "Throughput levels off at users = 228 (224 to 232)."
    assert knees_sentence([slow]) == (
        "Mean response time bends at users = 228 (224 to 232) with servers = 2 (the interval ends "
        "with the levels; no results at 9)."
    )


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (NoKnee(code="few_replications", needed=3),
         "too few replications. Run at least 3 at each level."),
        (NoKnee(code="few_levels", count=4, needed=5, add=[1.5]),
         "4 levels, at least 5 are needed. Add a level at 1.5."),
        (NoKnee(code="straight"), "the curve is straight within its intervals."),
        (NoKnee(code="smooth"), "the curve bends evenly."),
        (NoKnee(code="bend_at_end", low=1.0, high=20.0, end="first"),
         "the bend is too close to the first level. Add levels between 1 and 20."),
        (NoKnee(code="parallel"),
         "both ends of the curve have the same slope within their intervals."),
        (NoKnee(code="outside", meets_at=33.333333),
         "the asymptotes meet at 33.33, outside the levels. Add levels with lighter and heavier "
         "load."),
        (NoKnee(code="unsettled", low=1.0, high=20.0),
         "the bend may be at any level. Add levels between 1 and 20, or replications."),
        (NoKnee(code="defect", message="internal error"), "internal error."),
    ],
    ids=lambda value: value.code if isinstance(value, NoKnee) else "",
)  # fmt: skip
def test_no_knee(reason: NoKnee, sentence: str) -> None:
    knee = Knee(metric="throughput", factor="users", where={}, found=False, reason=reason)
    assert no_knee_sentence(["throughput"], knee) == f"No knee in throughput: {sentence}"


def used(
    name: str, share: float, *, pool: bool = False, is_saturated: bool = True, **other: float
) -> UsedResource:
    found = UsedResource(
        kind="pool" if pool else "station", name=name, utilization=share, low=share - 0.002,
        high=min(share + 0.002, 1.0), waiting=18.0, capacity=20.0, is_saturated=is_saturated,
    )  # fmt: skip
    return msgspec.structs.replace(found, **other)


def verdict(evidence: LimitEvidence, *, wait_share: float | None = None) -> Bottleneck:
    is_limiting = isinstance(evidence, Limiting)
    full = evidence.cause if isinstance(evidence, Limiting) else evidence.fullest
    return Bottleneck(
        limits=is_limiting,
        kind=full.kind if is_limiting else "none",
        name=full.name if is_limiting else "",
        evidence=evidence,
        utilization=full.utilization,
        utilization_low=full.low,
        utilization_high=full.high,
        wait_share=wait_share,
    )


DATABASE = used("database", 0.987)
LINKS = used("connections", 0.998, pool=True)
WEB = used("web", 0.62, is_saturated=False)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(
            verdict(
                Limiting(
                    why="busy",
                    cause=DATABASE,
                    population=300.0,
                    next=WEB,
                    others=2,
                    symptoms=[Symptom(resource=LINKS, because="queues", wait_share=0.1)],
                ),
                wait_share=0.23,
            ),
            '"database" is saturated: 98.7% (98.5 to 98.9) busy, 18 of 300 jobs queued (23% of '
            'response time). All other stations are at most 62% busy. Pool "connections" is '
            "exhausted only because its holders queue there.",
            id="busy",
        ),
        pytest.param(
            verdict(Limiting(why="held", cause=LINKS, inside=WEB)),
            'Pool "connections" is exhausted: 99.8% (99.6 to 100.0) of 20 tokens held, 18 jobs '
            'queued. No station used while holding a token is saturated; busiest: "web" (62%).',
            id="held",
        ),
        pytest.param(
            verdict(Limiting(why="held", cause=LINKS, ties=[DATABASE], behind=[DATABASE])),
            'Pool "connections" is exhausted: 99.8% (99.6 to 100.0) of 20 tokens held, 18 jobs '
            'queued. "database" (98.7%) is as busy: they limit together. "database" behind it is '
            "98.7% (98.5 to 98.9) busy, but no job queues there.",
            id="tie",
        ),
        pytest.param(
            verdict(
                Limiting(
                    why="uneven",
                    cause=used("cpu", 0.35, busiest=1.0),
                    classes=[ClassShare(name="a", share=0.6), ClassShare(name="b", share=0.4)],
                )
            ),
            'One station of "cpu" is saturated: 100% busy (all of them 35%), 18 jobs queued; jobs '
            'routed to it queue even while the others are idle. Its work is 60% for "a" and 40% '
            'for "b".',
            id="uneven",
        ),
        pytest.param(
            verdict(
                Limiting(
                    why="down",
                    cause=used("web", 0.66, down=0.33, waiting=0.0),
                    next=DATABASE,
                    others=1,
                )
            ),
            '"web" limits because it is down 33% of the time: 66.0% (65.8 to 66.2) busy '
            "while it is up, no jobs "
            'queued. Next: "database" (98.7%).',
            id="down",
        ),
        pytest.param(
            verdict(
                Limiting(
                    why="full_places",
                    cause=used("press", 0.8),
                    is_awaited=False,
                    next=WEB,
                    others=1,
                    symptoms=[
                        Symptom(resource=used("mill", 0.6, blocked=0.38), because="no_place")
                    ],
                    overflows=[
                        Overflow(resource=used("log", 0.99), rejected=0.9, harmless="unawaited")
                    ],
                    is_steady=False,
                )
            ),
            'The places of "press" are full and block others: 80.0% (79.8 to 80.2) busy, 18 '
            'background tasks queued, which no job waits for. The other station, "web", is 62% '
            'busy. "mill" is full only because its finished jobs find no place at "press". "log" '
            "rejects 90% of arrivals at 99% busy, without harm: no job waits for that work. These "
            "are whole runs: they have no steady state.",
            id="blocking",
        ),
        pytest.param(
            verdict(
                Limiting(
                    why="busy",
                    cause=DATABASE,
                    worst=WorstSpan(
                        from_s=600.0,
                        to_s=1200.0,
                        kind="station",
                        name="database",
                        longest_queue=120.4,
                        is_last=True,
                        others=[SaturatedSpan(name="web", from_s=0.0, to_s=300.0)],
                        whole_utilization=0.53,
                    ),
                )
            ),
            'From 10 min to 20 min (10 min), "database" is saturated: 98.7% (98.5 to 98.9) busy, '
            "18 jobs queued. Its queue grows to 120 jobs and is not empty when the run ends. Over "
            'the whole run it is 53% busy. Also saturated: "web" from 0 s to 300 s (300 s).',
            id="stretch",
        ),
        pytest.param(
            verdict(NotLimited(fullest=WEB, by="arrivals")),
            'No station is saturated; busiest: "web" (62%). Throughput equals the arrival rate.',
            id="none",
        ),
        pytest.param(
            verdict(NotLimited(fullest=WEB, by="observed")),
            'Nothing that was observed is saturated; busiest: "web" (62%). At equal work per '
            "operation, it permits 1.61 times this throughput.",
            id="observed",
        ),
        pytest.param(
            verdict(NotLimited(fullest=WEB, by="observed", neighbours=0.9)),
            'Nothing that was observed is saturated; busiest: "web" (62%). At equal work per '
            "operation, it permits 1.61 times this throughput. Other programs take 90% of the "
            "machine's processors.",
            id="neighbours",
        ),
        pytest.param(
            verdict(
                NotLimited(
                    fullest=used("links", 0.5, pool=True, is_saturated=False),
                    by="think_time",
                    population=60.0,
                    thinking=56.0,
                    losses=[ClassLoss(name="a", lost=0.25), ClassLoss(name="b", failed_tries=2.04)],
                )
            ),
            'No pool is exhausted; fullest: "links" (50%). Think time limits '
            'throughput: 56 of 60 users think at any time. 25% of jobs of class "a" are lost. Each '
            'job of class "b" makes 2 failing tries.',
            id="think time",
        ),
        pytest.param(
            verdict(NotLimited(fullest=used("log", 0.99), by="population", population=9.0)),
            "No bottleneck: full stations reject work without harm. The number of users limits "
            "throughput: 9 cannot keep a station busy.",
            id="harmless",
        ),
    ],
)
def test_bottlenecks(found: Bottleneck, text: str) -> None:
    assert bottleneck_text(found) == text


def test_the_bottleneck_of_several_points() -> None:
    """Also of terminating runs, at the peak of which it limits."""
    full = [verdict(Limiting(why="busy", cause=used("database", share))) for share in (0.991, 1.0)]
    assert limit_sentence(full, where="from users = 250") == (
        'Station "database" is the bottleneck from users = 250 (99.1% to 100% busy).'
    )
    assert limit_sentence(full, where="from users = 250", when=", from 5 min to 20 min") == (
        'Station "database" is the bottleneck from users = 250, from 5 min to 20 min: 99.1% to '
        "100% busy."
    )


LIMIT = LimitCrossing(
    metric="response_s_p95", unit="s", at_most=0.2, at_least=None, factor="users", where={},
    state="breaks", level=241.0, level_low=236.0, level_high=248.0, current=150.0, headroom=1.607,
    headroom_low=1.573, headroom_high=1.653, verdict="holds",
    evidence=CrossingEvidence(before=200.0, after=250.0),
)  # fmt: skip
NOWHERE = msgspec.structs.replace(
    LIMIT, level=None, level_low=None, level_high=None, current=None, headroom=None, verdict=None
)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(
            msgspec.structs.replace(LIMIT, added=2),
            "Response time p95 reaches 200 ms at users = 241 (236 to 248), 1.6x the current load "
            "(2 levels added). At the current load, users = 150, it is kept.",
            id="breaks",
        ),
        pytest.param(
            msgspec.structs.replace(
                LIMIT, metric="throughput", unit="1/s", at_most=None, at_least=50.0,
                where={"disks": 2}, verdict="undecided", breaks_at=250.0,
                evidence=CrossingEvidence(
                    kept_at=[200.0, 280.0], is_cut=True, without=[300.0], undecided="includes_limit"
                ),
            ),
            "With disks = 2, throughput falls to 50 /s at users = 241 (236 to 248), 1.6x the "
            "current load. It is kept again at a higher level. The interval ends with the levels. "
            "No results at 300. At the current load, users = 150, it is undecided: the interval "
            "includes the limit; run more replications or add a level.",
            id="floor",
        ),
        pytest.param(
            msgspec.structs.replace(
                LIMIT, level=None, level_low=200.0, level_high=300.0, headroom=None,
                headroom_low=1.333, headroom_high=2.0, verdict=None,
                evidence=CrossingEvidence(before=200.0, after=300.0, is_saturated=True),
            ),
            "Response time p95 exceeds 200 ms between users = 200 and 300, 1.3x to 2x the current "
            "load. Users = 300 is saturated. `refine` of the limit adds levels there.",
            id="saturated",
        ),
        pytest.param(
            msgspec.structs.replace(
                NOWHERE, level_low=200.0, level_high=300.0, headroom_low=None,
                evidence=CrossingEvidence(is_jump=True),
            ),
            "Response time p95 exceeds 200 ms between users = 200 and 300. It changes at least "
            "tenfold there. `refine` of the limit adds levels there.",
            id="jump",
        ),
        pytest.param(
            msgspec.structs.replace(NOWHERE, state="holds", evidence=CrossingEvidence(at=400.0)),
            "Response time p95 stays at most 200 ms up to users = 400.",
            id="holds",
        ),
        pytest.param(
            msgspec.structs.replace(
                NOWHERE, state="broken", evidence=CrossingEvidence(at=25.0)
            ),
            "Response time p95 exceeds 200 ms from the lowest level, users = 25.",
            id="broken",
        ),
        pytest.param(
            msgspec.structs.replace(
                NOWHERE, factor="servers", kept="above", is_resource=True, level=14.4,
                level_low=14.2, level_high=14.6, holds_at=15.0, breaks_at=14.0,
            ),
            "Response time p95 stays at most 200 ms from servers = 14.4 (14.2 to 14.6) on; the "
            "lowest level that surely keeps it is servers = 15.",
            id="enough",
        ),
        pytest.param(
            msgspec.structs.replace(NOWHERE, kept="between", level_low=4.0, level_high=16.0),
            "Response time p95 stays at most 200 ms only from users = 4 to 16.",
            id="window",
        ),
        pytest.param(
            msgspec.structs.replace(
                NOWHERE, state="unclear", evidence=CrossingEvidence(unclear="near_limit", at=80.0)
            ),
            "Response time p95, at most 200 ms: undecided at users = 80: the interval includes the "
            "limit. Run more replications.",
            id="unclear",
        ),
    ],
)  # fmt: skip
def test_limits(found: LimitCrossing, text: str) -> None:
    assert to_ascii(limit_sentences(found)) == text


def row(
    metric: str,
    verdict: ComparisonVerdict,
    evidence: ComparisonEvidence,
    ratio: float | None = None,
) -> LevelComparison:
    return LevelComparison(
        level="durable", where={"size": 4}, metric=metric, unit="s", better="low", verdict=verdict,
        evidence=evidence, ratio=ratio, low=ratio and 0.95 * ratio, high=ratio and 1.05 * ratio,
    )  # fmt: skip


COMPARED = LevelsCompared(
    factor="mode", base="buffered", same_within=0.05, confidence=0.95,
    order=RunOrder(code="interleaved", intact=12, blocks=12), rows=[],
)  # fmt: skip


def test_comparisons() -> None:
    rows = [
        row("write_s", "worse", ComparisonEvidence(code="beyond"), 60.0),
        row("error_count", "undecided", ComparisonEvidence(code="missing", levels=["durable"])),
    ]
    assert to_ascii(comparison_sentence(COMPARED, rows)) == (
        '"durable" vs "buffered", size = 4: write 60x (57 to 63), worse; error count undecided '
        "(durable: no results) (same: within 5%)."
    )
    empty = msgspec.structs.replace(COMPARED, why_empty=NoComparison(code="base_not_run"))
    assert no_comparison_sentence(empty) == "Nothing to compare: mode = buffered was not run."


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (ComparisonEvidence(code="within"), "differs by less than 5%"),
        (
            ComparisonEvidence(code="beyond", by_differences=True),
            "differs by more than 5%; a value is not above zero, so differences decide",
        ),
        (ComparisonEvidence(code="both_zero"), "zero in every run of both"),
        (
            ComparisonEvidence(code="unbounded", levels=["a", "b"]),
            "without bound: a and b are saturated",
        ),
        (
            ComparisonEvidence(
                code="few_runs", reason=NoInterval(code="few_pairs", count=3, needed=6)
            ),
            "3 pairs of runs can never decide: run 6 or more",
        ),
        (
            ComparisonEvidence(code="larger_open"),
            "the ratio is above 1 but may differ by less than 5%; run more replications",
        ),
        (
            ComparisonEvidence(code="open"),
            "the ratio may be 1 or differ by more than 5%; run more replications",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, ComparisonEvidence) else "",
)
def test_reasons_of_comparisons(evidence: ComparisonEvidence, reason: str) -> None:
    assert comparison_reason(evidence, 0.05) == reason


def test_the_order_of_runs() -> None:
    assert order_sentences(COMPARED.order) == (
        "Levels were interleaved in randomised blocks (all 12 pairs of runs ran side by side). "
        "Ratios are typical ratios within blocks (signed ranks)."
    )
    assert order_sentences(RunOrder(code="apart", intact=0, blocks=8)) == (
        "Levels were not interleaved (only 0 of 8 pairs of runs ran side by side): a drift of the "
        "machine would look like a difference. Ratios are ratios of medians. Run the study again "
        "to get blocks."
    )


def effect(metric: str, ratio: float, low: float | None, high: float | None) -> Effect:
    return Effect(
        metric=metric, unit="1", better="high", before=1.0, after=ratio, ratio=ratio, low=low,
        high=high, pairs=5, variance_reduction=None,
    )  # fmt: skip


def test_what_ifs() -> None:
    gains = [
        effect("throughput", 1.28, 1.274, 1.286),
        effect("response_s_mean", 0.506, 0.496, 0.516),
        effect("response_s_p95", 0.2, 0.19, 0.21),
        effect("wait_s_mean", 0.99, 0.97, 1.01),
    ]
    assert to_ascii(effects_clause(gains)) == (
        "throughput rises by 28.0% (27.4% to 28.6%), mean response time falls by 49.4% (48.4% to "
        "50.4%), response time p95 falls to 0.200x (0.190 to 0.210) and mean wait changes by at "
        "most 3%"
    )
    assert effects_clause([effect("throughput", 1.0002, 1.0, 1.0004)]) == "no effect (under 0.1%)"
    assert next_bottleneck(verdict(Limiting(why="busy", cause=DATABASE))) == (
        'Next bottleneck: "database".'
    )
    assert next_bottleneck(verdict(NotLimited(fullest=WEB, by="arrivals"))) == "No bottleneck then."


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (
            ServiceEvidence(
                basis="bursts", limit="processors", busy=0.98, available=0.9, neighbours=0.55
            ),
            "the bursts are limited by the processors; processors are 98% busy; other programs "
            "take 55% of them and leave 0.9",
        ),
        (
            ServiceEvidence(
                basis="bursts",
                limit="pool",
                busy=0.6,
                left=[("pool", 4)],
                refuted=[Refuted(name="processors", because="idle", value=0.6)],
            ),
            "limited by what 4 operations at a time hold (a pool, or a limit of connections); "
            "processors are 60% busy; not the processors: the machine's were 60% busy",
        ),
        (
            ServiceEvidence(basis="bursts", limit="quota", left=[("quota", 1)], available=0.5),
            "the quota of processors; it allows 0.5 processors, and they are used up",
        ),
        (
            ServiceEvidence(basis="bursts", limit="unknown", left=[("lock", 1), ("pool", 64)]),
            "undetermined: what one operation at a time holds (a lock) or what up to 64 operations "
            "at a time hold (a pool, or a limit of connections); one client without think time, "
            "fitted with the bursts, decides",
        ),
        (
            ServiceEvidence(
                basis="bursts",
                limit="pool",
                left=[("pool", 4)],
                refuted=[Refuted(name="connections", because="accepted", value=0.0)],
            ),
            "limited by what 4 operations at a time hold (a pool); not a limit of several "
            "connections: 0 connections waited to be accepted",
        ),
        (
            ServiceEvidence(
                basis="bursts",
                limit="disk",
                left=[("disk", 1)],
                refuted=[Refuted(name="lock", because="device_works", value=0.62)],
            ),
            "limited by a disk that one operation at a time uses, as under a lock; not what one "
            "operation at a time holds (a lock): a device worked 62% of the time",
        ),
        (
            ServiceEvidence(basis="bursts", limit="unknown", left=[("lock", 1), ("disk", 1)]),
            "with its files in memory (tmpfs) decides",
        ),
        (ServiceEvidence(basis="bursts", limit="unknown"), "nothing that was observed is full"),
        (ServiceEvidence(basis="low_load", background=0.02), "keeps 0.02 processors busy"),
        (ServiceEvidence(basis="low_load"), "fewer than three loads"),
    ],
)
def test_the_basis_of_demands_is_worded(evidence: ServiceEvidence, words: str) -> None:
    (note,) = fit_notes(FitSet(where={}, parameters=[], evidence=evidence))
    assert words in note
