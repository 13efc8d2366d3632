"""Counters of the machine around a measured replication, from synthetic trees of /proc."""

from pathlib import Path

import pytest

from headroom.experiment.conftest import MakePlan
from headroom.experiment.machine.machine_watch import PREFIX, Watch, busy_words, watched
from headroom.experiment.runner.test_runner import counted_rows
from tests.support.study_sessions import run_study

BEFORE = {
    "proc/stat": "cpu 9 9 9 9 9 9 9 9\ncpu0 100 0 50 900 10 0 5 20 7 0\ncpu1 0 0 0 0 0 0 0 0\n"
    "cpu2 1 1 1 1 1 1 1 1\nintr 5\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    "proc/vmstat": "nr_free_pages 5\npswpin 10\npswpout 20\n",
}
AFTER = {
    "proc/stat": "cpu 9 9 9 9 9 9 9 9\ncpu0 200 0 150 900 10 0 5 70 7 0\ncpu1 100 0 0 9 0 0 0 0\n"
    "cpu2 9 9 9 9 9 9 9 9\nintr 9\n",
    "proc/pressure/cpu": "some avg10=9.00 avg60=0.00 avg300=0.00 total=1250000\n",
    "proc/vmstat": "nr_free_pages 6\npswpin 15\npswpout 120\n",
}
STAT = "nr_periods {}\nnr_throttled {}\nthrottled_time 5\n"


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def counters(root: Path, after: dict[str, str]) -> dict[str, float]:
    """Return the counters of a time in which the files of a machine changed."""
    with watched(Watch(root, frozenset({0, 1}))) as seen:
        write(root, after)
    return {name.removeprefix(PREFIX): value for name, value in seen.counters.items()}


def test_the_counters_of_the_usable_processors_are_what_changed(tmp_path: Path) -> None:
    write(tmp_path, BEFORE)
    counted = counters(tmp_path, AFTER)
    assert counted["busy_s"] == pytest.approx(3.0)  # 300 ticks of 10 ms, of processors 0 and 1
    assert counted["steal_s"] == pytest.approx(0.5)
    assert counted["cpu_wait_s"] == pytest.approx(0.25)
    assert counted["swapped_pages"] == 105.0


@pytest.mark.parametrize(
    ("group", "folder"),
    [
        ("0::/box\n", "sys/fs/cgroup/box"),
        ("3:cpu,cpuacct:/box\n", "sys/fs/cgroup/cpu/box"),
        ("3:cpu:/box\n", "sys/fs/cgroup/cpu"),
    ],
    ids=["version 2", "version 1", "version 1, in a container"],
)
def test_periods_of_a_quota_that_was_used_up_are_counted(
    group: str, folder: str, tmp_path: Path
) -> None:
    write(tmp_path, {"proc/self/cgroup": group, "sys/fs/cgroup/cgroup.controllers": "cpu"})
    write(tmp_path, {f"{folder}/cpu.stat": STAT.format(100, 7)})
    counted = counters(tmp_path, {f"{folder}/cpu.stat": STAT.format(120, 12)})
    assert (counted["throttled_periods"], counted["quota_periods"]) == (5.0, 20.0)


def test_what_a_machine_does_not_publish_is_absent(tmp_path: Path) -> None:
    assert set(counters(tmp_path, {})) == {"span_s", "own_busy_s", "cpu_count"}


@pytest.mark.parametrize(
    ("pressure", "load", "is_busy"),
    [("4.00", "90", False), ("35.00", "0.1", True), ("", "900", True), ("", "0.1", False)],
)
def test_a_machine_is_busy_if_tasks_wait_for_it(
    pressure: str, load: str, *, is_busy: bool, tmp_path: Path
) -> None:
    files = {"proc/loadavg": f"{load} 0 0 1/2 3"}
    if pressure:
        files["proc/pressure/cpu"] = f"some avg10={pressure} avg60=0 avg300=0 total=1"
    write(tmp_path, files)
    said = busy_words(tmp_path)
    assert bool(said) is is_busy
    if pressure and is_busy:
        assert f"load {load}" in said
        assert "35% of the last 10 s" in said


def test_every_measured_run_has_the_counters_and_no_simulated_one(plan_of: MakePlan) -> None:
    for system, is_measured in (("fake-measure", True), ("fake-model", False)):
        plan = plan_of(
            f'[[experiment]]\nname = "e"\nsystem = {{ name = "{system}" }}\n'
            "fixed = { users = 1, rate = 1 }\nreplications = { count = 1 }\n"
        )
        run_study(plan)
        (row,) = counted_rows(plan)
        assert row.run is not None
        assert any(name.startswith(PREFIX) for name in row.run.counters) is is_measured
