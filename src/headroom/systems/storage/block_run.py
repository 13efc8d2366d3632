"""One run of a workload of requests: open, choose the interface, load, convert, close."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.run import Run
from headroom.experiment.system import Value
from headroom.systems.storage.conversion import run_of
from headroom.systems.storage.interfaces import Interfaces
from headroom.systems.storage.job import job_of
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.places import resolve
from headroom.systems.storage.safety import check_may_create
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
        if setup.verify is not None and setup.verify.log_folder:
            folder = resolve(setup.verify.log_folder, study=target.study)
            job["verify"]["log_fd"] = stack.enter_context(_new_log(folder, seed)).fileno()
        found = run_job(job)
    remarks = (*opened.remarks, *interfaces.in_words(wish, cost, opened))
    return run_of(found, cost=cost, remarks=remarks)


def _new_log(folder: Path, seed: int) -> BinaryIO:
    """Open a new log of what a run had acknowledged; it stays, for a check after a crash."""
    check_may_create(folder)
    path = folder / f"acknowledged-{seed}.log"
    try:
        return path.open("xb", buffering=0)
    except FileExistsError as error:
        raise EnvironmentUnfitError(
            f"there is a log of an earlier run with this seed already: {path}",
            cure="check the target against it, then remove it",
        ) from error
