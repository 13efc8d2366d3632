"""The claims of the study are theory, and its model is the shop that theory speaks of."""

import importlib.util
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headroom.simulation import Model, simulate
from studies.quick_form import QuickForm

FOLDER = Path(__file__).resolve().parent
QUICK_OPTIONS = ("--no-what-if",)


class TestQuickForm(QuickForm):
    """The quick form ends with all claims."""


def readme_functions() -> dict[str, Any]:
    """Return the functions that README.md defines: the exact solution."""
    block = re.search(r"```python\n(def .*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert block
    names: dict[str, Any] = {}
    exec(block[1], names)  # noqa: S102 - our own document
    return names


def build() -> Callable[..., Model]:
    spec = importlib.util.spec_from_file_location("quickstart_model", FOLDER / "model.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Model] = module.build
    return function


def claims() -> dict[str, dict[str, Any]]:
    study = tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))
    return {claim["name"]: claim for claim in study["claim"]}


def test_the_claimed_values_are_those_of_the_exact_solution() -> None:
    shop, throughput = (readme_functions()[name] for name in ("shop", "throughput"))

    def held(connections: int) -> float:
        rate: float = throughput(connections, delay_s=0.0015, stations=[(0.009, 2)])
        return rate

    theory = {
        "light-load": shop(25),
        "half-load": 150 / shop(150) - 1,
        "database-half-busy": shop(150) * 0.009 / 2,
        "saturation": shop(400),
        "half-a-second-breaks": 350 / shop(350) - 1,
        "web-server-alone": shop(400, web_cores=6) / shop(400),
        "connections-alone": 1.0,
        "database-core": shop(400, database_cores=3) / shop(400),
        "both": shop(400, web_cores=6, database_cores=3) / shop(400),
        "one-connection": held(1),
        "second-connection": held(2) / held(1),
        "four-connections": held(4),
    }
    claimed = {name: claim["value"] for name, claim in claims().items() if "value" in claim}
    assert claimed == pytest.approx(theory, rel=5e-4)


def test_the_claimed_knee_is_where_the_asymptotes_cross() -> None:
    demands_s = {"web": 0.014 / 4, "database": 0.009 / 2}
    whole_s = 0.014 + 0.009 + 0.0015
    assert claims()["knee"]["level"] == pytest.approx((1 + whole_s) / max(demands_s.values()), 1e-3)


def test_one_user_never_waits() -> None:
    """Oracle: the response time of one user is the sum of the demands, 24.5 ms."""
    result = simulate(build()(users=1), seed=5, completions=40_000)
    response_s = result.classes.columns["response_s_sum"][-1, 0] / 40_000
    assert response_s == pytest.approx(0.0245, rel=0.02)
    assert result.pools.columns["wait_s_sum"][-1, 0] == 0
