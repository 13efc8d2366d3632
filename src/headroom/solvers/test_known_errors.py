"""What is said about the errors of estimates is what the corpus found, and refuses the bad ones."""

import json
from pathlib import Path

import numpy as np

from headroom.simulation import Model, constant, exponential
from headroom.solvers import solve
from headroom.solvers.known_errors import FEWEST, is_close, known_errors
from headroom.solvers.reasons import DOUBTS, MOST_ERROR

STORED = json.loads(
    (Path(__file__).parents[3] / "benches" / "results" / "solver_errors.json").read_text()
)
MODELS = [row for rows in STORED["models"].values() for row in rows]


def test_each_kind_has_the_median_and_the_percentile_of_its_models() -> None:
    by_kind: dict[str, list[float]] = {}
    for _, key, is_exact, _, response, throughput in MODELS:
        if not is_exact:
            by_kind.setdefault(key, []).append(max(abs(response), abs(throughput)))
    assert by_kind.keys() == known_errors().keys()
    for key, errors in by_kind.items():
        found = known_errors()[key]
        assert found.models == len(errors)
        assert abs(found.median - np.median(errors)) < 1e-3
        assert abs(found.p95 - np.quantile(errors, 0.95)) < 1e-3
        assert key.partition(": ")[2] in DOUBTS


def test_of_what_is_printed_95_in_100_models_are_within_the_error_that_is_allowed() -> None:
    printed = [
        max(abs(response), abs(throughput))
        for _, _, is_exact, is_printed, response, throughput in MODELS
        if is_printed and not is_exact
    ]
    assert len(printed) > 200
    assert np.quantile(printed, 0.95) < MOST_ERROR
    exact = [abs(row[4]) for row in MODELS if row[2]]
    assert np.quantile(exact, 0.95) < 0.06  # what is exact is off by the chance of the runs


def test_kinds_that_are_farther_off_are_refused() -> None:
    known = {key: one for key, one in known_errors().items() if one.models >= FEWEST}
    far = [key for key, one in known.items() if one.p95 > MOST_ERROR]
    assert far
    assert not any(map(is_close, far))


def test_an_estimate_has_the_error_of_its_worst_reason() -> None:
    model = Model("row", time_unit="s")
    program = model.program("visit")
    for name in "ab":
        program.use(model.station(name), constant(0.5))
    model.open_class("jobs", program, interarrival=exponential(1))
    assert solve(model).error_key == "open: uneven law"
    assert "models of this kind, half were within" in known_errors()["open: uneven law"].text
