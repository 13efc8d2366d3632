"""Wording of what fits and runs leave to be said: a few snapshots of each family."""

import msgspec
import pytest

from headroom.analysis.evidence import (
    Absent,
    AppliedChange,
    Fault,
    NoEffect,
    NoInterval,
    WarmUpEvidence,
)
from headroom.analysis.results import (
    FitSet,
    FittedValue,
    LoadRange,
    Prediction,
    RunLength,
    WhatIfResult,
)
from headroom.analysis.statistics.undecidable import TooFewReplications, Undecidable
from headroom.experiment.protocol.fit_method import (
    LeastSquaresEvidence,
    ParameterEvidence,
    ShareEvidence,
)
from headroom.report.sentences.fits import (
    fit_notes,
    fitted_remark,
    prediction_errors,
    prediction_place,
    prediction_step,
)
from headroom.report.sentences.intervals import absent_words, no_interval_words
from headroom.report.sentences.plans import undecidable_lines
from headroom.report.sentences.runs import fault_words, run_length_words
from headroom.report.sentences.what_if import changes_words, no_effect_words


def test_predictions() -> None:
    burst = Prediction(kind="burst", factor=1.9, predicted=LoadRange(clients=(96, 96)))
    assert prediction_place(burst) == "from a burst with other clients"
    assert prediction_errors(burst) == (
        "Demands fitted to such measurements were off by a factor of up to 1.90 in 95% of cases, "
        "and the intervals count that"
    )
    assert prediction_step(burst) == "repeat the burst with 96 clients"
    known = Prediction(kind="published", metrics=["throughput", "response_s_mean"])
    assert (prediction_place(known), prediction_step(known)) == ("", "")
    assert prediction_errors(known).startswith(
        "The intervals of throughput, response_s_mean count the published errors of this method"
    )


@pytest.mark.parametrize(
    ("evidence", "remark"),
    [
        (
            ParameterEvidence(code="open_below"),
            "a bound; not determined by these points below 12.3 ms: its profile stays flat to the "
            "end of the range",
        ),
        (
            ParameterEvidence(code="few_replications", count=1),
            "a bound; 1 replication of a point give no interval: run 2 or more",
        ),
        (
            ParameterEvidence(code="unstable", message="2 points are too few"),
            "a bound; no interval: without some replications, 2 points are too few",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, ParameterEvidence) else "",
)
def test_fitted_values(evidence: ParameterEvidence, remark: str) -> None:
    value = FittedValue(
        name="service_s", value=0.0123, unit="s", note="a bound", evidence=[evidence]
    )
    assert fitted_remark(value) == remark


def test_fits() -> None:
    squares = LeastSquaresEvidence(observations=12, error=0.0345, answers="simulation")
    one = FitSet(where={}, parameters=[], evidence=squares, left_out={"sweep": 1, "low": 2})
    assert list(fit_notes(one)) == [
        "12 observations, root mean square of the relative errors 3.45%; predicted by short "
        "simulations",
        "1 point of sweep without results left out",
        "2 points of low without results left out",
    ]
    share = ShareEvidence(share=0.7, metric="throughput", points=3)
    load = FitSet(where={}, parameters=[], evidence=share, taken={"rate": 20.0})
    assert list(fit_notes(load)) == [
        "70% of the largest throughput of 3 points",
        "the load is that of the other experiment: rate = 20",
    ]


SETTLES = WarmUpEvidence(code="still_settles", run_s=400.0, metric="class.writers.response_s")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(code="reported", message="the driver was late", times=3),
         "the driver was late (3 times)"),
        (Fault(code="little", kind="class", name="read"),
         "Little's law fails for class read: the time that jobs spent there is not that of the "
         "jobs that left and of those still present"),
        (Fault(code="little_of_queue", kind="pool", name="tokens"),
         "Little's law fails for the queue of pool tokens: the time that jobs waited is not that "
         "of the jobs served and of those still waiting"),
        (Fault(code="busy", kind="station", name="cpu"),
         "station cpu has more busy time than elapsed time"),
        (Fault(code="nothing_left", cut_s=12.5),
         "nothing is left of a run after a warm-up of 12.5 s"),
        (Fault(code="warm_up", warm_up=SETTLES),
         "no steady state within 400 s by the response time of class writers: it still settles "
         "when half of the run is cut; run longer, unless the load is more than the system can "
         "serve"),
        (Fault(code="warm_up", warm_up=msgspec.structs.replace(SETTLES, metric="response_s",
                                                               overloaded=("pool", "tokens"))),
         "no steady state within 400 s by the response time: it still settles when half of the "
         "run is cut; run longer, or the load is more than pool tokens can serve"),
        (Fault(code="warm_up",
               warm_up=WarmUpEvidence(code="rare_classes", needed=50, classes=("writers",))),
         "the response time of class writers is not reported: fewer than 50 completions in a run"),
        (Fault(code="warm_up", warm_up=WarmUpEvidence(code="too_long", run_s=74.0, cut_s=1e6)),
         "the warm-up of 1,000,000 s is longer than the run (74.0 s)"),
    ],
)  # fmt: skip
def test_faults(fault: Fault, words: str) -> None:
    assert fault_words(fault) == words


def test_short_runs() -> None:
    length = RunLength(
        correlation_s=1.0, times_in_a_run=20.0, times_in_all=100.0, completions_needed=12_000,
        is_short=True, metrics=["response_s_p99", "class.a.response_s_p99"], runs=5,
    )  # fmt: skip
    assert run_length_words(length) == (
        "short: too few bursts for response_s_p99, whose intervals cover less often than 95%; run "
        "at least 12,000 completions in each replication"
    )
    heavy = msgspec.structs.replace(length, heavy=["response_s_p99"], runs=1)
    assert run_length_words(heavy) == (
        "short: a tail too heavy for response_s_p99, whose intervals cover less often than 95%; "
        "run at least 12,000 completions to see whether it ends"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (AppliedChange(kind="station", name="web 2", aspect="servers", factor=2.0),
         '"web 2" 2 times the servers'),
        (AppliedChange(kind="station", name="cpu", aspect="speed", factor=2.0),
         "cpu 2 times as fast"),
        (AppliedChange(kind="pool", name="slots", aspect="tokens", after=8.0), "slots 8 tokens"),
        (AppliedChange(kind="parameter", name="hit_ratio", aspect="value", before=0.5, after="0.9"),
         "hit_ratio 0.5 to 0.9"),
        (AppliedChange(kind="parameter", name="codec", aspect="value", after="xz"), "codec to xz"),
        (AppliedChange(kind="parameter", name="rate", aspect="value", factor=2.0), "rate 2 times"),
    ],
)  # fmt: skip
def test_changes(change: AppliedChange, words: str) -> None:
    assert changes_words(WhatIfResult(change="", applied=[change], done=5, failed=0)) == words


def test_changes_without_effects() -> None:
    steady = NoEffect(code="steady_then", served_per_s=31.4)
    tried = WhatIfResult(change="", done=5, failed=0, why_empty=steady)
    assert no_effect_words(tried) == (
        "it has a steady state then, which it lacks now: 31.4 /s are served"
    )
    few = msgspec.structs.replace(tried, why_empty=NoEffect(code="few_pairs"))
    assert no_effect_words(few) == "too few sound replications to compare"


def test_values_without_an_interval() -> None:
    few = NoInterval(code="few_for_median", count=5, needed=6, confidence=0.95)
    assert no_interval_words(few) == (
        "5 replications give no 95% interval of the median: run 6 or more"
    )
    extreme = NoInterval(code="few_for_extreme", count=85, needed=86, extreme_of=16)
    assert no_interval_words(extreme) == (
        "85 replications give no interval of the extreme of 16: run 86 or more"
    )
    assert no_interval_words(NoInterval(code="zero_divisor")) == "the divisor is zero"
    assert no_interval_words(None) == ""


def test_absent_metrics() -> None:
    bursts = Absent(code="few_bursts", percent=99.9, needed=20.0, found=4.0)
    assert absent_words(bursts) == (
        "p99.9 needs 20 independent bursts beyond it, and runs of this length show about 4; run 5 "
        "times as long"
    )
    short = Absent(code="few_observations", percent=95.0, needed=200, beyond=10, found=150)
    assert absent_words(short) == (
        "p95 needs 200 observations in each run, 10 of them beyond it; the shortest run has 150"
    )
    assert absent_words(Absent(code="saturated")) == "the point is saturated"


def test_questions_that_a_plan_can_never_decide() -> None:
    questions = (
        Undecidable(question="comparison", needs=9, metrics=10, base="ram"),
        Undecidable(question="claim", needs=4, claim="faster"),
    )
    few = TooFewReplications(planned=3, key="quick.replications.count", questions=questions)
    assert undecidable_lines({"disk": few, "net": few}) == [
        "disk, net: 3 replications can never be enough for the comparison of 10 metrics with ram "
        '(needs 9), claim "faster" (needs 4); set quick.replications.count = 9'
    ]
