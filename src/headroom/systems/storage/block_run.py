"""One run of a workload of requests: open, choose the interface, load, convert, close."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from headroom.experiment.run import Run
from headroom.experiment.system import Value
from headroom.systems.storage.conversion import run_of
from headroom.systems.storage.engine import run_job
from headroom.systems.storage.interfaces import Interfaces
from headroom.systems.storage.job import job_of
from headroom.systems.storage.setup_table import StorageSetup
from headroom.systems.storage.targets import Target
from headroom.systems.storage.trace_files import format_of, trace_path


def run_blocks(
    config: Mapping[str, Value],
    *,
    seed: int,
    target: Target,
    typed: Sequence[str],
    interfaces: Interfaces,
    setup: StorageSetup,
) -> Run:
    """Run one replication of a workload of requests.

    Raises
    ------
    HeadroomError
        The target cannot be opened, is not confirmed, or no request succeeded.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(target.opened(config, typed))
        wish = str(config["interface"])
        cost = interfaces.choose(wish, opened)
        job = job_of(
            config,
            seed=seed,
            target=opened,
            interface=cost.interface,
            setup=setup,
        )
        if config["workload"] == "trace":
            path = trace_path(str(config["trace_file"]), target.study)
            trace = stack.enter_context(path.open("rb"))
            table = {"format": format_of(path, str(config["trace_format"])), "fd": trace.fileno()}
            job["workload"] |= table
        found = run_job(job)
    remarks = (*opened.remarks, *interfaces.in_words(wish, cost, opened))
    return run_of(found, cost=cost, remarks=remarks)
