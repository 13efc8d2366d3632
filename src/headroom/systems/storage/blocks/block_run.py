"""One run of a workload of requests: open, choose the interface, load, convert, close."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.run import Run
from headroom.systems.storage.blocks.conversion import faults_of, run_of
from headroom.systems.storage.blocks.job import job_of
from headroom.systems.storage.blocks.load_processes import run_in_processes
from headroom.systems.storage.blocks.measurement import Measurement
from headroom.systems.storage.measure import new_run
from headroom.systems.storage.targets.places import resolve
from headroom.systems.storage.targets.safety import check_may_create
from headroom.systems.storage.targets.targets import Target
from headroom.systems.storage.verify.verification import check_log_place, open_log
from headroom.systems.storage.workloads.trace_files import format_of, trace_path
from headroom.systems.storage.workloads.workload_parameters import Asked, Trace
from headroom.systems.storage.workloads.workload_table import is_open

_TARGET_BYTES = "target.bytes"
"""How the engine names the size of a target."""


def run_blocks(asked: Measurement) -> Run:
    """Run one replication of a workload of requests.

    Raises
    ------
    HeadroomError
        The target cannot be opened, is not confirmed, or no request succeeded.
    """
    config, target, setup = asked.config, asked.target, asked.setup
    with ExitStack() as stack:
        opened = stack.enter_context(target.opened(config, asked.typed))
        interface = asked.interfaces.choose(asked.wish, opened)
        job = job_of(config, seed=asked.seed, target=opened, interface=interface, setup=setup)
        if Asked.of(config).workload == "trace":
            replayed = Trace.of(config)
            path = trace_path(replayed.trace_file, target.study)
            trace = stack.enter_context(path.open("rb"))
            table = {"format": format_of(path, replayed.trace_format), "fd": trace.fileno()}
            job["workload"] |= table
        log: Path | None = None
        if setup.verify is not None and setup.verify.log_folder:
            job["verify"]["run"] = new_run()
            log = _log_path(setup.verify.log_folder, target, job["verify"]["run"])
            job["verify"]["log_fd"] = stack.enter_context(open_log(log)).fileno()
        result = _carried_out(job, target, processes=setup.processes)
        if log is not None and not faults_of(result):
            log.unlink()
    return run_of(
        result,
        cost=asked.interfaces.cost_of(result),
        is_open=is_open(config),
        remarks=opened.remarks,
        notes=asked.interfaces.in_words(asked.wish, result, opened),
    )


def _carried_out(job: dict[str, Any], target: Target, *, processes: int) -> dict[str, Any]:
    """Run a job; errors about the size of the target use the words of the study."""
    try:
        return run_in_processes(job, processes)
    except EnvironmentUnfitError as error:
        if not error.message.startswith(_TARGET_BYTES):
            raise
        raise StudyError(
            f"targets.{target.name}.bytes{error.message.removeprefix(_TARGET_BYTES)}",
            cure=error.cure,
        ) from error


def _log_path(folder: str, target: Target, run: int) -> Path:
    """Return the path of a run's log, on a different device from its target."""
    if target.table.kind in {"nothing", "soft"}:
        raise StudyError(
            f"target {target.name!r} of kind {target.table.kind!r} is lost in a crash, so a "
            "log would have nothing to check",
            cure="remove `log_folder`, or load a file or a device",
        )
    path = resolve(folder, study=target.study) / f"acknowledged-{run:016x}.log"
    check_may_create(path.parent)
    check_log_place(path, target.path)
    return path
