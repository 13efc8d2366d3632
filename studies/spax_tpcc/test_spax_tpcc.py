"""The study runs, its claims stand as the README says, and its formulas speak of its machine."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headroom.errors import ExitCode
from headroom.simulation import canonical_json, simulate
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.theory.queues import demands_of
from studies.quick_form import QuickForm, QuickRun

FOLDER = Path(__file__).resolve().parent
QUICK_OPTIONS = ("--quiet", "--no-what-if")
DIFFERS = {"io-queue-linear", "buffers-queue-heavy"}
"""Of the claims that differ those whose levels the quick variant has; README.md says why."""
MUST_HOLD = {
    "io-30", "io-40", "nodes-4-1", "nodes-4-3", "disks-enough-light", "disks-needed-middle",
    "io-falls", "io-bottleneck", "buffers-tps-heavy", "clock-cpu-bound", "clock-io-bound",
    "path-DMA", "path-whole",
}  # fmt: skip


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"spax_tpcc_{name}", FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


class TestQuickForm(QuickForm):
    """What every study has to do."""


def test_every_point_of_the_quick_variant_reaches_a_steady_state(quick: QuickRun) -> None:
    assert not [point["levels"] for point in quick.points() if not point["estimates"]]


def test_the_quick_variant_settles_the_claims_as_the_readme_says(
    quick: QuickRun,
) -> None:
    verdicts = quick.verdicts()
    assert {name for name, verdict in verdicts.items() if verdict == "differs"} == DIFFERS
    assert {name for name in MUST_HOLD if verdicts[name] != "holds"} == set()


def test_the_exit_code_tells_that_not_every_claim_holds(quick: QuickRun) -> None:
    assert quick.code == ExitCode.CLAIMS_DIFFER


@pytest.mark.deep
def test_the_claimed_theory_is_what_the_formulas_give(study: dict[str, Any]) -> None:
    """`python studies/spax_tpcc/formulas.py` prints the values after a new calibration."""
    claimed = {claim["name"]: claim["value"] for claim in study["claim"]
               if "formulas.py" in claim["source"]}  # fmt: skip
    assert claimed == pytest.approx(module("formulas").theory_of(study), rel=1e-3)


def test_the_formulas_ask_of_the_processors_what_the_simulation_does() -> None:
    """Oracle: the utilization law; busy time is throughput times demand."""
    spax = machine_model("spax")
    small = {"processing_nodes": 1, "processors": 2, "terminals": 5}
    demands = demands_of(spax.machine(**small))
    done = 400 * 10
    result = simulate(spax(**small), seed=3, completions=done)
    row = list(result.stations.names).index("processor")
    busy_ms = 1e3 * result.stations.columns["busy_s"][-1, row] / done
    assert busy_ms == pytest.approx(demands.processor_ms, rel=0.05)


def test_twice_as_fast_a_machine_does_twice_as_much() -> None:
    """Oracle: with every station twice as fast, time itself is halved; buffers only help."""
    build = module("path").build
    small = {"processing_nodes": 1, "processors": 2, "terminals": 5, "io_probability": 1.0}
    small |= {"cache_miss_rate": 0.0, "disks": 0, "communication_nodes": 0}
    times_s = [
        simulate(build(doubled=doubled, **small), seed=4, completions=1000).snapshot_times_s[-1]
        for doubled in ("nothing", "whole path and processors")
    ]
    assert times_s[0] / times_s[1] == pytest.approx(2.0, rel=0.1)


def test_every_element_that_is_doubled_is_an_element_of_the_machine() -> None:
    path = module("path")
    for doubled in path.CHANGES:
        assert canonical_json(path.build(doubled=doubled))
