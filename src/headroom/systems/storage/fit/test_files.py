"""Known file costs are recovered, and predict PostMark with other parameters."""

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.fit_method import (
    Counted,
    FitError,
    Found,
    Observed,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.system import Column, Value
from headroom.simulation import simulate
from headroom.systems.storage.blocks.job import OPERATIONS, stream_seed
from headroom.systems.storage.fit.file_parameters import FILES, KINDS, SYNC
from headroom.systems.storage.fit.files import fitted_files
from headroom.systems.storage.fit.files_method import FilesFit, FilesOptions
from headroom.systems.storage.fit.laws import quantile_of
from headroom.systems.storage.fit.test_method import values_of
from headroom.systems.storage.postmark.postmark import operations

TRUTH: Mapping[str, Value] = {
    "create_s": 9e-6, "create_s_per_byte": 4.5e-10, "create_cv": 0.2,
    "read_s": 1.6e-6, "read_s_per_byte": 2e-10, "read_cv": 0.15,
    "append_s": 1.7e-6, "append_s_per_byte": 3e-10, "append_cv": 0.2,
    "delete_s": 5e-6, "delete_s_per_byte": 1.4e-10, "delete_cv": 0.2,
    "create_sync_s": 120e-6, "create_sync_s_per_byte": 1.2e-9,
    "append_sync_s": 80e-6, "append_sync_s_per_byte": 8e-10, "sync_cv": 0.2,
    "durable_delete_s": 40e-6, "durable_delete_s_per_byte": 8e-10, "between_s": 4e-7,
}  # fmt: skip
CALM: Mapping[str, Value] = {f"{name}_cv": 0.0 for name in (*KINDS, "sync")}
SIZES = ((1, 1024), (8192, 16_384), (32_768, 65_536))
ASKED: Mapping[str, Value] = {
    "postmark_files": 100, "postmark_transactions": 1000, "postmark_bias_read": 5.0,
    "postmark_bias_create": 5.0, "postmark_sync": "never", "postmark_sync_every": 1,
}  # fmt: skip
SYNCED = FilesOptions(sync=True)


def target() -> Target:
    declared = fitted_files.parameters
    system = SimpleNamespace(parameters=lambda: declared)  # all that the method needs from it
    config = {parameter.name: parameter.default or 0 for parameter in declared}
    return Target(system=system, config=config)  # type: ignore[arg-type]


def walked(load: Mapping[str, Value], seed: int) -> Mapping[str, np.ndarray]:
    """Return the operations of a measured run with a seed."""
    workload = {
        "files": load["postmark_files"],
        "transactions": load["postmark_transactions"],
        "size_low_bytes": load["postmark_low_bytes"],
        "size_high_bytes": load["postmark_high_bytes"],
        "read_bias": load["postmark_bias_read"],
        "create_bias": load["postmark_bias_create"],
    }
    job = {
        "seed": stream_seed(seed, OPERATIONS),
        "target": {"kind": "nothing"},
        "workload": workload,
    }
    return operations(job, count=1_000_000)


def measured(load: Mapping[str, Value], truth: Mapping[str, Value] = TRUTH) -> SourcePoint:
    """Return a measurement of the true costs: times by kind, drawn one by one."""
    walk, random = walked(load, seed=3), np.random.default_rng(8)
    is_mixed = walk["phase"] == 1
    is_synced = load["postmark_sync"] != "never"
    distributions = {}
    for number, kind in enumerate(KINDS):
        moved = walk["bytes"][is_mixed & (walk["kind"] == number)].astype(float)
        times = drawn(truth, kind, moved, random)
        if is_synced and kind in {"create", "append"}:
            times += drawn(truth, f"{kind}_sync", moved, random)
        if is_synced and kind == "delete":
            times += float(truth["durable_delete_s"])
            times += moved * float(truth["durable_delete_s_per_byte"])
        edges = np.geomspace(times.min() * 0.99, times.max() * 1.01, 400)
        counts, _ = np.histogram(times, edges)
        bins = Counted(low=edges[:-1], high=edges[1:], counts=counts.astype(float))
        distributions[f"class.{kind}.response_s"] = bins
    return SourcePoint(
        experiment="files", column=Column.MEASURE, levels=dict(load), distributions=distributions,
        config={"workload": "postmark", "postmark_threads": 1, **load},
        observed={
            "transactions_per_s": Observed(value=1e5),
            "response_s_mean": Observed(value=1e-5 - float(truth["between_s"])),
        },
    )  # fmt: skip


def drawn(
    truth: Mapping[str, Value], name: str, moved: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    cv = float(truth["sync_cv" if name.endswith("_sync") else f"{name}_cv"])
    deviation = np.sqrt(np.log1p(cv**2))
    mean_s = float(truth[f"{name}_s"]) + moved * float(truth[f"{name}_s_per_byte"])
    scatter: np.ndarray = mean_s * random.lognormal(-(deviation**2) / 2.0, deviation, moved.size)
    return scatter


def sweep() -> list[SourcePoint]:
    return [
        measured({**ASKED, "postmark_low_bytes": low, "postmark_high_bytes": high,
                  "postmark_sync": sync})
        for sync in ("never", "fdatasync")
        for low, high in SIZES
    ]  # fmt: skip


@pytest.fixture(scope="module")
def fitted() -> Found:
    return FilesFit().fit(sweep(), target(), SYNCED)


def test_known_costs_are_recognised(fitted: Found) -> None:
    values = values_of(fitted)
    assert set(values) == {parameter.name for parameter in (*FILES, *SYNC)}
    for name, truth in TRUTH.items():
        tolerance = 0.35 if name.endswith("_cv") else 0.1
        assert float(values[name]) == pytest.approx(float(truth), rel=tolerance), name
    assert max(abs(residual.relative or 0.0) for residual in fitted.residuals) < 0.05


@pytest.mark.parametrize(
    "other",
    [
        {"postmark_files": 400, "postmark_transactions": 2000, "postmark_low_bytes": 500,
         "postmark_high_bytes": 10_000, "postmark_bias_read": 3.5},
        {"postmark_files": 50, "postmark_transactions": 1000, "postmark_low_bytes": 20_000,
         "postmark_high_bytes": 50_000, "postmark_bias_create": 4.0,
         "postmark_sync": "fdatasync"},
        {"postmark_low_bytes": 100, "postmark_high_bytes": 4000, "postmark_sync": "fsync",
         "postmark_sync_every": 8},
    ],
)  # fmt: skip
def test_postmark_of_other_parameters_is_foreseen_within_15_percent(
    fitted: Found, other: Mapping[str, Value]
) -> None:
    load = {**ASKED, **other}
    seen, foreseen = (
        fitted_files.own_values(simulate(fitted_files(**costs, **load), seed=6))
        for costs in (TRUTH, values_of(fitted))
    )
    for name in ("run_s", "creation_s", "transactions_s", "deletion_s", "transactions_per_s"):
        assert foreseen[name] == pytest.approx(seen[name], rel=0.15), name


def test_the_model_walks_the_operations_of_a_measured_run_with_its_seed() -> None:
    """Oracle: without scatter, phases are sums over the operations that the engine would do."""
    load = {**ASKED, "postmark_low_bytes": 500, "postmark_high_bytes": 10_000}
    walk = walked(load, seed=17)
    own_values = fitted_files.own_values(
        simulate(fitted_files(**{**TRUTH, **CALM}, **load), seed=17)
    )
    for phase, name in enumerate(("creation_s", "transactions_s", "deletion_s")):
        is_here = walk["phase"] == phase
        total_s = sum(
            float(TRUTH[f"{kind}_s"]) + float(TRUTH[f"{kind}_s_per_byte"]) * float(moved)
            for number, kind in enumerate(KINDS)
            for moved in walk["bytes"][is_here & (walk["kind"] == number)]
        )
        pauses = walk["ends_transaction"][is_here].sum() if phase == 1 else is_here.sum()
        assert own_values[name] == pytest.approx(total_s + pauses * 4e-7, rel=1e-6), name
    assert own_values["run_s"] == pytest.approx(
        sum(own_values[f"{phase}_s"] for phase in ("creation", "transactions", "deletion"))
    )


def test_every_nth_written_file_is_synced() -> None:
    size = {"postmark_low_bytes": 512, "postmark_high_bytes": 512}
    only = {"postmark_bias_read": 10.0, "postmark_bias_create": 10.0}
    load = {**ASKED, **size, **only, "postmark_sync": "fsync"}
    costs = {**dict.fromkeys(TRUTH, 0.0), "create_sync_s": 1e-3}
    for every in (1, 4):
        model = fitted_files(**costs, **{**load, "postmark_sync_every": every})
        own_values = fitted_files.own_values(simulate(model, seed=2))
        # The pool of at most twice the files is full after as many creates.
        assert own_values["creation_s"] == pytest.approx(100 // every * 1e-3)
        assert own_values["transactions_s"] == pytest.approx(100 // every * 1e-3)


def test_operations_that_are_held_up_are_told_from_their_scatter() -> None:
    """Stalls come by time: an operation meets them in proportion to its duration."""
    spoilt = []
    for point in sweep():
        bins = dict(point.distributions)
        for name, counted in point.distributions.items():
            median_s = quantile_of(counted, 0.5)
            low = np.append(counted.low, 100.0 * median_s)
            high = np.append(counted.high, 100.0 * median_s)
            counts = np.append(counted.counts, 0.001 * counted.counts.sum())
            bins[name] = Counted(low=low, high=high, counts=counts)
        spoilt.append(SourcePoint(experiment="files", column=Column.MEASURE, levels=point.levels,
                                  config=point.config, observed=point.observed,
                                  distributions=bins))  # fmt: skip
    fit = FilesFit().fit(spoilt, target(), SYNCED)
    values = values_of(fit)
    held = float(values["stalls_per_s"]) * float(values["stall_s"])
    assert held == pytest.approx(0.1, rel=0.15)
    assert float(values["create_s"]) == pytest.approx(9e-6, rel=0.1)
    assert any("held up" in note for note in fit.notes)


def test_what_does_not_determine_the_costs_is_refused() -> None:
    points = sweep()
    one_size = [point for point in points if point.config["postmark_high_bytes"] == 1024]
    with pytest.raises(FitError, match="1 sizes of files"):
        FilesFit().fit(one_size, target(), SYNCED)
    plain = [point for point in points if point.config["postmark_sync"] == "never"]
    with pytest.raises(FitError, match="made durable"):
        FilesFit().fit(plain, target(), SYNCED)
    values = values_of(FilesFit().fit(plain, target(), FilesOptions()))
    assert set(values) == {parameter.name for parameter in FILES}


def test_sizes_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(StudyError, match="above postmark_high_bytes"):
        fitted_files(postmark_low_bytes=10, postmark_high_bytes=9)
