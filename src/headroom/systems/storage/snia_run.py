"""A test of a solid-state device in rounds, after SNIA: fill it, then load it until it is steady.

The whole target is written in order, in 128 KiB, as often as asked; then the workload of the point
runs round by round, each for `seconds`, until the last five rounds are steady by `steady_rounds`.
The run reports the last five rounds; one that never became steady carries a fault.

Invariant: figures come from steady rounds, or the run says that they do not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headroom.errors import StudyError
from headroom.experiment.run import Histogram, Run, Series
from headroom.experiment.system import Value
from headroom.systems.storage.conversion import QUANTITIES, failures_in_words, faults_of, values_of
from headroom.systems.storage.interfaces import Interfaces
from headroom.systems.storage.job import job_of
from headroom.systems.storage.measure import run_job
from headroom.systems.storage.setup_table import StorageSetup
from headroom.systems.storage.steady_rounds import WINDOW, last_window
from headroom.systems.storage.targets import Opened, Target
from headroom.systems.storage.tool_cost import MOST_SHARE, OVER_SHARE, ToolCost

FILL_BYTES = 128 * 1024
FILL_PARTS = 20
FILL_PART_BYTES = 1 << 30
"""The target is written in so many parts, none larger than this: the user sees how far it is."""


def run_rounds(
    config: Mapping[str, Value],
    *,
    seed: int,
    target: Target,
    typed: Sequence[str],
    interfaces: Interfaces,
    setup: StorageSetup,
) -> Run:
    """Run rounds until they are steady, or as many as are allowed.

    Raises
    ------
    HeadroomError
        The target cannot be opened or is not confirmed, or a round could not be run.
    """
    if setup.verify is not None and setup.verify.log_folder:
        raise StudyError(
            "a test in rounds keeps no log of what was acknowledged",
            cure="remove `log_folder`, or take another workload",
        )
    with target.opened(config, typed) as opened:
        cost = interfaces.choose(str(config["interface"]), opened)
        job = job_of(config, seed=seed, target=opened, interface=cost.interface, setup=setup)
        passes = float(config["snia_precondition"])
        problem = _fill(job, opened, passes, target.session.say) if passes else None
        rounds = [] if problem else _rounds(job, int(config["snia_rounds"]))
        remarks = (*opened.remarks, *interfaces.in_words(str(config["interface"]), cost, opened))
    return _run(rounds, cost, remarks, problem)


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


def _rounds(job: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < most:
        # Each round goes on with other requests than the one before.
        found.append(run_job({**job, "seed": (job["seed"] + len(found)) % 2**64}))
        window = last_window(_tracked(found))
        if found[-1]["problem"] or (window is not None and window.is_steady):
            break
    return found


def _tracked(rounds: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the tracked figure of each round: requests per second."""
    return [_count(one, "completion_count") / one["load_s"] for one in rounds]


def _count(found: Mapping[str, Any], name: str) -> float:
    return float(sum(one[name] for one in found["classes"].values()))


def _run(
    rounds: Sequence[Mapping[str, Any]],
    cost: ToolCost,
    remarks: Sequence[str],
    problem: str | None,
) -> Run:
    tracked = _tracked(rounds)
    window = last_window(tracked)
    kept = rounds[-WINDOW:]
    faults = [f"before the rounds: {problem}"] if problem else []
    faults += [fault for one in rounds for fault in faults_of(one)]
    values = {"round_count": float(len(rounds))}
    if window is not None:
        values |= {"round_range_share": window.range_share, "round_slope_share": window.slope_share}
    if not faults and (window is None or not window.is_steady):
        faults.append(f"not steady after {len(rounds)} rounds: {_why(tracked)}")
    if kept:
        values |= _values(kept, cost)
    said = [*remarks, *(words for one in kept for words in failures_in_words(one))]
    if values.get("tool_share", 0.0) > MOST_SHARE:
        said.append(OVER_SHARE)
    return Run(
        values=values,
        series=(Series(metric="round_throughput", values=np.asarray(tracked)),),
        histograms=tuple(_histograms(kept)),
        faults=tuple(faults),
        remarks=tuple(dict.fromkeys(said)),
    )


def _why(tracked: Sequence[float]) -> str:
    window = last_window(tracked)
    if window is None:
        return f"{WINDOW} are needed"
    return (
        f"the last {WINDOW} scatter by {window.range_share:.0%} (20 % allowed) and drift by "
        f"{window.slope_share:.0%} (10 % allowed)"
    )


def _values(kept: Sequence[Mapping[str, Any]], cost: ToolCost) -> dict[str, float]:
    """Return the figures of the last rounds together, and the means of those of each round."""
    each = [values_of(one, cost) for one in kept]
    shared = set.intersection(*(set(one) for one in each))
    means = {name: float(np.mean([one[name] for one in each])) for name in sorted(shared)}
    length_s = sum(one["load_s"] for one in kept)
    done = sum(_count(one, "completion_count") for one in kept)
    moved = sum(_count(one, "bytes") for one in kept)
    counted = [name for name in shared if name.endswith(("error_count", "unfinished_count"))]
    counted += [name for name in shared if name.endswith("_cell_count")]
    summed = {name: sum(one[name] for one in each) for name in counted}
    return {
        **means,
        **summed,
        "throughput": done / length_s,
        "bytes_per_s": moved / length_s,
        "run_s": length_s,
    }


def _histograms(kept: Sequence[Mapping[str, Any]]) -> list[Histogram]:
    """Return one histogram for each quantity and class, of the last rounds together."""
    found = []
    for quantity in QUANTITIES:
        names = dict.fromkeys(name for one in kept for name in one["histograms"][quantity])
        for name in names:
            parts = [
                one["histograms"][quantity][name]
                for one in kept
                if name in one["histograms"][quantity]
            ]
            found += _merged(f"class.{name}.{quantity}", parts)
    return found


def _merged(metric: str, parts: Sequence[Mapping[str, Any]]) -> list[Histogram]:
    low = np.concatenate([one["bin_low"] for one in parts])
    if not low.size:
        return []
    high = np.concatenate([one["bin_high"] for one in parts])
    counts = np.concatenate([one["counts"].sum(axis=0) for one in parts])
    lows, first, place = np.unique(low, return_index=True, return_inverse=True)
    summed = np.bincount(place, weights=counts, minlength=lows.size)
    return [
        Histogram(
            metric=metric,
            bin_low=lows,
            bin_high=high[first],
            counts=summed.astype(np.int64)[None, :],
            segment_end_times_s=np.array([1.0]),
        )
    ]
