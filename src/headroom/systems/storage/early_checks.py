"""Requirements of a point that its target does not meet, found before any measurement.

A run repeats the checks: a requirement that was met before the first replication may fail later.

Invariant: nothing of the user's is changed; only the folder of Headroom that runs use is made.
"""

from collections.abc import Mapping, Sequence

from headroom.experiment.protocol.system import Value
from headroom.systems.storage.blocks.job import check_alignment
from headroom.systems.storage.postmark.postmark_run import check_pool
from headroom.systems.storage.targets.laying_out import check_space
from headroom.systems.storage.targets.safety import check_may_create
from headroom.systems.storage.targets.targets import Target
from headroom.systems.storage.workloads.workload_parameters import Asked, Micro
from headroom.systems.storage.workloads.workload_table import workload_table


def check_before_runs(config: Mapping[str, Value], target: Target, typed: Sequence[str]) -> None:
    """Refuse a point that could not run on its target.

    Parameters
    ----------
    config
        Value of every parameter.
    target
        Its target.
    typed
        Confirmations of the user.

    Raises
    ------
    HeadroomError
        The place does not exist, is too small or too full, may not be used so, or the requests do
        not fit it.
    """
    if target.table.kind in {"nothing", "soft"}:
        _check_requests(config, target.made_bytes)
    elif target.is_made:
        _check_made(config, target)
        target.session.claim(target.path)
    else:
        # Opened just as a run opens it: what the system refuses it refuses here.
        with target.opened(config, typed) as opened:
            if Asked.of(config).workload == "micro":
                check_alignment(Micro.of(config).block_bytes, opened)
            _check_requests(config, opened.size_bytes)


def check_before_anything(config: Mapping[str, Value], target: Target) -> None:
    """Refuse what `check_before_runs` refuses without opening or making anything.

    Raises
    ------
    HeadroomError
        As there.
    """
    if target.table.kind not in {"nothing", "soft"} and target.is_made:
        _check_made(config, target)
    else:
        _check_requests(config, target.size_bytes())


def _check_made(config: Mapping[str, Value], target: Target) -> None:
    """Refuse files that do not fit in their folder; existing ones make room."""
    if Asked.of(config).workload == "postmark":
        check_pool(config, target)
    else:
        wanted = target.wanted(config)
        needed = wanted.size * wanted.count
        check_may_create(target.path)
        check_space(target.path, needed=needed, reserve=target.reserve)
        _check_requests(config, needed)


def _check_requests(config: Mapping[str, Value], target_bytes: int) -> None:
    if Asked.of(config).workload == "micro":
        workload_table(config, target_bytes=target_bytes)
