"""The command that asks on: only where something is open, and as `headroom size` reads it."""

import shlex
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from headroom.analysis.results import ExperimentResult, Factor, LimitCrossing
from headroom.experiment.protocol.system import Metric
from headroom.report.sentences.sizes import size_command
from headroom.sizing.space import parse_axis
from headroom.sizing.targets import parse_target

LIMIT = LimitCrossing(
    metric="response_s_p95", unit="s", at_most=0.2, at_least=None, factor="servers",
    where={"disk": "ssd"}, state="broken", kept="above", is_resource=True,
)  # fmt: skip


def study(limit: LimitCrossing, *levels: Any, count: int = 1) -> Any:
    factor = Factor(name="servers", unit="1", is_numeric=True, levels=[*levels])
    one = ExperimentResult(
        name="load", title="", system="model", column="model", factors=[factor], responses=[],
        points=[], limits=[limit],
    )  # fmt: skip
    return SimpleNamespace(experiments=[one] * count)


def test_where_no_level_is_enough_twice_the_highest_is_asked_for() -> None:
    text = size_command(study(LIMIT, 1, 2, 4, count=2), "my shop")
    words = shlex.split(text)
    assert words[:5] == ["headroom", "size", "my shop", "--experiment", "load"]
    given = dict(zip(words[5::2], words[6::2], strict=True))
    assert given["--set"] == "disk=ssd"
    assert parse_axis(given["--over"]).levels == tuple(range(1, 9))
    target = parse_target(given["--target"], [Metric(name="response_s_p95", unit="s")])
    assert (target.bound, target.is_floor) == (0.2, False)


@pytest.mark.parametrize(
    ("changed", "levels", "over"),
    [
        ({"state": "breaks", "breaks_at": 3.0, "holds_at": 8.0}, (1, 3, 8), "servers=1..8"),
        ({"state": "breaks", "breaks_at": 3.0, "holds_at": 4.0}, (1, 3, 4), ""),
        ({"state": "holds"}, (1, 2), ""),
        ({"is_resource": False}, (1, 2), ""),
        ({}, (0.5, 1), ""),
    ],
)
def test_what_lies_between_is_asked_for_and_what_is_known_is_not(
    changed: dict[str, Any], levels: tuple[Any, ...], over: str
) -> None:
    text = size_command(study(msgspec.structs.replace(LIMIT, **changed), *levels), "shop")
    assert text.endswith(f"--over {over}") if over else text == ""
