"""Targets: bounds in base units, and messages for invalid targets."""

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Metric
from headroom.sizing.targets import parse_target

METRICS = (
    Metric(name="throughput", unit="1/s", better="high"),
    Metric(name="response_s_p95", unit="s", better="low"),
    Metric(name="station.cpu.utilization", unit="1"),
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("throughput>=100/s", 100.0),
        ("throughput >= 100", 100.0),
        ("throughput>=6000/min", 100.0),
        ("throughput>=0.1 k/s", 100.0),
        ("response_s_p95<=200ms", 0.2),
        ("response_s_p95 <= 0.2 s", 0.2),
        ("response_s_p95<=2e5us", 0.2),
        ("station.cpu.utilization<=80%", 0.8),
        ("station.cpu.utilization<=0.8", 0.8),
    ],
)
def test_a_target_is_kept_in_the_base_unit(text: str, bound: float) -> None:
    assert parse_target(text, METRICS).bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("text", "why", "cure"),
    [
        ("throughput", "cannot be read", "throughput>=100/s"),
        ("throughput>100", "cannot be read", "throughput>=100/s"),
        ("thruput>=100", "no metric 'thruput'", "throughput"),
        ("response_s_p95<=200/s", "cannot be given in '/s'", "ms"),
        ("response_s_p95>=200ms", "wrong direction", "<="),
        ("throughput<=5", "wrong direction", ">="),
        ("throughput>=1e", "cannot be given in 'e'", "/s"),
        ("throughput>=nan", "cannot be read", "throughput>=100/s"),
    ],
)
def test_a_wrong_target_says_what_is_wrong_and_what_to_write(
    text: str, why: str, cure: str
) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        parse_target(text, METRICS)
    assert cure in caught.value.cure


def test_p95_suggests_the_response_time() -> None:
    with pytest.raises(StudyError) as caught:
        parse_target("p95<=200ms", [Metric(name="response_s_p95", unit="s")])
    assert "did you mean 'response_s_p95'?" in caught.value.cure
