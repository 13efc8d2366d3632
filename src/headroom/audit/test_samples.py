"""Results of real tools, sound and spoilt: see tests/data/audit/README.md."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from headroom.audit.audit import Audit, Given, audit
from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.fio_log import _bounds_s
from headroom.audit.readers.recognise import formats, read_results
from headroom.audit.result import Level, Log, Result, Stated
from headroom.audit.shown import lines, verdict
from headroom.errors import HeadroomError

DATA = Path(__file__).parents[3] / "tests" / "data" / "audit"
SOUND = sorted(path.name for path in (DATA / "sound").iterdir())
SPOILT = {
    "ab_failed.txt": {"failures"},
    "benchbase_failures.json": {"failures"},
    "fio_bins_stalled_clat_hist.1.log": {"omission", "pauses"},
    "fio_psync_cached.json": {"fio", "omission"},
    "fio_stalled_lat.1.log": {"omission"},
    "fio_windows_stalled_iops.1.log": {"pauses"},
    "fio_windows_stalled_lat.1.log": {"pauses"},
    "fio_windows_warming_iops.1.log": {"steady state"},
    "fio_windows_warming_lat.1.log": {"steady state"},
    "hammerdb_counted_twice.txt": {"Little's law"},
    "hey_failed.txt": {"failures"},
    "hyperfine_cold.json": {"repeated runs"},
    "hyperfine_short.json": {"repeated runs"},
    "hyperfine_two_modes.json": {"repeated runs"},
    "k6_dropped.json": {"offered load", "omission"},
    "k6_stalled.json": {"omission"},
    "one_ceiling.csv": {"ceiling", "Little's law"},
    "pgbench_hot.txt": {"pgbench"},
    "pgbench_log_rate_stalled.txt": {"Little's law"},
    "pgbench_log_stalled.txt": {"omission"},
    "pgbench_rate_stalled.txt": {"Little's law"},
    "swapped_column.csv": {"Little's law", "mean"},
    "vegeta_closed.json": {"offered load"},
    "vegeta_stalled.csv": {"omission"},
    "vegeta_stalled.json": {"omission"},
    "vegeta_text_failed.txt": {"failures"},
}
IMPOSSIBLE = {"hammerdb_counted_twice.txt", "swapped_column.csv"}
PROVEN = {
    "ab_failed.txt", "benchbase_failures.json", "fio_stalled_lat.1.log", "hey_failed.txt",
    "k6_dropped.json", "vegeta_text_failed.txt",
    "pgbench_log_stalled.txt", "vegeta_closed.json", "vegeta_stalled.csv",
}  # fmt: skip
"""Files that contradict themselves, and files that prove what misleads in them."""
FORMATS = {
    "k6_stream.csv": "k6-csv", "k6_stream.json": "k6-json", "systems.csv": "csv",
    "vegeta_encoded.json": "vegeta-json", "vegeta_hdrplot.txt": "vegeta-hdrplot",
    "pgbench_log.txt": "pgbench-log", "vegeta_open_over_stall.csv": "vegeta-csv",
    "wrk2.txt": "wrk", "wrk2_over_stall.txt": "wrk", "wrk_over_stall.txt": "wrk",
    "fio_mixed.json": "fio", "fio_status.json": "fio", "fio_terse.txt": "fio-terse",
    "fio_text.txt": "fio-text", "vegeta_text.txt": "vegeta-text",
    "vegeta_open_over_stall.json": "vegeta",
}  # fmt: skip
"""Formats of files whose names do not begin with theirs."""


def audited(path: Path, given: Given = Given()) -> Audit:  # noqa: B008 - immutable
    return audit([given.added_to(one) for one in read_results(path)[1]])


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_result_is_recognised_and_raises_no_doubt(name: str) -> None:
    kind, _ = read_results(DATA / "sound" / name)
    is_log = name.endswith(".log")
    assert kind == ("fio-log" if is_log else FORMATS.get(name, Path(name).stem))
    found = audited(DATA / "sound" / name)
    assert not found.findings
    few = {"vegeta_hdrplot.txt", "go.txt"}
    assert len(found.done) >= (2 if is_log or name in few else 4)


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_result_is_found_by_the_check_that_its_fault_breaks(name: str) -> None:
    given = Given(offered=5000.0, clients=4.0) if name == "vegeta_closed.json" else Given()
    found = audited(DATA / "spoilt" / name, given)
    assert {one.check for one in found.findings} - {"samples"} == SPOILT[name]
    assert bool(found.contradictions) == (name in IMPOSSIBLE)
    assert bool(found.of(Level.MISLEADING)) == (name in PROVEN)


@pytest.mark.parametrize("name", SOUND)
def test_no_two_formats_fit_a_file_so_their_order_says_nothing(name: str) -> None:
    found, _ = formats()
    fitting = []
    for wanted in found:
        with suppress(UnreadableError):
            read_results(DATA / "sound" / name, wanted)
            fitting.append(wanted)
    own = [one for one in fitting if not found[one].is_general]
    assert len(own) == 1 or (not own and fitting[0] == "csv")


def test_every_sample_is_in_a_test() -> None:
    assert {path.name for path in (DATA / "spoilt").iterdir()} == SPOILT.keys()


def test_the_means_and_rates_of_a_sample_are_those_that_its_tool_printed() -> None:
    """Oracle: the numbers were read off the files by eye."""
    wrk = read_results(DATA / "sound" / "wrk2.txt")[1][0]
    text = (DATA / "sound" / "wrk2.txt").read_text(encoding="utf-8")
    assert f"{wrk.count} requests in" in text
    assert wrk.throughput is not None
    assert f"{wrk.throughput.value:.2f}\n" in text
    fio = read_results(DATA / "sound" / "fio_mixed.json")[1]
    assert [one.name for one in fio] == ["sound read", "sound write"]
    assert [one.clients for one in fio] == [8.0, 8.0]
    assert all(one.clients_vary for one in fio)


def as_read(result: Result) -> Iterator[str]:
    """Yield what a file says of a result, field by field; of arrays their size and a sum."""
    for one in fields(result):
        value = getattr(result, one.name)
        if one.name in {"source", "version", "settings"} or value is None:
            continue
        if isinstance(value, Log):
            value = f"{len(value.ends_s)} responses, {np.dot(value.ends_s, value.response_s):.6g}"
        elif isinstance(value, np.ndarray):
            value = f"{value.size}, {np.dot(value, np.arange(1, value.size + 1)):.6g}"
        elif isinstance(value, Stated):
            value = shown(value)
        elif one.name == "percentiles":
            value = ", ".join(
                f"{share:.6g}: {shown(of)}" for share, of in sorted(value.items())[-4:]
            )
        elif isinstance(value, float):
            value = f"{value:.6g}"
        if value and str(value) not in {"0", "0, 0"}:
            yield f"{one.name} = {value}"


def shown(value: Stated) -> str:
    return f"{value.value:.6g} +- {value.error:.3g}"


def test_what_is_read_and_said_of_each_sample_is_what_was_seen_to_be_right() -> None:
    """A change of `said.txt` is a change of what users are told: read it before you keep it.

    HEADROOM_RENEW=1 writes it.
    """
    said = []
    for path in [*sorted((DATA / "sound").iterdir()), *sorted((DATA / "spoilt").iterdir())]:
        found = audited(path)
        said.append(f"# {path.parent.name}/{path.name}\n{verdict(found)}")
        said += [text for text, _ in lines(found) if text]
        for result in read_results(path)[1]:
            said.append("  " + "; ".join(as_read(result)))
    kept = DATA / "said.txt"
    if os.environ.get("HEADROOM_RENEW"):
        kept.write_text("\n".join(said) + "\n", encoding="utf-8")
    assert kept.read_text(encoding="utf-8").splitlines() == "\n".join(said).splitlines()


def test_hammerdb_is_read_in_seconds_and_its_deviation_in_microseconds() -> None:
    """Oracle: 8484 new orders of 3.167 ms, and 8184 a minute, as HammerDB printed them."""
    results = {r.name: r for r in read_results(DATA / "sound" / "hammerdb.txt")[1]}
    assert results.keys() > {"new orders", "transactions", "NEWORD", "all procedures"}
    orders, calls = results["new orders"], results["NEWORD"]
    assert (calls.count, calls.version, calls.clients) == (8484, "v4.12", 1.0)
    for stated, value, error in (
        (orders.throughput, 8184 / 60, 0.5 / 60),
        (calls.mean, 3.167e-3, 0.5e-6),
        (calls.stdev, 4947.611e-6, 0.5e-9),
    ):
        assert stated is not None
        assert (stated.value, stated.error) == pytest.approx((value, error))


def test_logs_of_one_load_on_like_devices_agree_on_what_it_was() -> None:
    """Oracle: four servers with a mean of 10 ms, of which fio keeps eight requests in flight."""
    names = ("fio_lat.1.log", "fio_bins_clat_hist.1.log", "fio_windows_iops.1.log")
    single, bins, rates = (read_results(DATA / "sound" / name)[1][0] for name in names)
    for one in (single, bins, rates):
        assert one.throughput is not None
        assert one.throughput.value == pytest.approx(400.0, rel=0.1)
    for one in (single, bins):
        assert one.mean is not None
        assert one.mean.value == pytest.approx(8 / 400.0, rel=0.1)
        assert one.percentiles[0.5].value == pytest.approx(8 / 400.0, rel=0.1)
    windows = read_results(DATA / "sound" / "fio_windows_lat.1.log")[1][0]
    assert windows.responses_s.mean() == pytest.approx(8 / 400.0, rel=0.1)
    assert windows.mean is None


def test_a_log_of_fio_that_is_cut_or_renamed_is_refused_with_what_to_do(tmp_path: Path) -> None:
    text = (DATA / "sound" / "fio_windows_lat.1.log").read_text(encoding="utf-8")
    renamed, cut = tmp_path / "mine.log", tmp_path / "cut_lat.1.log"
    renamed.write_text(text)
    cut.write_text(text[:-14])
    with pytest.raises(HeadroomError, match="keep the ending of fio's name"):
        read_results(renamed)
    with pytest.raises(HeadroomError, match="a row of fio's log is incomplete"):
        read_results(cut)


@pytest.mark.parametrize("coarseness", [0, 2, 4, 6])
def test_the_bins_of_fio_double_their_width_with_each_power_of_two(coarseness: int) -> None:
    low, high = _bounds_s(29 * 64 >> coarseness)
    assert np.all(low[1:] == high[:-1])
    assert high[-1] == pytest.approx(2.0**34 * 1e-9, rel=1e-12)
    widths = (high - low) / 2.0**coarseness
    assert np.all(widths <= np.maximum(low / 64, 1e-9) * (1.0 + 1e-9))
