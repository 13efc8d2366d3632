"""What a journal holds about the inputs of runs is read with suspicion."""

from typing import Any

import pytest

from headroom.experiment.runner.seen_inputs import SEEN, is_sight


@pytest.mark.parametrize(
    "damaged",
    ["text", [1], {"of": 1}, {"of": "1", "points": {}, "texts": {}},
     {"of": 1, "points": {"key": "hash"}, "texts": {}}, {"of": 1, "points": {}, "texts": [""]}],
)  # fmt: skip
def test_damaged_content_is_no_sight(damaged: Any) -> None:
    assert not is_sight({SEEN: damaged})
    assert is_sight({SEEN: {"of": 1, "points": {"key": ["hash", "fingerprint"]}, "texts": {}}})
