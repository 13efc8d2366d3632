"""The environment of a run: machine, kernel, container, disks, versions; stored with the rows.

Facts are read from the kernel's own interfaces. A fact that cannot be read is absent; none is
guessed. Names include the unit.
"""

import os
import platform
import socket
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from headroom.experiment.machine.machine_facts import (
    clock,
    container,
    cpu,
    machine_id,
    memory,
    numa,
    system_load,
)
from headroom.experiment.machine.machine_identity import NO_MACHINE_ID
from headroom.experiment.machine.repository import repository_state
from headroom.experiment.machine.storage_facts import storage
from headroom.version import version

_PACKAGES = ("numpy", "scipy", "msgspec")
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def collect(folder: Path) -> dict[str, Any]:
    """Return the provenance of a run of the study in `folder`.

    Returns
    -------
    dict
        Tables ``host``, ``cpu``, ``memory``, ``numa``, ``storage``, ``container``, ``load``,
        ``clock``, ``software`` and ``repository``; a table without facts is absent.

    Examples
    --------
    >>> facts = collect(Path())
    >>> facts["host"]["kernel"] == platform.release()
    True
    """
    collected: dict[str, dict[str, Any]] = {
        "host": _host(),
        "cpu": cpu(),
        "memory": memory(),
        "numa": numa(),
        "storage": storage(folder),
        "container": container(),
        "load": system_load(),
        "clock": clock(),
        "software": _software(),
        "repository": repository_state(folder),
    }
    return {name: facts for name, facts in collected.items() if facts}


def _host() -> dict[str, Any]:
    facts = {
        "name": socket.gethostname(),
        "machine_id": machine_id() or NO_MACHINE_ID,
        "system": platform.system(),
        "kernel": platform.release(),
        "kernel_build": platform.version(),
        "architecture": platform.machine(),
        "distribution": _distribution(),
    }
    return {name: value for name, value in facts.items() if value}


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _software() -> dict[str, Any]:
    facts: dict[str, Any] = {
        "headroom": version(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "python_compiler": platform.python_compiler(),
        **{name: release for name in _PACKAGES if (release := _package_version(name))},
        **core_facts(),
    }
    threads = {name: os.environ[name] for name in _THREAD_LIMITS if name in os.environ}
    return {**facts, **({"thread_limits": threads} if threads else {})}


def _package_version(name: str) -> str | None:
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return None


def core_facts() -> dict[str, str]:
    """Return how the compiled core was built, as far as known."""
    try:
        core = import_module("headroom._core")
    except ImportError:
        return {}
    names = {
        "core": "__version__",
        "core_build_profile": "BUILD_PROFILE",
        "core_compiler": "RUSTC_VERSION",
    }
    return {key: str(getattr(core, name)) for key, name in names.items() if hasattr(core, name)}
