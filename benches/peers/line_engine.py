"""The workloads in the native engine of LINE: the program `ldes` of the package `line-solver`.

The engine is a separate program that reads a model as JSON, so none of the package's many
dependencies is needed: only the package itself is unpacked into `build/bench/line`. The engine
keeps means and batch means, and removes a warm-up.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benches.peers.workloads import (
    CPU_MS,
    CPUS,
    DISK_MS,
    DISKS,
    JOBS,
    MM1_LOAD,
    MMC_OFFERED,
    MMC_SERVERS,
    PeerMissingError,
    Run,
)

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench" / "line"
ENGINE = FOLDER / "line_solver" / "bin" / "ldes"
REQUIREMENT = "line-solver==3.0.8.0"
INSTALLATION_LIMIT_S = 300.0
RUN_LIMIT_S = 60.0
VISITS = 2_000_000

CANNOT = {
    "pipeline": "blocking after service gets stuck after some thousand visits, at 0.85 for 0.734",
    "many-stations": "reading 10,000 stations takes 70 s of processor time and 8.6 GB of memory",
}

Data = dict[str, Any]


def name() -> str:
    """Return the name with version; install the package if need be.

    Raises
    ------
    PeerMissingError
        If it cannot be installed, or its engine does not run here.
    """
    if not ENGINE.exists():
        _install()
    try:
        subprocess.run([ENGINE], capture_output=True, check=False, timeout=RUN_LIMIT_S)
    except OSError as error:
        raise PeerMissingError(f"its engine is a program for Linux on x86-64: {error}") from error
    (package,) = (
        installed
        for installed in distributions(path=[str(FOLDER)])
        if installed.name == "line-solver"
    )
    return f"LINE {package.version}"


def _install() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER)]
    try:
        done = subprocess.run(
            [*pip, REQUIREMENT],
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALLATION_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerMissingError(f"pip did not install {REQUIREMENT}: {error}") from error
    if done.returncode != 0 or not ENGINE.exists():
        raise PeerMissingError(
            f"pip did not install {REQUIREMENT} with its engine: {done.stderr.strip()[-200:]}"
        )


def exponential(mean: float) -> Data:
    """Return a law for the one class of jobs."""
    return {"Jobs": {"type": "Exp", "params": {"lambda": 1 / mean}}}


def queue(station: str, mean: float, servers: int = 1) -> Data:
    """Return a station, first come first served."""
    return {
        "name": station,
        "type": "Queue",
        "scheduling": "FCFS",
        "servers": servers,
        "service": exponential(mean),
    }


def document(nodes: list[Data], job_class: Data, routes: dict[str, dict[str, float]]) -> Data:
    """Return a model as the engine reads it."""
    return {
        "format": "line-model",
        "version": "1.0",
        "model": {
            "type": "Network",
            "name": "workload",
            "nodes": nodes,
            "classes": [{"name": "Jobs", **job_class}],
            "routing": {"type": "matrix", "matrix": {"Jobs,Jobs": routes}},
        },
    }


def open_queue(offered: float, servers: int) -> Data:
    """Return M/M/c with a mean service time of 1."""
    return document(
        [
            {"name": "source", "type": "Source", "service": exponential(1 / offered)},
            queue("station", 1.0, servers),
            {"name": "sink", "type": "Sink"},
        ],
        {"type": "Open"},
        {"source": {"station": 1.0}, "station": {"sink": 1.0}},
    )


def central_server() -> Data:
    """Return the closed network: a job uses a CPU and then one of the disks, indefinitely."""
    disks = [f"disk {number}" for number in range(DISKS)]
    return document(
        [queue("cpu", CPU_MS, CPUS), *(queue(disk, DISK_MS) for disk in disks)],
        {"type": "Closed", "population": JOBS, "refNode": "cpu"},
        {"cpu": dict.fromkeys(disks, 1 / DISKS), **{disk: {"cpu": 1.0} for disk in disks}},
    )


def prepared(key: str) -> Callable[[], Run]:
    """Write the model `key` to a file and return what runs it."""
    build, read = MODELS[key]
    model, result = FOLDER / f"{key}.json", FOLDER / f"{key}.result.json"
    model.write_text(json.dumps(build()), encoding="utf-8")
    argv = [str(ENGINE), "solve", str(model), "-o", str(result)]
    argv += ["--samples", str(VISITS), "--seed", "1"]

    def simulate() -> Run:
        subprocess.run(argv, capture_output=True, check=True, timeout=RUN_LIMIT_S)
        said = json.loads(result.read_text(encoding="utf-8"))
        return Run(visits=said["totalSimulatedEvents"], answer=read(said["metrics"]))

    return simulate


MODELS: dict[str, tuple[Callable[[], Data], Callable[[Data], float]]] = {
    "mm1": (lambda: open_queue(MM1_LOAD, 1), lambda metrics: metrics["RN"][1][0]),
    "mm4": (lambda: open_queue(MMC_OFFERED, MMC_SERVERS), lambda metrics: metrics["RN"][1][0]),
    "central-server": (central_server, lambda metrics: metrics["TN"][0][0]),
}
