"""Check that the files that a plan reads exist, before anything is written."""

from headroom.experiment.protocol.system import ChecksFiles
from headroom.experiment.runner.hosts import host_of
from headroom.experiment.study.plan import Plan


def check_files(plan: Plan) -> None:
    """Raise what the system says of the first point whose program or input is missing.

    Points whose parameters are still to be fitted are asked too: a fit moves no file. Those of
    another host are not: its files are there.
    """
    for experiment in plan.experiments:
        if isinstance(experiment.system, ChecksFiles) and not host_of(experiment):
            for point in experiment.points:
                experiment.system.check_files(point.config)
