"""The order of work: randomised blocks that are independent of everything else."""

from hypothesis import given
from hypothesis import strategies as st

from headroom.experiment.conftest import MakePlan
from headroom.experiment.runner.schedule import Planned, Schedule
from headroom.experiment.study.plan import Plan

STUDY = (
    "[[experiment]]\nname = 'load'\nsystem.name = 'fake-model'\nreplications.count = 3\n"
    "factors.users = { from = 1, to = 8, step = 1 }\n"
)


def schedule_of(plan: Plan, done: dict[str, frozenset[int]] | None = None) -> Schedule:
    points = ((experiment, point) for experiment in plan.experiments for point in experiment.points)
    return Schedule(points, done=done or {}, seed=plan.seed)


def taken(schedule: Schedule) -> list[tuple[int, str]]:
    order = []
    while schedule:
        planned = schedule.take()
        order.append((planned.replication, planned.point.key))
    return order


def test_the_order_is_the_same_each_time(plan_of: MakePlan) -> None:
    plan = plan_of(STUDY)
    assert taken(schedule_of(plan)) == taken(schedule_of(plan))


def test_another_seed_gives_another_order(plan_of: MakePlan) -> None:
    keys = [
        [plan.experiments[0].points.index(point) for _, point in _points(plan)]
        for plan in (plan_of(STUDY), plan_of(STUDY, seed=8))
    ]
    assert keys[0] != keys[1]


def _points(plan: Plan) -> list[tuple[int, object]]:
    by_key = {point.key: point for point in plan.experiments[0].points}
    return [(number, by_key[key]) for number, key in taken(schedule_of(plan))]


def test_finished_replications_do_not_move_the_others(plan_of: MakePlan) -> None:
    plan = plan_of(STUDY)
    whole = taken(schedule_of(plan))

    @given(st.sets(st.sampled_from(whole)))
    def check(finished: set[tuple[int, str]]) -> None:
        done = {
            point.key: frozenset(number for number, key in finished if key == point.key)
            for point in plan.experiments[0].points
        }
        assert taken(schedule_of(plan, done)) == [step for step in whole if step not in finished]

    check()


def test_experiments_are_interleaved(plan_of: MakePlan) -> None:
    plan = plan_of(STUDY + STUDY.replace("load", "soak"))
    schedule = schedule_of(plan)
    first_block = [schedule.take().point.experiment for _ in range(16)]
    assert first_block != sorted(first_block)
    assert first_block.count("load") == 8


def test_a_gap_in_an_open_ended_point_is_filled(plan_of: MakePlan) -> None:
    text = STUDY.replace("count = 3", "metric = 'throughput'\nreplications.half_width = 0.1")
    plan = plan_of(text.replace("to = 8", "to = 2") + "replications.minimum = 2")
    point, other = plan.experiments[0].points
    done = {point.key: frozenset({0, 1, 2, 5}), other.key: frozenset({0, 1})}
    schedule = schedule_of(plan, done)
    assert sorted(taken(schedule)) == [(3, point.key), (4, point.key)]
    assert [state.point.key for state in schedule.settled()] == [other.key]


def test_giving_up_drops_what_waits_of_one_point(plan_of: MakePlan) -> None:
    plan = plan_of(STUDY.replace("to = 8", "to = 2"))
    schedule = schedule_of(plan)
    first = schedule.take()
    state = schedule.finish(first, is_done=False)
    assert schedule.give_up(state) == 2
    assert state.open_count == 0
    assert {key for _, key in taken(schedule)} == {
        point.key for point in plan.experiments[0].points if point.key != first.point.key
    }


def test_the_next_replication_follows_the_last_one_tried(plan_of: MakePlan) -> None:
    text = STUDY.replace("count = 3", "metric = 'throughput'\nreplications.half_width = 0.1")
    plan = plan_of(text.replace("to = 8", "to = 2") + "replications.minimum = 3")
    schedule = schedule_of(plan)
    key = plan.experiments[0].points[0].key
    order = [schedule.take() for _ in range(6)]
    for planned in order:
        schedule.finish(planned, is_done=planned.replication != 2)
    schedule.add_next(schedule.state(key))
    again: Planned = schedule.take()
    assert (again.point.key, again.replication) == (key, 3)


def test_everything_up_to_the_next_look_is_scheduled_at_once(plan_of: MakePlan) -> None:
    text = STUDY.replace("count = 3", "metric = 'throughput'\nreplications.half_width = 0.1")
    plan = plan_of(text.replace("to = 8", "to = 2") + "replications.maximum = 9")
    key = plan.experiments[0].points[0].key
    done = {point.key: frozenset(range(5)) for point in plan.experiments[0].points}
    for look, expected in ((8, [5, 6, 7]), (12, [5, 6, 7, 8]), (0, [5])):
        schedule = schedule_of(plan, done)
        state = schedule.state(key)
        state.next_look = look
        assert schedule.add_next(state) == len(expected) == state.open_count
        assert taken(schedule) == [(number, key) for number in expected]


def test_refusing_an_experiment_leaves_the_others(plan_of: MakePlan) -> None:
    plan = plan_of(STUDY.replace("to = 8", "to = 2") + STUDY.replace("load", "soak"))
    refused, other = plan.experiments
    schedule = schedule_of(plan, {refused.points[0].key: frozenset({0})})
    firsts, dropped = schedule.refuse("load")
    assert {(first.point.key, first.replication) for first in firsts} == {
        (refused.points[0].key, 1),
        (refused.points[1].key, 0),
    }
    assert dropped == 3
    assert all(schedule.finish(first, is_done=False).open_count == 0 for first in firsts)
    assert {key for _, key in taken(schedule)} == {point.key for point in other.points}
