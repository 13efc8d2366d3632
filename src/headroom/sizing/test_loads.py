"""Factors that raise the load: said where servers grow too, refused where nothing serves more."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.sizing.loads import said_of_loads
from headroom.sizing.space import Space, parse_axis
from headroom.sizing.targets import Target
from headroom.sizing.test_size import subject_of

SOON = Target(metric="response_s_mean", unit="s", bound=1.0, is_floor=False)
MUCH = Target(metric="throughput", unit="1/s", bound=1.0, is_floor=True)


def said(model: str, *over: str, target: Target = SOON) -> list[str]:
    axes = tuple(map(parse_axis, over))
    space = Space(axes, {axis.name: 1.0 for axis in axes})
    return said_of_loads(subject_of({"model": model}, Path.cwd()), space, [target])


def test_servers_that_bring_their_load_are_named_with_the_factor_that_holds_it() -> None:
    (text,) = said("mmc", "servers=2..6")
    assert "grow 3 times from servers = 2 to 6" in text
    assert text.endswith("--set servers=VALUE --over station.server.servers=2..6.")
    assert said("mmc", "station.server.servers=2..6") == []
    assert said("central_server", "disks=2..6", "cpus=1..2") == []


@pytest.mark.parametrize("factor", ["users=1..9", "users=5,7"])
def test_users_are_no_cure_for_a_response_time_and_may_be_asked_for_throughput(factor: str) -> None:
    with pytest.raises(StudyError, match="users is a load here: jobs of class"):
        said("interactive", factor)
    assert said("interactive", factor, target=MUCH) == []
