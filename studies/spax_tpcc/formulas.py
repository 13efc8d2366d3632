"""The throughput by formulas for each claim that cites this file.

Where theory applies, the simulation must agree with it: the network of queues is that of
`headroom.systems.transactions.theory.queues`, and mean value analysis solves it.
"""

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.experiment.protocol.system import Value
from headroom.solvers import solve
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.theory.queues import queue_network


def theory_of(study: Mapping[str, Any]) -> dict[str, float]:
    """Return the throughput (1/s) by formulas for each claim of a study that cites this file."""
    spax = machine_model("spax")
    fixed = {experiment["name"]: experiment.get("fixed", {}) for experiment in study["experiment"]}
    throughputs = {}
    for claim in study["claim"]:
        if "formulas.py" in claim.get("source", ""):
            config = {name: _value(value) for name, value in fixed[claim["experiment"]].items()}
            network = queue_network(spax.machine(**config | claim["where"]))
            throughputs[claim["name"]] = solve(network).throughput_per_s
    return throughputs


def _value(fixed: Any) -> Value:  # noqa: ANN401 - as TOML gives it
    """Return a fixed value, which may come with its source."""
    value: Value = fixed["value"] if isinstance(fixed, dict) else fixed
    return value


def main() -> None:
    """Print the values of the claims: `python studies/spax_tpcc/formulas.py`."""
    text = Path(__file__).with_name("study.toml").read_text(encoding="utf-8")
    for name, per_s in theory_of(tomllib.loads(text)).items():
        sys.stdout.write(f"{name:24} {per_s:.4g}\n")


if __name__ == "__main__":
    main()
