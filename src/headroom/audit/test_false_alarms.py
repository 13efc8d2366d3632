"""Simulated benchmarks whose truth is known: sound ones are silent, spoilt ones are found.

`python -m benches.audit 3000` measures the same for more; docs/guides/audit-a-benchmark.md has it.
"""

from pathlib import Path

import numpy as np
import pytest

from headroom.audit.checks.over_time import pauses
from headroom.audit.result import Result
from tests.support.simulated_benchmarks import FORMATS, SPOILT, audited, simulated

SEEDS = range(60)


@pytest.mark.deep
@pytest.mark.parametrize("name", FORMATS)
def test_a_sound_benchmark_raises_no_alarm(name: str, tmp_path: Path) -> None:
    alarms = [s for s in SEEDS if audited(FORMATS[name](simulated(s)), tmp_path).findings]
    assert not alarms


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_benchmark_is_found(name: str, tmp_path: Path) -> None:
    """A stall is found if its length matters; the others break a law in nearly every case."""
    closed = [truth for truth in map(simulated, SEEDS) if truth.clients]
    found = [truth for truth in closed if audited(SPOILT[name](truth), tmp_path).findings]
    least = {"a stalled server, in a table": 0.8, "a stalled server, in a log": 0.9}
    assert len(found) >= least.get(name, 0.95) * len(closed)


def test_a_slow_device_whose_intervals_are_often_empty_does_not_pause() -> None:
    """One completion for each interval on average, by chance: a third are empty, some in a row."""
    generator, alarms = np.random.default_rng(4), 0
    for _ in range(300):
        ends = np.flatnonzero(generator.poisson(1.0, 100)).astype(np.float64)
        alarms += bool(pauses(Result(tool="fio-log", source="", name="", windows_s=ends)))
    assert alarms <= 3
