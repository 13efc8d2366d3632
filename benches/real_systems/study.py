"""The study of one system: all loads in turn in one experiment, and predictions from some."""

from collections.abc import Sequence
from pathlib import Path

from benches.real_systems.systems import HERE, System

LOW = (0.1, 0.3, 0.45)
"""Loads below the knee, in clients / think time over the throughput of a burst."""
JUDGED = (0.9, 1.0, 1.3, 2.0)
"""Predicted loads, in the same unit."""
LENGTH_S = 1.0
REPLICATIONS = 3
METRICS = {"throughput": "throughput", "response_s_mean": "mean_s", "response_s_p95": "p95_s"}
"""Names of the metrics, and what the load programs call them."""


def text(system: System, clients: int, programs: Path, capacity: float | None) -> str:
    """Return the study of a system; only the burst where its throughput is not known."""
    loads = [("fit", "burst", clients, 0.0)]
    if capacity is not None:
        loads.append(("fit", "one", 1, 0.0))
        for use, shares in (("low", LOW), ("judge", JUDGED)):
            loads += [(use, f"{share:g}", clients, clients / share / capacity) for share in shares]
    names = ("use", "load", "clients", "think_s")
    levels = {name: [load[place] for load in loads] for place, name in enumerate(names)}
    zipped = "\n".join(f"{name} = {_toml(some)}" for name, some in levels.items())
    measured = f"""\
schema = 1
name = "server"
title = "{system.product}"
seed = 1

[[experiment]]
name = "server"
responses = {_toml([*METRICS])}
replications = {{ count = {REPLICATIONS if capacity else 2} }}

[[experiment.zipped]]
{zipped}

[experiment.system]
name = "command"
argv = {_toml(_load(system, programs))}
time_limit_s = 60
{system.services.replace("{programs}", str(programs))}
[experiment.system.observe]
throughput = "throughput"
interval_s = 0.25
skip_s = {LENGTH_S / 5}
"""
    measured += "".join(_metric(name, label) for name, label in METRICS.items())
    if capacity is None:
        return measured
    return measured + "".join(_predicted(system, clients, use, capacity) for use in ("fit", "low"))


def _toml(words: Sequence[object]) -> str:
    """Return an array of TOML: these words and numbers are written as in Python."""
    return f"[{', '.join(_quoted(word) if isinstance(word, str) else str(word) for word in words)}]"


def _quoted(word: str) -> str:
    return f'"{word}"'


def _load(system: System, programs: Path) -> list[str]:
    shared = [f"{{{system.port}.port}}", "{clients}", "{think_s}", str(LENGTH_S), "{seed}"]
    labels = ["{use}", "{load}"]
    if not system.protocol:
        return ["{python}", f"{HERE}/load.py", *shared, str(system.work_s), *labels]
    # What a client fills in is not a word of the study.
    request = system.request.replace("{", "{{").replace("}", "}}")
    return [f"{programs}/load", system.protocol, *shared, request, *labels]


def _metric(name: str, label: str) -> str:
    unit = 'unit = "1/s"\nbetter = "high"' if name == "throughput" else 'unit = "s"'
    return f"""
[[experiment.system.metric]]
name = "{name}"
{unit}
regex = '{label} (\\S+)'
"""


def _predicted(system: System, clients: int, use: str, capacity: float) -> str:
    thinks: list[object] = [clients / share / capacity for share in JUDGED]
    groups = [*(f"service.{name}" for name in system.names), "program"]
    return f"""
[[experiment]]
name = "from_{use}"
system = {{ name = "model", model = "interactive", completions = 20_000 }}
factors.think_s = {_toml(thinks)}
fixed.users = {clients}
replications.count = 5
what_if.parts = "none"

[experiment.fit]
from = "server"
method = "service.demand"
where = {{ use = "{use}" }}

[experiment.fit.options]
groups = {_toml(groups)}
fit_servers = true
variation = "service_c2"
delay = "delay_s"
map = {{ users = "clients" }}
"""
