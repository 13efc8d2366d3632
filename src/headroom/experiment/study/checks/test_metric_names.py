"""Everyday metric names, wherever a study or an option names a metric."""

import pytest

from headroom.errors import HeadroomError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.study.checks.metric_names import closest_metric

MODEL = ["response_s_mean", "response_s_p50", "response_s_p95", "response_s_p99",
         "response_s_p99_9", "wait_s_p95", "throughput", "class.users.response_s_p95",
         "station.cpu.utilization", "station.disk.utilization"]  # fmt: skip
PROGRAM = ["wall_s", "user_s", "system_s", "peak_memory_bytes", "exit_code", "stdout_bytes"]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("p95", MODEL, "response_s_p95"),
        ("p99", MODEL, "response_s_p99"),
        ("p99.9", MODEL, "response_s_p99_9"),
        ("response_p95", MODEL, "response_s_p95"),
        ("response_time_ms_p95", MODEL, "response_s_p95"),
        ("Latency", MODEL, "response_s_mean"),
        ("median", MODEL, "response_s_p50"),
        ("wait_p95", MODEL, "wait_s_p95"),
        ("users.p95", MODEL, "class.users.response_s_p95"),
        ("tps", MODEL, "throughput"),
        ("disk_util", MODEL, "station.disk.utilization"),
        ("wall", PROGRAM, "wall_s"),
        ("elapsed_time", PROGRAM, "wall_s"),
        ("memory", PROGRAM, "peak_memory_bytes"),
        ("p96", MODEL, ""),
        ("ms", MODEL, ""),
        ("", MODEL, ""),
    ],
)
def test_a_metric_is_known_by_everyday_words(word: str, known: list[str], meant: str) -> None:
    assert closest_metric(word, known) == meant


@pytest.mark.parametrize(
    "text",
    [
        'responses = ["avg"]',
        'limit = [{ metric = "avg", at_most = 0.2 }]',
        'compare = { factor = "users", base = 1, metrics = ["avg"] }',
        'replications = { metric = "avg", half_width = 0.1, minimum = 2, maximum = 3 }',
        'metrics = ["avg"]',
    ],
)
def test_a_metric_is_suggested_wherever_a_study_names_one(text: str, plan_of: MakePlan) -> None:
    """Cause: `p95` was answered with the first twelve names, without a suggestion."""
    with pytest.raises(HeadroomError) as caught:
        plan_of(
            '[[experiment]]\nname = "e"\nsystem = { name = "fake-model" }\n'
            f"factors.users = [1, 2]\n{text}\n"
        )
    assert "did you mean 'response_s_mean'?" in caught.value.cure


@pytest.mark.parametrize(
    "claim",
    [
        'kind = "value"\nvalue = 1.0\ntolerance = 0.1\nwhere = { users = 1 }',
        'kind = "value"\nat_most = "200 ms"\nwhere = { users = 1 }',
        'kind = "ratio"\nat_least = 0.9\nwhere = { users = 1 }\nto = { users = 2 }',
        'kind = "ordering"\nfactor = "users"\norder = [1, 2]',
        'kind = "monotone"\nfactor = "users"\ndirection = "rises"',
    ],
)
def test_a_metric_is_suggested_in_claims_of_every_kind(claim: str, plan_of: MakePlan) -> None:
    with pytest.raises(HeadroomError) as caught:
        plan_of(
            '[[experiment]]\nname = "e"\nsystem = { name = "fake-model" }\n'
            "factors.users = [1, 2]\n"
            f'[[claim]]\nname = "c"\ntext = "t"\nexperiment = "e"\nmetric = "avg"\n{claim}\n'
        )
    assert "no metric 'avg'" in caught.value.message
    assert "did you mean 'response_s_mean'?" in caught.value.cure
