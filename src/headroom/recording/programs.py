"""A load that several programs generate: they begin at one moment, and their results are merged.

Each program reads its job from the first line of its standard input, prints ``ready``, begins with
the line ``go`` and prints its result as a line of JSON, whose layout is described in
`recording/load/json.rs`. A further line, or the end of the input, ends its load early.

Invariant: no program outlives the block; if this process ends, the programs lose their input and
end as well.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from headroom.errors import EnvironmentUnfitError
from headroom.recording.merging import merged

FloatArray = npt.NDArray[np.float64]
_READY = "ready\n"
_END_S = 10.0
"""Time (s) that a program has to end after its result."""


@dataclass(slots=True)
class LoadPrograms:
    """Programs of one load; within the block they are ready to begin.

    Parameters
    ----------
    argv
        Program and arguments, the same for all.
    jobs
        Job of each program.
    """

    argv: Sequence[str]
    jobs: Sequence[Mapping[str, Any]]
    _running: list["subprocess.Popen[str]"] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for job in self.jobs:
                one = stack.enter_context(self._start())
                stack.callback(one.kill)
                self._running.append(one)
                self._send(one, json.dumps(job))
            for one in self._running:
                if _pipe(one.stdout).readline() != _READY:
                    raise self._lost(one)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def processes(self) -> list[int]:
        """Return the numbers of the processes, to observe them."""
        return [one.pid for one in self._running]

    def run(self) -> dict[str, Any]:
        """Let all begin; return the merged result.

        Raises
        ------
        EnvironmentUnfitError
            A program ended without a result.
        """
        for one in self._running:
            self._send(one, "go")
        return merged([self._result(one) for one in self._running])

    def _start(self) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                [*self.argv], stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8"
            )
        except OSError as error:
            raise EnvironmentUnfitError(
                f"{self.argv[0]} does not start: {error.strerror}", cure="build or install it"
            ) from error

    def _send(self, one: "subprocess.Popen[str]", line: str) -> None:
        try:
            _pipe(one.stdin).write(f"{line}\n")
            _pipe(one.stdin).flush()
        except BrokenPipeError as error:
            raise self._lost(one) from error

    def _result(self, one: "subprocess.Popen[str]") -> dict[str, Any]:
        line = _pipe(one.stdout).readline()
        if not line:
            raise self._lost(one)
        one.wait(_END_S)
        return arrays_of(json.loads(line))

    def _lost(self, one: "subprocess.Popen[str]") -> EnvironmentUnfitError:
        one.kill()
        said = _pipe(one.stderr).read().strip().splitlines()
        reason = f": {said[-1].removeprefix('error: ')}" if said else ""
        return EnvironmentUnfitError(
            f"load program {self._running.index(one) + 1} ended without a result{reason}",
            cure="check that its target answers, then run the replication again",
        )


def _pipe(file: IO[str] | None) -> IO[str]:
    if file is None:
        raise AssertionError("all pipes are requested")
    return file


def arrays_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with arrays where the core's dictionaries have them.

    Parameters
    ----------
    result
        Of one program, as JSON, where null stands for infinity or for a number that is missing.

    Examples
    --------
    >>> table = {"names": ["a", "b"], "capacity": [1, None], "columns": {"n": [1, 2, 3, 4]},
    ...          "maxima": {}}
    >>> rows = {"times_s": [0.5, 1.0], "classes": table, "stations": table}
    >>> empty = {"samples": None, "series": {}, "histograms": {}, "classes": {}}
    >>> arrays = arrays_of({"snapshots": rows, **empty})["snapshots"]["classes"]
    >>> arrays["columns"]["n"].tolist(), arrays["capacity"].tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [1.0, inf])
    """
    samples = result["samples"]
    return {
        **result,
        "snapshots": _tables(result["snapshots"]),
        "samples": None if samples is None else _tables(samples),
        "series": {name: _series(table) for name, table in result["series"].items()},
        "histograms": {
            quantity: {name: _histogram(table) for name, table in classes.items()}
            for quantity, classes in result["histograms"].items()
        },
        "classes": {
            name: {key: np.nan if value is None else value for key, value in totals.items()}
            for name, totals in result["classes"].items()
        },
    }


def _floats(values: Sequence[float | None], missing: float = np.nan) -> FloatArray:
    return np.array([missing if value is None else value for value in values], dtype=np.float64)


def _tables(raw: Mapping[str, Any]) -> dict[str, Any]:
    times_s = _floats(raw["times_s"])
    tables = {kind: _table(raw[kind], len(times_s)) for kind in ("classes", "stations")}
    return {"times_s": times_s, **tables}


def _table(raw: Mapping[str, Any], row_count: int) -> dict[str, Any]:
    shape = (row_count, len(raw["names"]))
    columns = {name: _floats(values).reshape(shape) for name, values in raw["columns"].items()}
    return {
        "names": raw["names"],
        "capacity": _floats(raw["capacity"], np.inf),
        "columns": columns,
        "maxima": {name: _floats(values) for name, values in raw["maxima"].items()},
    }


def _series(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "batch_size": raw["batch_size"],
        "end_times_s": _floats(raw["end_times_s"]),
        "values": _floats(raw["values"]),
    }


def _histogram(raw: Mapping[str, Any]) -> dict[str, Any]:
    ends_s, low = _floats(raw["segment_end_times_s"]), _floats(raw["bin_low"])
    totals = raw["totals"]
    return {
        "bin_low": low,
        "bin_high": _floats(raw["bin_high"]),
        "counts": np.array(raw["counts"], dtype=np.int64).reshape(len(ends_s), len(low)),
        "segment_end_times_s": ends_s,
        "totals": {
            "sums": _floats(totals["sums"]),
            "square_sums": _floats(totals["square_sums"]),
            "minima": _floats(totals["minima"], np.inf),
            "maxima": _floats(totals["maxima"], -np.inf),
        },
    }
