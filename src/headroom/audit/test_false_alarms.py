"""Simulated benchmarks whose truth is known: sound ones are silent, spoilt ones are found.

`python -m benches.audit 3000` measures the same for more; docs/guides/audit-a-benchmark.md has it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.simulated_benchmarks import (
    FORMATS,
    Truth,
    as_csv,
    audited,
    in_wrong_unit,
    simulated,
    stalled,
    with_fewer_clients,
    with_mean_of_another_run,
)

SEEDS = range(60)


@pytest.mark.parametrize("name", FORMATS)
def test_a_sound_benchmark_raises_no_alarm(name: str, tmp_path: Path) -> None:
    alarms = [s for s in SEEDS if audited(FORMATS[name](simulated(s)), tmp_path).findings]
    assert not alarms


@pytest.mark.parametrize(
    ("spoil", "share"),
    [
        (lambda truth: as_csv(with_fewer_clients(truth)), 0.95),
        (lambda truth: as_csv(in_wrong_unit(truth)), 0.95),
        (lambda truth: with_mean_of_another_run(as_csv(truth)), 0.95),
        (lambda truth: as_csv(stalled(truth)), 0.8),
        (lambda truth: FORMATS["log"](stalled(truth)), 0.9),
    ],
)
def test_a_spoilt_benchmark_is_found(
    spoil: Callable[[Truth], str], share: float, tmp_path: Path
) -> None:
    closed = [truth for truth in map(simulated, SEEDS) if truth.clients]
    found = [truth for truth in closed if audited(spoil(truth), tmp_path).findings]
    assert len(found) >= share * len(closed)
