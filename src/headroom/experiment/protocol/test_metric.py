"""Declarations of metrics: a wrong one is an error that names its line."""

import inspect
import re

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Metric


def test_a_metric_with_a_wrong_direction_names_the_line_that_declares_it() -> None:
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr] # CPython has frames
    with pytest.raises(StudyError, match=re.escape(f"{__file__}:{line}: metric `speed`")) as found:
        Metric(name="speed", unit="1/s", better="bigger")  # type: ignore[arg-type] # on purpose
    assert found.value.cure == "write one of high, low, none"
