"""The size of a pool: against closed forms, and the starter on a database with known rates."""

import re
from pathlib import Path

import numpy as np
import pytest

import headroom as hr
from headroom.analysis.answer_evidence import Target
from headroom.experiment.protocol.starters import find_starter
from headroom.systems.command.pool_response import pool_response, pool_speed

POOLS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
AT = [{"pool": pool} for pool in POOLS]
FAKE = """
import random
import sys

HORIZON_S = 60.0  # of simulated time


def rate_with(pool):
    return RATE


words = sys.argv[1:]
pool = int(words[words.index("-c") + 1])
chance = random.Random()
rate = rate_with(pool) * chance.gauss(1.0, 0.01)
response_s = pool / rate
if "-R" in words:
    arrivals = float(words[words.index("-R") + 1])
    time_s, inside, area, completed = 0.0, 0, 0.0, 0
    while time_s < HORIZON_S:
        falls = rate_with(min(inside, pool)) if inside else 0.0
        step_s = chance.expovariate(arrivals + falls)
        time_s, area = time_s + step_s, area + inside * step_s
        is_arrival = chance.random() * (arrivals + falls) < arrivals
        inside, completed = inside + (1 if is_arrival else -1), completed + (not is_arrival)
    rate, response_s = completed / time_s, area / completed
print(f"latency average = {1000.0 * response_s} ms")
print(f"tps = {rate} (without initial connection time)")
"""
"""Imitates pgbench: a simulation of a pool in front of a database with known rates."""


def chain_s(rates: list[float], arrivals: float) -> float:
    """Return the mean response time (s) by the stationary vector of a long, cut-off chain."""
    length = 3_000
    falls = np.array([rates[min(n, len(rates)) - 1] for n in range(1, length)])
    logs = np.concatenate([[0.0], np.cumsum(np.log(arrivals / falls))])
    weights = np.exp(logs - logs.max())
    return float(weights @ np.arange(length) / weights.sum() / arrivals)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_equal_processors_have_the_response_time_of_erlang(load: float) -> None:
    """Oracle: M/M/2, R = S / (1 - U^2); a pool below the processors is M/M/k itself."""
    two = pool_response([100.0, 200.0, 200.0], AT[:3], {"factor": "pool", "rate": 200.0 * load})
    assert two[1:] == pytest.approx([0.01 / (1.0 - load**2)] * 2)
    one = 0.01 / (1.0 - 2.0 * load)
    assert two[0] == (pytest.approx(one) if load < 0.5 else np.inf)


def test_any_rates_agree_with_the_chain_solved_at_length() -> None:
    """Rates that rise and fall: more than eight transactions hinder each other."""
    rates = [1000.0 * n / (1.0 + 0.1 * (n - 1) + 0.02 * n * (n - 1)) for n in range(1, 33)]
    values = [rates[pool - 1] for pool in POOLS]
    options = {"factor": "pool", "rate": 2000.0}
    every = np.interp(np.arange(1, 33), POOLS, values).tolist()
    expected = [
        chain_s(every[:pool], 2000.0) if every[pool - 1] > 2000.0 else np.inf for pool in POOLS
    ]
    assert pool_response(values, AT, options) == pytest.approx(expected, rel=1e-6)
    turned = pool_response(values[::-1], AT[::-1], options)
    assert turned[::-1] == pool_response(values, AT, options)


def test_the_best_pool_has_speed_one_and_a_saturated_one_zero() -> None:
    values = [100.0 * min(pool, 8) for pool in POOLS]
    speeds = dict(zip(POOLS, pool_speed(values, AT, {"factor": "pool", "share": 0.7}), strict=True))
    assert speeds[4] == 0.0
    assert speeds[6] < 0.9 < speeds[8]
    assert speeds[32] == pytest.approx(1.0)


def study_of(folder: Path, rate: str) -> Path:
    """Write the starter for a database that completes `rate`, an expression in `pool` (1/s)."""
    find_starter("pool").write(folder)
    path = folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\[\[experiment\.system\.service\]\]\n(.+\n)+", "", text)
    text = text.replace('"{db.bin}/pgbench"', '"{python}", "{study}/fake.py"')
    path.write_text(text.replace(', "{db.url}"]', "]"), encoding="utf-8")
    (folder / "fake.py").write_text(FAKE.replace("RATE", rate), encoding="utf-8")
    return folder


@pytest.mark.deep
@pytest.mark.parametrize(
    ("rate", "beyond", "is_predicted"),
    [
        # Eight processors: at 60% of them, six connections would be busy 80% of the time.
        ("100.0 * min(pool, 8)", [6], True),
        # The same, but more than twelve transactions hinder each other: real pools of 16 and 32
        # work for a while, until a crowd fills them.
        ("100.0 * min(pool, 8) / (1.0 + 0.2 * max(pool - 12, 0))", [6, 16], False),
    ],
)
def test_the_starter_finds_the_pool_of_a_known_database(
    tmp_path: Path, rate: str, beyond: list[int], *, is_predicted: bool
) -> None:
    result = hr.run(study_of(tmp_path / "mine", rate), processes=1)
    answer = result.answers[0]
    assert isinstance(answer.statement, Target)
    assert (answer.level, answer.statement.beyond) == (8, beyond)
    assert result.holds is is_predicted, "the simulated pools respond as predicted"
