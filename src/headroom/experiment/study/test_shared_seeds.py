"""A prediction takes the seeds of the measurement it is compared with, point by point."""

import pytest

from headroom.errors import StudyError
from headroom.experiment.conftest import MakePlan

MEASURED = """
[[experiment]]
name = "measured"
system.name = "fake-measure"
factors.users = [1, 2]
"""
FORESEEN = """
[[experiment]]
name = "foreseen"
system.name = "fake-model"
seeds_of = "{of}"
factors.users = [{users}]
"""


def test_points_with_the_same_levels_have_the_same_seeds(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURED + FORESEEN.format(of="measured", users="2, 1"))
    measured, foreseen = plan.named("measured"), plan.named("foreseen")
    for point in foreseen.points:
        (other,) = (candidate for candidate in measured.points if candidate.levels == point.levels)
        seeds = [point.seed(plan.seed, replication) for replication in range(3)]
        assert seeds == [other.seed(plan.seed, replication) for replication in range(3)]
        assert point.key != other.key
    assert len({point.seed(plan.seed, 0) for point in foreseen.points}) == 2


def test_without_it_every_point_has_seeds_of_its_own(plan_of: MakePlan) -> None:
    own = FORESEEN.replace('seeds_of = "{of}"\n', "").format(users="1, 2")
    plan = plan_of(MEASURED + own)
    points = [*plan.named("measured").points, *plan.named("foreseen").points]
    assert len({point.seed(plan.seed, 0) for point in points}) == 4


@pytest.mark.parametrize(
    ("of", "users", "message"),
    [
        ("measurd", "1", "there is no other experiment 'measurd'"),
        ("foreseen", "1", "there is no other experiment 'foreseen'"),
        ("measured", "1, 3", "'measured' has no point with users = 3"),
    ],
)
def test_what_has_no_seeds_to_take_is_refused(
    plan_of: MakePlan, of: str, users: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message) as error:
        plan_of(MEASURED + FORESEEN.format(of=of, users=users))
    assert "seeds_of" in error.value.message
    assert error.value.cure
