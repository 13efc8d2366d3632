"""LINE as an oracle on random product-form models; skipped where it is not installed.

LINE is an independent implementation (BSD-3, package ``line-solver``); Headroom does not depend on
it. To run this: ``.venv/bin/python -m pip install line-solver``. Its mean value analysis is the
oracle. Its normalising-constant solver is not: with several servers it returns throughputs above a
station's capacity under the method "exact", and the last test documents that.
"""

import importlib.util
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from headroom.solvers.exact.closed import Closed, closed
from headroom.solvers.exact.convolution import convolve
from headroom.solvers.test_closed import random_network

HOW_TO_GET_IT = "LINE is not installed: .venv/bin/python -m pip install line-solver"


if importlib.util.find_spec("line_solver") is None:
    pytest.skip(HOW_TO_GET_IT, allow_module_level=True)


@pytest.fixture(scope="module")
def line() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("line_solver")


def built(line: Any, network: Closed) -> Any:
    """Return the network as a LINE model: every class walks think, then each station in turn."""
    model = line.Network("random")
    nodes = [line.Delay(model, "think")]
    for place, servers in enumerate(network.servers):
        nodes.append(line.Queue(model, f"queue{place}", line.SchedStrategy.PS))
        nodes[-1].setNumberOfServers(int(servers))
    classes = [
        line.ClosedClass(model, f"class{r}", int(jobs), nodes[0], 0)
        for r, jobs in enumerate(network.population)
    ]
    routes = model.initRoutingMatrix()
    for r, one in enumerate(classes):
        nodes[0].setService(one, line.Exp.fitMean(max(float(network.think_s[r]), 1e-9)))
        for node, demand in zip(nodes[1:], network.demand_s[:, r], strict=True):
            node.setService(one, line.Exp.fitMean(float(demand)))
        for here, there in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
            routes.set(one, one, here, there, 1.0)
    model.link(routes)
    return model


def throughputs(line: Any, network: Closed, solver: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = built(line, network)
        table = getattr(line, solver)(model, method="exact", verbose=False).getAvgTable()
    at_think = table.loc[[str(name) == "think" for name in table["Station"]]]
    return np.array(at_think["Tput"], dtype=np.float64)


@pytest.mark.parametrize("seed", range(30))
def test_single_servers_agree_with_line(line: ModuleType, seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 1)
    expected = throughputs(line, network, "SolverMVA")
    assert convolve(network).throughput_per_s == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(15))
def test_one_class_with_several_servers_agrees_with_line(line: ModuleType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    stations = int(rng.integers(1, 5))
    network = closed(
        rng.uniform(0.1, 10, stations),
        int(rng.integers(1, 20)),
        servers=rng.integers(1, 5, stations),
        think_s=1.0,
    )
    expected = throughputs(line, network, "SolverMVA")
    assert convolve(network).throughput_per_s == pytest.approx(expected, rel=1e-5)


def test_the_normalising_constant_of_line_breaks_a_bound_that_ours_keeps(line: ModuleType) -> None:
    """A record, not an oracle: where LINE mends this, the test fails and the document is old."""
    network = closed([4.0, 1.0], 10, servers=[4, 1], think_s=1.0)
    assert throughputs(line, network, "SolverNC")[0] > 1.0
    assert convolve(network).throughput_per_s[0] < 1.0
