"""Points are found by what a reader sees of them."""

import pytest

from headroom.analysis.results import PointResult
from headroom.cli.session import _is_level


def point(**levels: object) -> PointResult:
    """Return a point with these levels and nothing else."""
    return PointResult(key="k", levels=levels, done=0, failed=0, planned=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["rate=250", "rate = 250.0", "rate=2.5e2", "is_fast=true",
                                  "is_fast=True", "codec=xz", "size=10,000"])  # fmt: skip
def test_a_level_is_known_however_it_is_written(word: str) -> None:
    """Cause: the float level 250 was compared as '250.0', and true as 'True'."""
    levels = {"rate": 250.0, "is_fast": True, "codec": "xz", "size": 10_000}
    assert _is_level(word, point(**levels))


@pytest.mark.parametrize(
    "word", ["rate=251", "rate", "speed=250", "is_fast=1", "codec=XZ", "rate="]
)
def test_other_levels_are_told_apart(word: str) -> None:
    assert not _is_level(word, point(rate=250.0, is_fast=True, codec="xz"))
