"""A system of known capacities in place of the runner: what slowing a part of it does."""

from typing import Any

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.plan import Plan
from tests.support.study_text import Head

DONE = Outcome(done=0, reused=0, failed=0, interrupted=False, remaining=0)
NOISE = (1.0, 1.3, 0.8, 1.1, 0.9)
"""Speed of the machine in each block: it cancels."""
OWN = (0.0, 0.01, -0.01, 0.005, -0.005)
STUDY = Head("shop", "A shop", "load").then("""\
factors = { users = [4, 40] }
fixed = { connections = 10 }
replications = { count = 2 }
responses = ["rate"]

[experiment.system]
name = "command"
argv = ["true", "{users}", "{connections}", "{web.port}"]

[[experiment.system.metric]]
name = "rate"
unit = "1/s"
better = "high"
regex = '(\\\\d+)'

[[experiment.system.service]]
name = "db"
argv = ["true"]

[[experiment.system.service]]
name = "web"
argv = ["true"]
limits = { cpus = 1.0 }
""")


class Machine:
    """Stands for the runner: the rate is that of the part with the least capacity.

    Parameters
    ----------
    capacity
        Of the program, each service and each connection (1/s).
    waits
        Part that only stops of 5 ms or more hold back.
    bridges_s
        Stops beyond this length starve all parts.
    cpu
        Busy share of the machine.
    """

    def __init__(
        self, capacity: dict[str, float], waits: str = "", cpu: float = 0.5, bridges_s: float = 1.0
    ) -> None:
        self.capacity, self.waits, self.cpu, self.bridges_s = capacity, waits, cpu, bridges_s
        self.slices: list[float] = []

    def __call__(self, plan: Plan, journal: Journal, **_: Any) -> Outcome:
        """Add the rows that are lacking, as `run_plan` does."""
        (one,) = plan.experiments
        slice_s = one.spec.system["slowed"]["slice_s"]
        self.slices = list(dict.fromkeys([*self.slices, slice_s]))
        session = journal.add_environment({})
        for number, point in enumerate(one.points):
            known = {row.replication for row in journal.rows(point.experiment, point.key)}
            part, by = str(point.config["slowed"]), one.spec.system["slowed"]["by"]
            works = part != self.waits or slice_s > 0.004
            slow = {part: 1.0 - by} if works else {}
            if part in self.capacity and slice_s > self.bridges_s:
                slow = dict.fromkeys(self.capacity, 1.0 - by)
            rates = [rate * slow.get(name, 1.0) for name, rate in self.capacity.items()]
            rates.append(50.0 * float(point.config["connections"]))
            for block in set(range(one.spec.replications.count or 0)) - known:
                own = 1.0 + OWN[(block + number) % 5]
                values = {
                    "rate": min(rates) * NOISE[block % 5] * own, "slowed_share": by,
                    "machine.cpu.utilization": self.cpu,
                }  # fmt: skip
                journal.append(
                    ReplicationRow(
                        experiment=point.experiment,
                        point_key=point.key,
                        levels=point.levels,
                        fingerprint=point.fingerprint,
                        replication=block,
                        environment=session,
                        seed=point.seed(plan.seed, block),
                        state="done",
                        wall_s=1.0,
                        started_at=f"2026-01-01T00:00:{block:02}Z",
                        run=Run(values=values),
                    )
                )
        return DONE


FAST = {"program": 2000.0, "db": 2000.0, "web": 2000.0, "web.limit": 2000.0}
