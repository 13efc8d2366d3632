"""Convert a point to the job that the engine carries out.

Invariant: a job is a function of the point, the seed and the opened target.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation.language.streams import stream_key
from headroom.systems.storage.measure import source_seed
from headroom.systems.storage.targets.setup_table import StorageSetup
from headroom.systems.storage.targets.targets import Opened
from headroom.systems.storage.workloads.workload_parameters import (
    STOPS,
    Asked,
    Data,
    Micro,
    Requests,
)
from headroom.systems.storage.workloads.workload_table import workload_table

REQUESTS = "requests"
"""Name of the mechanism by which every model of storage draws requests."""
OPERATIONS = "operations"
"""Name of the mechanism by which every model of PostMark draws operations."""


def job_of(
    config: Mapping[str, Value],
    *,
    seed: int,
    target: Opened,
    interface: str,
    setup: StorageSetup,
) -> dict[str, Any]:
    """Return the job of one run.

    Parameters
    ----------
    config
        Value of every parameter.
    seed
        Of the requests and the data.
    target
        The opened target.
    interface
        ``"io_uring"``, ``"threads"`` or ``"auto"``.
    setup
        Set-up of the study.
    """
    if Asked.of(config).workload == "micro":
        check_alignment(Micro.of(config).block_bytes, target)
    ends = Requests.of(config)
    table = workload_table(config, target_bytes=target.size_bytes)
    job: dict[str, Any] = {
        "seed": stream_seed(seed, REQUESTS),
        "target": dict(target.plan),
        "interface": interface,
        "workload": table,
        "stop": {name: end for name in STOPS if (end := getattr(ends, name))},
        "data": msgspec.to_builtins(Data.of(config)),
        "classes": classes_of(config),
        "sample_every_s": setup.sample_every_s,
        "drain_s": setup.drain_s,
        "silence_s": setup.silence_s,
    }
    if ends.sync != "never":
        job["sync"] = {"every": ends.sync_every, "kind": ends.sync}
    if setup.verify is not None:
        job["verify"] = {
            "cell_bytes": setup.verify.cell_bytes,
            "reads_back": setup.verify.reads_back,
        }
    return job


def stream_seed(run: int, mechanism: str) -> int:
    """Return the seed of a stream in a measured run: that of a model's mechanism of this name.

    A model that draws from the mechanism sees the measured requests of the same run seed.

    Examples
    --------
    >>> stream_seed(1, REQUESTS) == stream_seed(1, OPERATIONS)
    False
    """
    return source_seed(seed=run, key=stream_key(f"mechanism {mechanism}"))


def classes_of(config: Mapping[str, Value]) -> str:
    """Return the kind of classes of a point: kinds of requests, or named streams."""
    if (classes := Requests.of(config).classes) != "auto":
        return classes
    return "stream" if Asked.of(config).workload in {"spc1_like", "spc2_like"} else "kind"


def check_alignment(block_bytes: int, target: Opened) -> None:
    """Refuse requests that direct access cannot make.

    Raises
    ------
    StudyError
        The length is not a multiple of what the device needs.
    """
    if block_bytes % target.alignment:
        raise StudyError(
            f"block_bytes is {block_bytes}, but direct access to this target needs a multiple of "
            f"{target.alignment}",
            cure=f'take a multiple of {target.alignment}, or set direct = "no"',
        )
