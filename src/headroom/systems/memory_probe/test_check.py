"""The check of counters judges what can be read, and names why others cannot."""

from pathlib import Path

from headroom.systems.memory_probe.check import check_counters


def test_counters_are_judged_by_what_can_be_read(tmp_path: Path) -> None:
    allowed: dict[str, float | str] = {"cycles": 1.0, "llc_misses": "this machine has none"}
    (some,) = check_counters(tmp_path, allowed)
    assert (some.verdict, some.state[:6]) == ("fine", "cycles")
    (none,) = check_counters(tmp_path, {"cycles": "not permitted: see perf_event_paranoid"})
    assert none.verdict == "costs accuracy"
    assert "sysctl kernel.perf_event_paranoid" in none.cure
