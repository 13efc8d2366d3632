"""Settings that a system chose are reported as one of its choices."""

import numpy as np

from headroom.analysis.results import Estimate
from headroom.analysis.run.estimates import estimates_of
from headroom.analysis.statistics.intervals import Sample
from headroom.experiment.protocol.system import Metric

NODE = Metric(name="chosen_node_bytes", unit="B")
BATCH = Metric(name="chosen_batch", unit="1")
TIME = Metric(name="operation_s", unit="s")


def estimated(**values: list[float]) -> dict[str, Estimate]:
    samples = {
        name: Sample(values=np.array(found, dtype=np.float64), centre="median")
        for name, found in values.items()
    }
    return estimates_of([TIME, NODE, BATCH], samples)


def test_all_settings_are_those_of_the_most_frequent_choice() -> None:
    """Cause: medians one by one gave 768 B with a batch of 16, which no search had chosen."""
    found = estimated(
        operation_s=[1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 6e-9],
        chosen_node_bytes=[512, 4096, 512, 1024, 4096, 1024],
        chosen_batch=[8, 64, 16, 16, 64, 8],
    )
    node, batch = found["chosen_node_bytes"], found["chosen_batch"]
    assert (node.value, batch.value) == (4096.0, 64.0)
    assert (node.low, node.high, node.centre) == (None, None, "choice")
    assert found["operation_s"].value == 3.5e-9
    assert found["operation_s"].centre == "median"


def test_of_equally_frequent_choices_the_earliest_is_reported() -> None:
    found = estimated(chosen_node_bytes=[64.0, 8192.0], chosen_batch=[1.0, 32.0])
    assert [one.value for one in found.values()] == [64.0, 1.0]
