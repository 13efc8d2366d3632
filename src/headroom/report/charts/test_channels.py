"""The scale of a chart fits its data, and never takes the logarithm of zero."""

from headroom.report.charts.channels import roomy_scale, value_scale


def rows(*values: float, low: float = 0.9) -> list[dict[str, float]]:
    """Return rows of a chart whose intervals begin at `low` times the value."""
    return [{"value": value, "from": low * value, "to": 1.1 * value} for value in values]


def test_values_far_apart_stand_on_a_log_scale() -> None:
    assert value_scale(rows(1, 1000), "response_s_mean")["scale"]["type"] == "log"


def test_an_interval_that_reaches_zero_stands_on_a_straight_scale() -> None:
    """Cause: only the values were looked at, and the chart was empty (its domain not-a-number)."""
    for low in (0.0, -0.1):
        assert "type" not in value_scale(rows(1, 1000, low=low), "response_s_mean")["scale"]


def test_rare_losses_are_seen_and_utilizations_reach_up_to_all() -> None:
    """Cause: a loss of 0.3% was drawn on a scale up to 100%."""
    assert "domain" not in value_scale(rows(0.1, 0.3), "class.a.lost_ratio")["scale"]
    assert value_scale(rows(10, 60), "class.a.lost_ratio")["scale"]["domain"] == [0, 103]
    assert value_scale(rows(0.1, 0.3), "station.a.utilization")["scale"]["domain"] == [0, 103]


def test_the_room_at_the_end_of_an_axis_shows_no_number_below_zero() -> None:
    assert roomy_scale([0.0, 0.0], 24)["domain"] == [0, 1]
    assert roomy_scale([2.0, 10.0], 24)["domain"][0] == 0
    assert "domain" not in roomy_scale([8.0, 10.0], 24)
    assert "domain" not in roomy_scale([-2.0, 10.0], 24)


def test_a_small_share_of_the_tool_is_seen() -> None:
    """Cause: a tool share of 1% lay on the axis of a scale up to 100%."""
    assert "domain" not in value_scale(rows(0.5, 1.0), "tool_share")["scale"]
    assert value_scale(rows(10, 60), "tool_share")["scale"]["domain"] == [0, 103]
