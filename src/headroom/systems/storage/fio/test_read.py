"""Options of a fio job file are translated, known to be harmless, or rejected with their line."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import StudyError
from headroom.systems.storage.fio import read_fio
from headroom.systems.storage.fio.job_file import ALIASES
from headroom.systems.storage.fio.known import INSTEAD, NO_CHANGE, ONLY_IF
from headroom.systems.storage.fio.numbers import seconds_of, size_of

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def experiments(folder: Path, text: str) -> list[dict[str, Any]]:
    file = folder / "job.fio"
    file.write_text(text, encoding="utf-8")
    study = tomllib.loads(read_fio(file, name="job", here=folder))
    tables: list[dict[str, Any]] = study["experiment"]
    return tables


def fixed(folder: Path, *lines: str) -> dict[str, Any]:
    """Return the parameters of a job of one gigabyte."""
    (experiment,) = experiments(folder, "\n".join(["[job]", "size=1g", *lines]))
    parameters: dict[str, Any] = experiment["fixed"]
    return parameters


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["rw=randread"], {"pattern": "random", "read_share": 1.0, "bytes": 1 << 30}),
        (["rw=write", "bs=1m"], {"pattern": "sequential", "read_share": 0.0}),
        (["readwrite=randrw", "rwmixread=70"], {"read_share": 0.7}),
        (["rw=randrw", "rwmixread=70", "rwmixwrite=90"], {"read_share": 0.1}),
        (["rw=rw"], {"pattern": "sequential", "read_share": 0.5}),
        (["rw=randtrim"], {"trim_share": 1.0, "read_share": 0.0}),
        (["bs=8k,4k", "rw=randwrite"], {"block_bytes": 4096}),
        (["bs=4kib"], {"block_bytes": 4000}),
        (["ioengine=libaio", "iodepth=32", "direct=1"], {"depth": 32, "direct": "yes"}),
        (["iodepth=32"], {"depth": 1, "interface": "threads", "direct": "no"}),
        (["buffered=0"], {"direct": "yes"}),
        (["numjobs=4"], {"streams": 4, "bytes": 4 << 30}),
        (["runtime=2m", "time_based"], {"seconds": 120.0}),
        (["runtime=10", "ramp_time=500ms"], {"seconds": 10.5, "bytes": 1 << 30}),
        (["rw=randwrite", "fdatasync=16"], {"sync": "fdatasync", "sync_every": 16}),
        (
            ["rw=randread", "rate_iops=1k", "rate_process=poisson"],
            {"load": "open", "rate": 1024.0, "law": "poisson"},
        ),
        (["rw=randrw", "rwmixread=70", "rate_iops=700,300"], {"rate": 1000.0}),
        (["rw=randread", "rate=4m", "numjobs=2"], {"rate": 2048.0, "law": "constant"}),
        (
            ["rw=randread", "random_distribution=zipf:0.8"],
            {"pattern": "zipf", "zipf_exponent": 0.8},
        ),
        (["rw=randread", "percentage_random=75"], {"sequential_share": 0.25}),
        (["rw=write", "buffer_compress_percentage=30"], {"compressible_share": 0.3}),
    ],
)
def test_what_a_job_says_is_asked(
    tmp_path: Path, lines: list[str], expected: dict[str, Any]
) -> None:
    asked = fixed(tmp_path, *lines)
    assert {name: asked.get(name) for name in expected} == expected


def test_a_job_without_time_based_ends_after_its_size_and_one_with_it_does_not(
    tmp_path: Path,
) -> None:
    assert "bytes" not in fixed(tmp_path, "runtime=1", "time_based=1")
    assert fixed(tmp_path, "io_size=2m", "runtime=1")["bytes"] == 2 << 20


def test_global_options_hold_for_the_jobs_behind_them(tmp_path: Path) -> None:
    text = (
        "[global]\nsize=1m\nbs=8k\n[a]\n[global]\nbs=16k\n"
        "[b]\nstonewall\n[c]\nwait_for_previous\nbs=4k\n"
    )
    sizes = [experiment["fixed"]["block_bytes"] for experiment in experiments(tmp_path, text)]
    assert sizes == [8192, 16384, 4096]


def test_jobs_of_like_names_become_experiments_of_different_names(tmp_path: Path) -> None:
    text = "[global]\nsize=1m\nstonewall\n[a b]\n[a-b]\n[7]\n[a b]\n"
    names = [experiment["name"] for experiment in experiments(tmp_path, text)]
    assert len(set(names)) == 4
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name) for name in names)


def test_a_file_that_is_there_is_the_target_and_a_new_one_is_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "mine.img").write_bytes(b"x" * 8192)
    places = ("filename=mine.img", "filename=new.img", "directory=.")
    text = "".join(f"[a]\nsize=8k\nstonewall\n{place}\n" for place in places)
    targets = [experiment["system"]["targets"]["fio"] for experiment in experiments(tmp_path, text)]
    assert [target["path"] for target in targets] == [
        str(tmp_path / "mine.img"), str(tmp_path), str(tmp_path)
    ]  # fmt: skip


def test_variables_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCK", "64k")
    assert fixed(tmp_path, "bs=${BLOCK}")["block_bytes"] == 65536


def test_what_changes_nothing_is_listed_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text("[a]\nsize=1m\ngroup_reporting\nfallocate=none ; comment\nloops=1\n")
    text = read_fio(file, name="job", here=tmp_path)
    comments = " ".join(line for line in text.splitlines() if line.startswith("#"))
    assert all(word in comments for word in ("group_reporting:", "fallocate=none", "loops=1"))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rw=randread:8", "has no counterpart"),
        ("rw=trimwrite", "has no counterpart"),
        ("bs=4k,8k\nrw=randrw", "several sizes"),
        ("bs=1.5k", "must be a list of numbers"),
        ("bssplit=4k/50:8k/50", "is not understood"),
        ("ioengine=rbd", "has no counterpart"),
        ("random_distribution=pareto:0.9\nrw=randread", "has no counterpart"),
        ("thinktime=10", "changes results"),
        ("sync=1", "changes results"),
        ("rate_iops=100\nrw=randrw\nrwmixread=70", "rate of reads and that of writes"),
        ("filename=a:b", "several places"),
        ("size=50%", "must be a whole number"),
        ("verify=crc32c", "only checksums of what the same job writes"),
        ("runtime=soon", "is not a time"),
        ("direct=yes", "neither 0 nor 1"),
        ("iodpeth=4", "is not understood"),
        ("bs=${NOT_SET_ANYWHERE}", "is not set"),
        ("iodepth=$ncpus", "filled in by fio"),
        ("include other.fio", "not an option of a section"),
        ("fsync=1\nfdatasync=1\nrw=write", "combined with fdatasync"),
    ],
)
def test_everything_else_is_refused_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    file = tmp_path / "job.fio"
    file.write_text(f"# first\n[job]\nsize=1m\n{line}\n", encoding="utf-8")
    with pytest.raises(StudyError, match=why) as refusal:
        read_fio(file, name="job", here=tmp_path)
    assert refusal.value.message.startswith(f"{file}:4: ")
    assert refusal.value.cure


def test_jobs_at_the_same_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"job.fio:3: `\[b\]`: runs at the same time as \[a\]"):
        experiments(tmp_path, "[a]\nsize=1m\n[b]\nsize=1m\n")


def test_a_job_without_a_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"job.fio:1: `\[a\]`: has no size"):
        experiments(tmp_path, "[a]\nrw=read\n")


@pytest.mark.deep
@needs_fio
@pytest.mark.parametrize("base", [1024, 1000])
def test_sizes_mean_what_fio_takes_them_for(tmp_path: Path, base: int) -> None:
    """Oracle: fio's own interpretation of the input."""
    texts = ["4", "4b", "4k", "4K", "4kb", "4ki", "4kib", "2m", "2MiB", "1g", "1t", "0x10"]
    for text in texts:
        file = tmp_path / "size.fio"
        file.write_text(f"[a]\nkb_base={base}\nio_size={text}\nsize=1m\n")
        argv = ["fio", "--parse-only", "--debug=parse", str(file)]
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        _, _, after = said.partition("__handle_option=io_size")
        match = re.search(r"ret=0, out=(\d+)", after)
        assert match is not None
        assert size_of(text, base) == int(match[1]), text


@pytest.mark.deep
@needs_fio
def test_times_mean_what_fio_takes_them_for(tmp_path: Path) -> None:
    """Oracle: fio's own interpretation of the input, in microseconds."""
    for text in ("10", "10s", "2m", "1h", "1d", "500ms", "10us", "10M"):
        file = tmp_path / "time.fio"
        file.write_text(f"[a]\nruntime={text}\nsize=1m\n")
        argv = ["fio", "--parse-only", "--debug=parse", str(file)]
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        _, _, after = said.partition("__handle_option=runtime")
        match = re.search(r"ret=0, out=(\d+)", after)
        assert match is not None
        seconds = seconds_of(text)
        assert seconds is not None
        assert round(seconds * 1e6) == int(match[1]), text


@needs_fio
def test_every_option_that_is_known_is_one_of_fio() -> None:
    said = subprocess.run(
        ["fio", "--cmdhelp=all"], capture_output=True, text=True, check=True
    ).stdout
    known = {line.split()[0].rstrip(":") for line in said.splitlines() if line.strip()}
    of_engines = {"hipri", "fixedbufs", "registerfiles", "nonvectored", "sqthread_poll"}
    ours = {*NO_CHANGE, *ONLY_IF, *INSTEAD, *ALIASES.values()} - of_engines
    assert ours <= known
