"""Metric units: converted on reading; rejected if name and value would disagree."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.systems.command.metric_units import check_unit
from headroom.systems.command.pick import check_metric, pick
from headroom.systems.command.setup_table import MetricTable


@pytest.mark.parametrize(
    ("metric", "kept", "base"),
    [
        (MetricTable(name="latency_s", unit="ms", regex=r"(\S+)"), 0.0125, "s"),
        (MetricTable(name="latency_s_p99", unit="us", regex=r"(\S+)"), 12.5e-6, "s"),
        (MetricTable(name="read_bytes_per_s", unit="KiB/s", regex=r"(\S+)"), 12800.0, "B/s"),
        (MetricTable(name="read_bytes", unit="B", scale=512, regex=r"(\S+)"), 6400.0, "B"),
        (MetricTable(name="requests_per_s", unit="k/s", regex=r"(\S+)"), 12500.0, "1/s"),
        (MetricTable(name="busy_share", unit="%", regex=r"(\S+)"), 0.125, "1"),
        (MetricTable(name="tps", unit="1/s", regex=r"(\S+)"), 12.5, "1/s"),
        (MetricTable(name="score", unit="points", regex=r"(\S+)"), 12.5, "points"),
    ],
)
def test_a_printed_value_is_kept_in_the_base_unit(
    tmp_path: Path, metric: MetricTable, kept: float, base: str
) -> None:
    check_metric(metric)
    output = tmp_path / "output"
    output.write_text("12.5\n")
    assert pick(metric, path=output) == pytest.approx(kept)
    assert metric.base_unit == base


@pytest.mark.parametrize(
    ("metric", "message", "hint"),
    [
        (MetricTable(name="p99", unit="ms"), "kept in s, but its name does not", '"p99_s"'),
        (MetricTable(name="latency_ms", unit="ms"), "name says `ms`", '"latency_s"'),
        (MetricTable(name="latency_ms", unit="s"), "name says `ms`", '"latency_s"'),
        (MetricTable(name="latency_ms"), "plain numbers, but its name says `ms`", 'unit = "ms"'),
        (MetricTable(name="rate_mb_per_s", unit="MB/s"), "says `mb`", '"rate_bytes_per_s"'),
        (MetricTable(name="cpu_percent", unit="%"), "says `percent`", '"cpu_share"'),
        (MetricTable(name="tps", unit="1/min"), "kept in 1/s", '"tps_per_s"'),
        (MetricTable(name="disk_bytes", unit="KiB", size_of="x"), "no unit `KiB`", 'unit = "B"'),
        (MetricTable(name="cost_s", unit="s", scale=2, quotient=["a", "b"]), "no scale", "remove"),
    ],
)
def test_a_name_that_says_another_unit_is_refused_with_a_better_one(
    metric: MetricTable, message: str, hint: str
) -> None:
    with pytest.raises(StudyError, match=message) as caught:
        check_unit(metric)
    assert hint in caught.value.cure
