"""The system `storage` on real targets: results, rejections, and leftovers."""

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.windows import open_window
from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.recording.leftovers import PREFIX
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.places import disk_folder, memory_folder
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from tests.support.storage_sessions import config_of, session_of

MIB = 1 << 20
Attach = Callable[..., Path]


def _session(
    *, study: Path = Path(), **targets: dict[str, Any]
) -> AbstractContextManager[StorageSystem]:
    tables = {name: TargetTable(**table) for name, table in targets.items()}
    return session_of(StorageSetup(targets=tables), study=study)


def _config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    return config_of(system, **{"seconds": 0.0, "requests": 2000, **given})


def _made(folder: Path) -> set[Path]:
    return set(folder.glob(f"{PREFIX}*"))


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("read_share", [1.0, 0.5, 0.0])
def test_a_run_on_a_real_target_obeys_its_own_laws(
    place: str, read_share: float, tmp_path: Path
) -> None:
    """Conservation: as many requests as asked, bytes as many times as long, N is X times R."""
    folder = memory_folder() if place == "memory" else disk_folder(tmp_path)
    before = _made(folder)
    with _session(one={"kind": "file", "path": f"{{{place}}}", "bytes": "8 MiB"}) as system:
        run = system.run(_config(system, read_share=read_share, depth=4), seed=1)
        assert len(_made(folder) - before) == 1
    assert _made(folder) == before
    assert run.is_sound
    window = open_window(run, cut_s=0.0)
    assert window is not None
    table = window.table("class")
    assert table is not None
    last = {name: column[-1].sum() for name, column in table.columns.items()}
    assert last["completion_count"] == 2000
    assert last["bytes"] == 2000 * 4096
    values = run_values(window, {})
    assert values["bytes_per_s"] == pytest.approx(4096 * values["throughput"])
    assert last["jobs_s"] == pytest.approx(last["response_s_sum"] + last["age_s"], rel=1e-9)
    assert run.values["error_count"] == 0.0
    assert run.values["achieved_read_share"] == pytest.approx(read_share, abs=0.05)
    assert 0.0 < run.values["tool_share"] <= 1.0
    assert run.values["cpu_s_per_request"] > 0.0
    responses = sum(
        histogram.counts.sum()
        for histogram in run.histograms
        if histogram.metric.endswith(".response_s")
    )
    assert responses == 2000


def test_the_interface_is_chosen_by_the_target_and_said(tmp_path: Path) -> None:
    with _session(
        memory={"kind": "file", "path": "{memory}", "bytes": "1 MiB"},
        disk={"kind": "file", "path": "{disk}", "bytes": "1 MiB"},
    ) as system:
        facts = system.prepare()
        memory = system.run(_config(system, target="memory"), seed=1)
        disk = system.run(_config(system, target="disk"), seed=1)
        asked = system.run(_config(system, target="disk", interface="threads"), seed=1)
    assert any("interface threads" in note for note in memory.notes)
    assert not any("interface" in said for said in (*asked.remarks, *asked.notes))
    is_refused = "io_uring refused" in facts
    assert any("io_uring is refused" in note for note in disk.notes) is is_refused
    assert "tmpfs" in str(facts["target memory"])
    assert _is_empty(tmp_path)


def _is_empty(folder: Path) -> bool:
    """Return whether nothing is in a folder."""
    return not list(folder.iterdir())


def test_nothing_as_a_target_measures_the_tool_and_says_so() -> None:
    """Other work of the machine makes the share smaller, never larger: the largest counts."""
    with _session(none={"kind": "nothing"}) as system:
        config = _config(system, depth=128, requests=50_000)
        runs = [system.run(config, seed=seed) for seed in range(5)]
    for run in runs:
        is_said = any("the tool itself is being measured" in remark for remark in run.remarks)
        assert is_said is (run.values["tool_share"] > 0.1)
    assert max(run.values["tool_share"] for run in runs) > 0.1


def test_requests_of_one_seed_are_the_same_and_of_another_are_not() -> None:
    with _session(one={"kind": "file", "path": "{memory}", "bytes": "1 MiB"}) as system:
        config = _config(system, read_share=0.5, requests=500)
        shares = [system.run(config, seed=seed).values["achieved_read_share"] for seed in (1, 1, 2)]
    assert shares[0] == shares[1]
    assert shares[0] != shares[2]


def test_an_open_load_offers_its_rate_and_tells_how_late_it_was() -> None:
    """Oracle: a constant law at 2000 /s has 500 requests in a quarter of a second, to one."""
    with _session(one={"kind": "file", "path": "{memory}", "bytes": "1 MiB"}) as system:
        config = _config(system, load="open", law="constant", rate=2000.0, seconds=0.25, requests=0)
        run = system.run(config, seed=1)
    counted = sum(
        histogram.counts.sum()
        for histogram in run.histograms
        if histogram.metric.endswith("submit_error_s")
    )
    assert abs(counted - 500) <= 1
    (errors,) = [
        histogram for histogram in run.histograms if histogram.metric.endswith("submit_error_s")
    ]
    assert errors.totals is not None
    assert errors.totals.minima.min() >= 0.0


@pytest.mark.parametrize(("count", "bytes_"), [(1, 2 * MIB), (3, 2 * MIB)])
def test_a_folder_of_files_is_one_target(count: int, bytes_: int) -> None:
    target = {"kind": "folder", "path": "{memory}", "bytes": bytes_, "files": count}
    with _session(one=target) as system:
        run = system.run(_config(system, pattern="sequential"), seed=1)
    assert run.is_sound
    assert run.values["error_count"] == 0.0


def test_odd_block_sizes_are_refused_with_the_size_that_is_needed(tmp_path: Path) -> None:
    with _session(one={"kind": "file", "path": str(tmp_path), "bytes": "1 MiB"}) as system:
        with pytest.raises(StudyError, match="direct access to this target needs a multiple of"):
            system.run(_config(system, block_bytes=1000, direct="yes"), seed=1)
        run = system.run(_config(system, block_bytes=1000, direct="no"), seed=1)
    assert any("page cache takes part" in remark for remark in run.remarks)


def test_a_target_that_is_too_small_or_missing_is_refused(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(bytes(1000))
    cases: dict[str, dict[str, Any]] = {
        "the range of offsets has only 1000 B": {"kind": "file", "path": str(small)},
        "but the study asks for": {"kind": "file", "path": str(small), "bytes": 4096},
        "not found": {"kind": "file", "path": str(tmp_path / "no")},
        "there is no block device": {"kind": "block_device", "path": "/dev/headroom-none"},
    }
    for words, table in cases.items():
        with _session(one=table) as system, pytest.raises(HeadroomError, match=words) as caught:
            system.run(_config(system), seed=1)
        assert caught.value.cure
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small"]


def test_reading_a_file_of_the_user_changes_nothing_and_needs_no_words(tmp_path: Path) -> None:
    file = tmp_path / "precious"
    content = os.urandom(MIB)
    file.write_bytes(content)
    with _session(one={"kind": "file", "path": str(file)}) as system:
        config = _config(system)
        assert system.confirmations(config) == ()
        assert system.run(config, seed=1).is_sound
    assert file.read_bytes() == content
    assert _holds_only(tmp_path, "precious")


def _holds_only(folder: Path, name: str) -> bool:
    """Return whether a folder holds one file and nothing else."""
    return [path.name for path in folder.iterdir()] == [name]


def test_a_loop_device_is_written_with_its_words_only(tmp_path: Path, attach: Attach) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(4 * MIB))
    device = attach(image)
    with _session(one={"kind": "block_device", "path": str(device)}) as system:
        config = _config(system, read_share=0.5)
        with pytest.raises(EnvironmentUnfitError) as caught:
            system.run(config, seed=1)
        assert f'--overwrite "{device} {4 * MIB}"' in caught.value.cure
        assert image.read_bytes() == bytes(4 * MIB)
        system.confirm([f"{device} {4 * MIB}"])
        # A written device is opened exclusively: each run must release it at once.
        for interface in ("io_uring", "io_uring", "threads", "io_uring"):
            assert system.run({**config, "interface": interface}, seed=1).is_sound
        assert system.run(_config(system), seed=1).is_sound
        assert "block device" in system.targets["one"].facts()
    assert image.stat().st_size == 4 * MIB


def test_no_words_are_offered_for_what_may_never_be_written(
    tmp_path: Path, attach: Attach, mount: Callable[..., Path]
) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(8 * MIB))
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    (device, protected) = (attach(image), attach(image, "--read-only"))
    folder = mount(str(device))
    (folder / "precious").write_bytes(bytes(MIB))
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    for table, words in (
        ({"kind": "block_device", "path": str(device)}, "is in use and is never written to"),
        ({"kind": "block_device", "path": str(protected)}, "is read-only"),
        ({"kind": "file", "path": str(folder / "precious")}, "is read-only"),
    ):
        with _session(one=table) as system, pytest.raises(EnvironmentUnfitError, match=words):
            system.confirmations(_config(system, read_share=0.5))


def _cut_while_read(image: Path, device: Path) -> None:
    """Truncate the file behind a device after some more of its requests than a look at it takes."""
    counts = Path(f"/sys/block/{device.name}/stat")
    first = int(counts.read_text().split()[0])
    while int(counts.read_text().split()[0]) < first + 1000:
        threading.Event().wait(0.001)
    os.truncate(image, 0)


def test_a_target_that_vanishes_leaves_a_marked_partial_result(
    tmp_path: Path, attach: Attach
) -> None:
    """The file behind a loop device is truncated while it is read: the rest answers with errors."""
    image = tmp_path / "image"
    image.write_bytes(os.urandom(8 * MIB))
    device = attach(image)
    with _session(one={"kind": "block_device", "path": str(device)}) as system:
        system.prepare()
        cutter = threading.Thread(target=_cut_while_read, args=[image, device])
        cutter.start()
        run = system.run(_config(system, seconds=30.0, requests=0), seed=1)
        cutter.join()
    assert run.faults
    assert "the target failed" in run.faults[0]
    assert run.values["error_count"] > 0.0
    assert any("failed: " in remark for remark in run.remarks)
    assert sum(histogram.counts.sum() for histogram in run.histograms) > 0


def test_a_device_that_cannot_be_read_is_refused_before_a_run(
    tmp_path: Path, attach: Attach
) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(4 * MIB))
    device = attach(image)
    os.truncate(image, 0)
    with ExitStack() as stack:
        stack.enter_context(
            pytest.raises(EnvironmentUnfitError, match="cannot be read: Input/output error")
        )
        table = {"kind": "block_device", "path": str(device)}
        system = stack.enter_context(_session(one=table))
        system.run(_config(system), seed=1)


@pytest.mark.parametrize(
    ("workload", "given"),
    [
        ("spc1_like", {"bsus": 4, "seconds": 0.5}),
        ("spc2_like", {"streams": 2, "seconds": 0.2}),
        ("spc2_like", {"streams": 2, "seconds": 0.5, "spc2_part": "vod"}),
        ("spc2_like", {"streams": 2, "seconds": 0.2, "spc2_part": "ldq"}),
        ("trace", {"trace_file": "trace.csv", "seconds": 0.0}),
    ],
)
def test_named_workloads_run_with_streams_as_classes(
    workload: str, given: dict[str, Value], tmp_path: Path
) -> None:
    (tmp_path / "trace.csv").write_text("0,20941264,8192,W,0.0\n0,16,4096,R,0.01\n")
    target = {"kind": "file", "path": "{memory}", "bytes": "96 MiB"}
    with _session(study=tmp_path, one=target) as system:
        config = _config(system, workload=workload, requests=0, **given)
        run = system.run(config, seed=1)
        declared = {metric.name for metric in system.metrics(config)}
    assert run.is_sound
    (classes,) = [table for table in run.resources if table.kind == "class"]
    assert {f"class.{name}.throughput" for name in classes.names} <= declared


def test_a_target_that_is_too_small_for_a_workload_is_named_as_the_study_names_it() -> None:
    with _session(small={"kind": "file", "path": "{memory}", "bytes": "8 MiB"}) as system:
        config = _config(system, workload="spc1_like", requests=100)
        with pytest.raises(StudyError, match=r"targets\.small\.bytes: is 8388608, and .* 89 MiB"):
            system.run(config, seed=1)


def test_fingerprints_tell_targets_workloads_and_traces_apart(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("0,0,512,R,0.0\n")
    with _session(
        study=tmp_path,
        one={"kind": "file", "path": "{memory}"},
        two={"kind": "file", "path": "{disk}"},
    ) as system:
        base = _config(system, target="one", trace_file="")
        other = [
            {**base, "target": "two"},
            {**base, "read_share": 0.5},
            {**base, "direct": "no"},
            {**base, "workload": "trace", "trace_file": "trace"},
        ]
        prints = [system.fingerprint(config) for config in (base, *other)]
        assert len(set(prints)) == len(prints)
        assert system.fingerprint(base) == prints[0]
        (tmp_path / "trace").write_text("0,8,512,R,0.0\n")
        assert system.fingerprint(other[-1]) != prints[-1]


def test_a_run_that_fails_in_python_still_closes_and_cleans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> Run:
        raise KeyboardInterrupt

    before = _made(memory_folder())
    open_before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as the kernel lists them
    with _session(one={"kind": "file", "path": "{memory}", "bytes": "1 MiB"}) as system:
        system.prepare()
        monkeypatch.setattr("headroom.systems.storage.blocks.block_run.run_in_processes", fail)
        with pytest.raises(KeyboardInterrupt):
            system.run(_config(system), seed=1)
    assert _made(memory_folder()) == before
    assert len(os.listdir("/proc/self/fd")) == open_before  # noqa: PTH208 - as above


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "nothing", "path": "/x"}, "has a path"),
        ({"kind": "block_device"}, "has no path"),
        ({"kind": "file", "script": {"a": 1}}, "has a script"),
        ({"kind": "file", "bytes": "7 XB"}, "is not a size"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        StorageSystem.load(StorageSetup(targets={"one": TargetTable(**table)}), base=Path())


@pytest.mark.parametrize("sync", ["never", "fdatasync"])
def test_postmark_counts_what_it_did_and_leaves_an_empty_folder(sync: str, tmp_path: Path) -> None:
    """Conservation: all created files were deleted; transactions are pairs of operations."""
    given: dict[str, Value] = {"postmark_transactions": 2000, "postmark_bias_read": 3.5}
    with _session(one={"kind": "folder", "path": str(tmp_path)}) as system:
        config = {**_config(system), "seconds": 10.0, "requests": 0, "workload": "postmark"}
        run = system.run({**config, **given, "postmark_sync": sync}, seed=1)
        declared = {metric.name for metric in system.metrics(config)}
    values = run.values
    assert run.is_sound
    assert set(values) <= declared
    created = values["created_alone_count"] + values["created_mixed_count"]
    assert created == values["deleted_alone_count"] + values["deleted_mixed_count"]
    assert values["created_mixed_count"] + values["deleted_mixed_count"] == 2000
    assert values["achieved_read_share"] == pytest.approx(0.35, abs=0.05)
    assert (values["sync_count"] > 0) is (sync != "never")
    phases = values["creation_s"] + values["transactions_s"] + values["deletion_s"]
    assert values["run_s"] == pytest.approx(phases)
    (whole,) = [histogram for histogram in run.histograms if histogram.metric == "response_s"]
    assert whole.counts.sum() == 2000
    assert _is_empty(tmp_path)


def test_postmark_wants_a_folder_and_room_for_its_files() -> None:
    with _session(
        one={"kind": "file", "path": "{memory}"}, two={"kind": "folder", "path": "{memory}"}
    ) as system:
        config = {**_config(system), "seconds": 10.0, "requests": 0, "workload": "postmark"}
        with pytest.raises(StudyError, match="PostMark works on files"):
            system.run({**config, "target": "one"}, seed=1)
        huge = {**config, "target": "two", "postmark_high_bytes": 1 << 39}
        with pytest.raises(EnvironmentUnfitError, match="are free"):
            system.run(huge, seed=1)


def test_postmark_on_a_full_file_system_ends_with_its_part_marked(
    mount: Callable[..., Path],
) -> None:
    folder = mount("tmpfs", "-t", "tmpfs", "-o", "size=40m,nr_inodes=300")
    with _session(one={"kind": "folder", "path": str(folder)}) as system:
        config = {**_config(system), "seconds": 10.0, "requests": 0, "workload": "postmark"}
        run = system.run(config, seed=1)
    assert len(run.faults) == 1
    assert "No space left on device" in run.faults[0]
    assert _is_empty(folder)


def _observed(**observe: Any) -> StorageSystem:
    table = {"targets": {"none": {"kind": "nothing"}}, "observe": observe}
    return StorageSystem.load(msgspec.convert(table, StorageSetup), base=Path())


def test_the_machine_and_the_driver_are_observed() -> None:
    """The driver's processor time by the engine's own count, and by the kernel's."""
    system = _observed(interval_s=0.1, processes={"me": str(os.getpid())})
    config = config_of(system, seconds=0.5)
    run = system.run(config, seed=1)
    groups = ("machine.", "program.", "process.")
    observed = {name for name in run.values if name.startswith(groups)}
    assert observed <= {metric.name for metric in system.metrics(config)}
    by_engine = run.values["cpu_s_per_request"]
    assert run.values["program.cpu_s_per_op"] == pytest.approx(by_engine, rel=0.5)
    assert run.values["process.me.cpu.utilization"] > 0.0
    assert run.observed["machine.cpu"] == os.cpu_count()
    with _session(none={"kind": "nothing"}) as plain:
        assert system.fingerprint(config) != plain.fingerprint(config)


def test_a_rate_to_observe_by_is_refused() -> None:
    with pytest.raises(StudyError, match="the rate of a storage load is known"):
        _observed(throughput="iops")
