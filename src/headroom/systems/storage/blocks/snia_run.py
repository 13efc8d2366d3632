"""A round-based test of a solid-state device after SNIA: fill it, then load it until steady.

The whole target is written in order, in 128 KiB blocks, as often as requested; then the rounds
begin. A round has a cell for each read/write mix and each request size (`snia_cells`), random over
the whole target, each for `seconds`. The rounds end when the last five are steady by
`steady_rounds`, judged on the tracked cell, writes of 4 KiB. The run reports the last five rounds;
a run that never became steady carries a fault.

Invariant: results come from steady rounds, or the run says that they do not.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Histogram, Run, SegmentTotals, Series
from headroom.recording.tool_share import MOST_SHARE, OVER_SHARE
from headroom.systems.storage.blocks.conversion import (
    QUANTITIES,
    failures_in_words,
    faults_of,
    values_of,
    what_limits,
)
from headroom.systems.storage.blocks.job import job_of
from headroom.systems.storage.blocks.measurement import Measurement
from headroom.systems.storage.blocks.tool_cost import ToolCost
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.targets.targets import Opened
from headroom.systems.storage.workloads.snia_cells import Cell, Snia, fitting, tracked
from headroom.systems.storage.workloads.steady_rounds import WINDOW, last_window
from headroom.systems.storage.workloads.workload_parameters import Streamed

_PICTURED = "response_s"
"""Quantity that is kept of all rounds, for a picture of how they went."""
FILL_BYTES = 128 * 1024
FILL_PARTS = 20
FILL_PART_BYTES = 1 << 30
"""The target is written in `FILL_PARTS` parts, none larger than this, to show progress."""

Found: TypeAlias = Mapping[str, Any]
"""A result of the engine."""
Round: TypeAlias = dict[Cell, Found]
"""The results of each cell that was run."""


def run_rounds(asked: Measurement) -> Run:
    """Run rounds until they are steady, or as many as are allowed.

    Raises
    ------
    HeadroomError
        The target cannot be opened or is not confirmed, or a round could not be run.
    """
    config, setup, target = asked.config, asked.setup, asked.target
    snia, streamed = Snia.of(config), Streamed.of(config)
    if setup.verify is not None and setup.verify.log_folder:
        raise StudyError(
            "a test in rounds keeps no log of what was acknowledged",
            cure="remove `log_folder`, or take another workload",
        )
    with target.opened(config, asked.typed) as opened:
        interface = asked.interfaces.choose(asked.wish, opened)
        cells, left_out = fitting(
            config, target_bytes=opened.size_bytes, alignment=opened.alignment
        )

        def job(cell: Cell) -> dict[str, Any]:
            point = {**config, **cell.parameters()}
            made = job_of(point, seed=asked.seed, target=opened, interface=interface, setup=setup)
            # One stream of as many requests at once: one class, and the same random load.
            depth = streamed.depth * streamed.streams
            made["workload"] |= {"streams": [{"name": cell.name}], "depth": depth}
            return {**made, "classes": "stream"}

        jobs = {cell: job(cell) for cell in cells}
        first, say = jobs[cells[0]], target.session.say
        problem = (
            _fill(first, opened, snia.snia_precondition, say) if snia.snia_precondition else None
        )
        rounds = [] if problem else _rounds(jobs, snia.snia_rounds, say)
    sample = next((result for results in rounds for result in results.values()), None)
    chosen = asked.interfaces.in_words(asked.wish, sample, opened) if sample is not None else ()
    outcome = _Outcome(rounds, tracked(cells), asked.interfaces.cost_of)
    return outcome.run((*opened.remarks, *left_out), chosen, problem)


def _fill(
    job: Mapping[str, Any], opened: Opened, passes: float, say: Callable[[str], None]
) -> str | None:
    """Write the target in order, part by part; returns what went wrong."""
    block = FILL_BYTES if opened.size_bytes >= FILL_BYTES else opened.alignment
    whole = opened.size_bytes // block * block
    total = int(passes * whole) // block * block
    part = min(max(whole // FILL_PARTS // block, 1) * block, FILL_PART_BYTES)
    done = 0
    while done < total:
        first = done % whole
        length = min(part, whole - first, total - done)
        faults = faults_of(run_job({**job, **_fill_part(block, first, length)}))
        if faults:
            return "; ".join(faults)
        done += length
        say(f"writing the target before the rounds: {done / total:.0%}")
    return None


def _fill_part(block: int, first: int, length: int) -> dict[str, Any]:
    workload = {"kind": "micro", "pattern": "sequential", "start": "first", "block_bytes": block,
                "read_share": 0.0, "depth": 32, "offset_bytes": first,
                "range_bytes": length}  # fmt: skip
    return {"workload": workload, "stop": {"bytes": length}, "sample_every_s": None}


def _rounds(
    jobs: Mapping[Cell, Mapping[str, Any]], most: int, say: Callable[[str], None]
) -> list[Round]:
    rounds: list[Round] = []
    judged = tracked(tuple(jobs))
    while len(rounds) < most:
        say(f"round {len(rounds) + 1} of at most {most}, {len(jobs)} cells")
        rounds.append(_round(jobs, len(rounds)))
        if len(rounds[-1]) < len(jobs) or any(result["problem"] for result in rounds[-1].values()):
            break
        window = last_window(_tracked(rounds, judged))
        if window is not None and window.is_steady:
            break
    return rounds


def _round(jobs: Mapping[Cell, Mapping[str, Any]], number: int) -> Round:
    """Run all cells once, up to one with a problem; each continues with other requests."""
    results: Round = {}
    for place, (cell, job) in enumerate(jobs.items()):
        seed = (job["seed"] + number * len(jobs) + place) % 2**64
        results[cell] = run_job({**job, "seed": seed})
        if results[cell]["problem"]:
            break
    return results


def _tracked(rounds: Sequence[Round], judged: Cell) -> list[float]:
    """Return the tracked value of each round that has it: requests per second of a cell."""
    own = [results[judged] for results in rounds if judged in results]
    return [_count(result, "completion_count") / result["end_s"] for result in own]


def _count(result: Found, name: str) -> float:
    return float(sum(class_[name] for class_ in result["classes"].values()))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The rounds of a run, by which cell they are judged, and what the tool costs in each."""

    rounds: Sequence[Round]
    judged: Cell
    cost_of: Callable[[Found], ToolCost]

    @property
    def kept(self) -> list[tuple[Cell, Found]]:
        """Cells of the last rounds."""
        return [pair for results in self.rounds[-WINDOW:] for pair in results.items()]

    def run(self, remarks: Sequence[str], notes: Sequence[str], problem: str | None) -> Run:
        """Return the run that the rounds are."""
        figures = _tracked(self.rounds, self.judged)
        window = last_window(figures)
        faults = [f"before the rounds: {problem}"] if problem else []
        faults += [fault for results in self.rounds for result in results.values()
                   for fault in faults_of(result)]  # fmt: skip
        values = {"round_count": float(len(self.rounds))}
        if window is not None:
            values |= {
                "round_range_share": window.range_share,
                "round_slope_share": window.slope_share,
            }
        if not faults and (window is None or not window.is_steady):
            faults.append(f"not steady after {len(self.rounds)} rounds: {_why(figures)}")
        if self.kept:
            values |= self._values()
        said = [
            *remarks,
            *(words for _, result in self.kept for words in failures_in_words(result)),
        ]
        if values.get("tool_share", 0.0) > MOST_SHARE:
            said.append(OVER_SHARE)
        return Run(
            values=values,
            series=(Series(metric="round_throughput", values=np.asarray(figures)),),
            histograms=(*_histograms([result for _, result in self.kept]), *self._over_rounds()),
            faults=tuple(faults),
            remarks=tuple(dict.fromkeys(said)),
            notes=(*notes, *(what_limits(values, is_open=False) if self.kept else ())),
        )

    def _values(self) -> dict[str, float]:
        """Return the values of the last rounds together, and those of each cell."""
        results = [result for _, result in self.kept]
        each = [self._of(cell, result) for cell, result in self.kept]
        shared = set.intersection(*(set(figures) for figures in each))
        means = {
            name: float(np.mean([figures[name] for figures in each])) for name in sorted(shared)
        }
        counts = {name: sum(figures[name] for figures in each) for name in shared
                  if name.endswith("_count")}  # fmt: skip
        # Report the cell with the largest share of the tool.
        largest = {"tool_share": max(figures["tool_share"] for figures in each)}
        values = {
            **means,
            **counts,
            **(largest if "tool_share" in shared else {}),
            **_flow(results),
        }
        values["run_s"] = sum(result["end_s"] for result in results)
        for cell in dict.fromkeys(cell for cell, _ in self.kept):
            own = [result for other, result in self.kept if other == cell]
            values |= {f"class.{cell.name}.{name}": value for name, value in _flow(own).items()}
        return values

    def _over_rounds(self) -> list[Histogram]:
        """Return the response times of the judged cell in all rounds, one segment for each."""
        judged = [results[self.judged] for results in self.rounds if self.judged in results]
        parts = [
            [part for part in result["histograms"][_PICTURED].values() if part["bin_low"].size]
            for result in judged
        ]
        if not any(parts):
            return []
        ends_s = np.cumsum([result["end_s"] for result in judged])
        return [_by_round(f"rounds.{_PICTURED}", parts, ends_s)]

    def _of(self, cell: Cell, result: Found) -> dict[str, float]:
        cost = self.cost_of(result)
        own = cost.share_in(result, write_share=cell.write_share)
        return values_of(result, cost) | own


def _flow(results: Sequence[Found]) -> dict[str, float]:
    length_s = sum(result["end_s"] for result in results)
    return {
        "throughput": sum(_count(result, "completion_count") for result in results) / length_s,
        "bytes_per_s": sum(_count(result, "bytes") for result in results) / length_s,
    }


def _why(tracked: Sequence[float]) -> str:
    window = last_window(tracked)
    if window is None:
        return f"{WINDOW} are needed"
    return (
        f"the last {WINDOW} scatter by {100.0 * window.range_share:.0f}% (20% allowed) and drift "
        f"by {100.0 * window.slope_share:.0f}% (10% allowed)"
    )


def _histograms(kept: Sequence[Found]) -> list[Histogram]:
    """Return one histogram for each quantity and class, of the last rounds together."""
    histograms = []
    for quantity in QUANTITIES:
        names = dict.fromkeys(name for result in kept for name in result["histograms"][quantity])
        for name in names:
            parts = [
                result["histograms"][quantity][name]
                for result in kept
                if name in result["histograms"][quantity]
            ]
            histograms += _merged(f"class.{name}.{quantity}", parts)
    return histograms


def _merged(metric: str, parts: Sequence[Found]) -> list[Histogram]:
    low = np.concatenate([part["bin_low"] for part in parts])
    if not low.size:
        return []
    high = np.concatenate([part["bin_high"] for part in parts])
    counts = np.concatenate([part["counts"].sum(axis=0) for part in parts])
    lows, first, place = np.unique(low, return_index=True, return_inverse=True)
    summed = np.bincount(place, weights=counts, minlength=lows.size)
    return [
        Histogram(
            metric=metric,
            bin_low=lows,
            bin_high=high[first],
            counts=summed.astype(np.int64)[None, :],
            segment_end_times_s=np.array([1.0]),
            totals=_totals([part["totals"] for part in parts]),
        )
    ]


def _by_round(
    metric: str, parts: Sequence[Sequence[Found]], ends_s: npt.NDArray[np.float64]
) -> Histogram:
    """Return a histogram with one segment for each round."""
    every = [part for of_round in parts for part in of_round]
    low, first = np.unique(np.concatenate([part["bin_low"] for part in every]), return_index=True)
    high = np.concatenate([part["bin_high"] for part in every])[first]
    counts = np.zeros((len(parts), low.size), dtype=np.int64)
    for row, of_round in zip(counts, parts, strict=True):
        for table in of_round:
            np.add.at(row, np.searchsorted(low, table["bin_low"]), table["counts"].sum(axis=0))
    return Histogram(
        metric=metric, bin_low=low, bin_high=high, counts=counts, segment_end_times_s=ends_s
    )


def _totals(parts: Sequence[Mapping[str, Any]]) -> SegmentTotals:
    """Return the totals of all parts as those of one segment."""

    def joined(name: str, join: Callable[..., Any]) -> Any:  # noqa: ANN401 - of numpy
        return np.array([join(np.concatenate([part[name] for part in parts]))])

    return SegmentTotals(
        sums=joined("sums", np.sum),
        square_sums=joined("square_sums", np.sum),
        minima=joined("minima", np.min),
        maxima=joined("maxima", np.max),
    )
