"""The study of one server: all loads in turn in one experiment, and predictions from some."""

from pathlib import Path

HERE = Path(__file__).parent
CLIENTS = 16
LOW = (0.1, 0.3, 0.45)
"""Loads below the knee, in clients / think time over the throughput of a burst."""
JUDGED = (0.9, 1.0, 1.3, 2.0)
"""Predicted loads, in the same unit."""
LENGTH_S = 2.0
REPLICATIONS = 3


def text(kind: str, capacity: float | None) -> str:
    """Return the study of a kind of server; only the burst where its throughput is not known."""
    loads = [("fit", "burst", CLIENTS, 0.0)]
    if capacity is not None:
        loads.append(("fit", "one", 1, 0.0))
        for use, shares in (("low", LOW), ("judge", JUDGED)):
            loads += [(use, f"{share:g}", CLIENTS, CLIENTS / share / capacity) for share in shares]
    names = ("use", "load", "clients", "think_s")
    zipped = "\n".join(
        f"{name} = {[load[place] for load in loads]}".replace("'", '"')
        for place, name in enumerate(names)
    )
    limits = "limits = { cpus = 0.5 }" if kind == "quota" else ""
    work_s = 1.2e-3 if kind == "client" else 0.0
    measured = f"""\
schema = 1
name = "{kind}"
title = "A server of the kind {kind}"
seed = 1

[[experiment]]
name = "server"
responses = ["throughput", "response_s_mean", "response_s_p95"]
replications = {{ count = {REPLICATIONS if capacity else 2} }}

[[experiment.zipped]]
{zipped}

[experiment.system]
name = "command"
argv = ["{{python}}", "{HERE}/load.py", "{{server.port}}", "{{clients}}", "{{think_s}}",
        "{LENGTH_S}", "{{seed}}", "{work_s}", "{{use}}", "{{load}}"]
time_limit_s = 60

[[experiment.system.service]]
name = "server"
argv = ["{{python}}", "{HERE}/servers.py", "{kind}", "{{server.port}}", "."]
{limits}

[experiment.system.observe]
throughput = "throughput"
interval_s = 0.25
skip_s = {LENGTH_S / 5}

[[experiment.system.metric]]
name = "throughput"
unit = "1/s"
better = "high"
regex = 'throughput (\\S+)'

[[experiment.system.metric]]
name = "response_s_mean"
unit = "s"
regex = 'mean_s (\\S+)'

[[experiment.system.metric]]
name = "response_s_p95"
unit = "s"
regex = 'p95_s (\\S+)'
"""
    if capacity is None:
        return measured
    return "\n".join([measured, *(_predicted(use, capacity) for use in ("fit", "low"))])


def _predicted(use: str, capacity: float) -> str:
    thinks = [CLIENTS / share / capacity for share in JUDGED]
    return f"""\
[[experiment]]
name = "from_{use}"
system = {{ name = "model", model = "interactive", completions = 20_000 }}
factors.think_s = {thinks}
fixed.users = {CLIENTS}
replications.count = 5
what_if.parts = "none"

[experiment.fit]
from = "server"
method = "service.demand"
where = {{ use = "{use}" }}

[experiment.fit.options]
groups = ["service.server", "program"]
fit_servers = true
map = {{ users = "clients" }}
"""
