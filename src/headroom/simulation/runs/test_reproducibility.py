"""Same model and seed, same bits: in another process, and regardless of the rest of the model."""

import hashlib

import numpy as np
import pytest

from headroom.simulation import (
    Distribution,
    Model,
    SimulationResult,
    bounded_pareto,
    discrete,
    empirical,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    lognormal,
    normal,
    pareto,
    simulate,
    triangular,
    uniform,
    weibull,
)
from headroom.simulation.checks.check import canonical_json

DIGEST_OF_RUN = "0d43e822ded1626850b90a7cd1bcba8299b1b7892d1aa4d9e0a31dc194f2b01d"
DIGESTS_OF_DRAWS = {
    "uniform": "8f1961c7809c5f10",
    "exponential": "e04d7bf4bd506c1b",
    "erlang": "ed9ed3aa4e01d709",
    "gamma": "4766705b6c836513",
    "hyperexponential": "d57d9f7402cfd9e6",
    "lognormal": "657f64e4e9547ddc",
    "weibull": "25a1ed225cbf7704",
    "pareto": "f814db67021ab793",
    "bounded_pareto": "9b86b7c1e935c10d",
    "normal": "07647192ab5208a4",
    "triangular": "707d294d792d63ba",
    "empirical": "33d17aed863bde61",
    "discrete": "ed4d5077fcb8f1ce",
}


def shop(*, with_audit: bool = False) -> Model:
    """Return a model with every kind of step; the audit is a separate class."""
    model = Model("shop", time_unit="ms")
    web = model.station("web", servers=4)
    database = model.station("database")
    connections = model.pool("connections", tokens=3)
    lookup = model.program("lookup")
    with lookup.holding(connections):
        lookup.use(database, lognormal(2, c2=2))
    request = model.program("request")
    request.use(web, exponential(5))
    with request.loop(discrete([1, 2], weights=[3, 1])):
        request.call(lookup)
    with request.branch() as branch:
        with branch.case(0.3):
            request.delay(uniform(1, 3))
        with branch.otherwise(), request.fork() as fork:
            with fork.arm():
                request.use(web, gamma(1, c2=0.5))
            with fork.arm():
                request.delay(weibull(1, shape=2))
    model.closed_class("users", request, population=40, think=exponential(100))
    if with_audit:
        cellar = model.station("cellar")
        audit = model.program("audit")
        audit.use(cellar, exponential(1))
        model.open_class("auditors", audit, interarrival=exponential(10))
    return model


def digest(result: SimulationResult) -> str:
    """Return a hash of all numbers of a result but its processor time."""
    state = hashlib.sha256(result.snapshot_times_s.tobytes())
    for table in (result.stations, result.pools, result.classes):
        for values in (*table.columns.values(), *table.maxima.values()):
            state.update(values.tobytes())
    for series in result.series:
        state.update(series.values.tobytes() + series.end_times_s.tobytes())
    for histogram in result.histograms:
        state.update(histogram.bin_low.tobytes() + histogram.counts.tobytes())
    return state.hexdigest()


def test_a_run_has_the_same_bits_on_every_machine() -> None:
    """The digest was computed once; another machine, compiler or library must agree with it."""
    assert digest(simulate(shop(), seed=7, completions=2000)) == DIGEST_OF_RUN


def test_another_seed_gives_another_run() -> None:
    assert digest(simulate(shop(), seed=8, completions=2000)) != DIGEST_OF_RUN


@pytest.mark.parametrize("seed", [1, 2**64 - 1])
def test_a_stream_that_is_added_elsewhere_leaves_the_others_unchanged(seed: int) -> None:
    """A new class with its own station does not touch the users, whose draws stay the same."""
    alone = simulate(shop(), seed=seed, time=5000)
    beside = simulate(shop(with_audit=True), seed=seed, time=5000)
    assert beside.classes.columns["completion_count"][-1, 1] > 0
    assert np.array_equal(alone.series[0].values, beside.series[0].values)
    for name, values in alone.stations.columns.items():
        assert np.array_equal(values[-1], beside.stations.columns[name][-1, :2]), name


def test_the_model_is_the_same_bytes_each_time_it_is_built() -> None:
    assert canonical_json(shop()) == canonical_json(shop())
    assert canonical_json(shop()) != canonical_json(shop(with_audit=True))


# A million units are 2^50 ticks: large enough for the last bit of a draw to show.
LAWS = [
    uniform(1e6, 3e6),
    exponential(5e6),
    erlang(5e6, stages=3),
    gamma(5e6, c2=3),
    hyperexponential(5e6, c2=4),
    lognormal(5e6, c2=2),
    weibull(5e6, shape=0.7),
    pareto(1e6, shape=2.5),
    bounded_pareto(1e5, 1e7, shape=1.1),
    normal(2e6, 1e6),
    triangular(1e6, 2e6, 4e6),
    empirical([1, 2, 4.5]),
    discrete([1, 2, 3], weights=[1, 2, 3]),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_draws_have_the_same_bits_on_every_machine(law: Distribution) -> None:
    """Fails if the build lets the system's mathematics library into the draws.

    It happens when any crate turns on `num-traits/std`; see Cargo.toml.
    """
    draws = law.draw(200_000, seed=42)
    assert hashlib.sha256(draws.tobytes()).hexdigest()[:16] == DIGESTS_OF_DRAWS[law.kind]
