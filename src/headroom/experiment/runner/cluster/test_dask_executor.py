"""Chunks of a cluster whose results come before their ends."""

from types import SimpleNamespace
from typing import Any, cast

from headroom.experiment.runner.cluster.dask_executor import DaskExecutor
from headroom.experiment.runner.tasks import Task

TASK = Task(number=7, experiment="model", config={}, seed=1, replication=0)


def test_an_answered_chunk_that_has_not_ended_leaves_room_for_one_more() -> None:
    """Otherwise a session would end with replications that nothing runs."""
    client = SimpleNamespace(subscribe_topic=lambda *_: None)
    cluster = SimpleNamespace(client=client, worker_count=1, name="here")
    executor = DaskExecutor(cast("Any", cluster), cast("Any", None), has_time_limits=False)
    executor._open = {str(number): cast("Any", None) for number in range(2)}
    executor._unanswered = {TASK.number}
    assert executor.capacity == 0
    executor._unanswered.clear()
    assert executor.capacity == 1
