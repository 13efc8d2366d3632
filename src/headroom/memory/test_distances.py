"""Stack distances against simulated caches, and how far off a sample is."""

import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.memory import Level, Machine, pack, simulate, stack_distances


def skewed(count: int = 200_000, lines: int = 20_000, *, seed: int = 1) -> bytes:
    """Return uses of lines by a power law, mixed with a scan over all of them."""
    random = np.random.default_rng(seed)
    popular = (lines * random.power(0.3, count)).astype(np.int64)
    scan = np.arange(count) % lines
    return pack(64 * np.where(random.random(count) < 0.7, popular, scan))


@pytest.mark.parametrize("size", [1, 2, 16, 100, 1024, 16384])
def test_one_pass_gives_the_misses_of_every_size(size: int) -> None:
    stream = skewed(20_000)
    cache = Level(name="L1", bytes=64 * size, ways=0)
    misses = simulate(stream, Machine(levels=[cache])).levels[0].misses
    assert stack_distances(stream).miss_ratio([size])[0] == pytest.approx(
        misses / 20_000, abs=1e-12
    )


def test_a_sample_is_near_the_whole() -> None:
    """2,000 of 20,000 lines count; SHARDS reports 0.01 with some thousand lines."""
    sizes = np.array([64, 256, 1024, 4096, 16384])
    errors = []
    for seed in range(20):
        stream = skewed(seed=seed)
        whole = stack_distances(stream).miss_ratio(sizes)
        sampled = stack_distances(stream, rate=0.1)
        assert 1700 < sampled.first_count < 2300
        errors.append(np.abs(sampled.miss_ratio(sizes) - whole).mean())
    assert np.mean(errors) < 0.02
    assert np.max(errors) < 0.05


def test_the_curve_never_rises_and_ends_at_first_uses() -> None:
    found = stack_distances(skewed())
    ratios = found.miss_ratio(np.arange(0, 30_000, 100))
    assert (np.diff(ratios) <= 1e-12).all()
    assert ratios[0] == 1.0
    assert ratios[-1] == found.first_count / found.access_count


def test_fetches_do_not_count_and_long_accesses_use_all_their_lines() -> None:
    found = stack_distances(pack([0, 0, 60], kinds=[0, 3, 0], sizes=[4, 4, 8]))
    assert (found.access_count, found.first_count) == (3, 2)


@pytest.mark.parametrize(("line", "rate"), [(48, 1.0), (0, 1.0), (64, 0.0), (64, 1.5)])
def test_impossible_distances_are_refused(line: int, rate: float) -> None:
    with pytest.raises(StudyError, match="lines of"):
        stack_distances(b"", line_bytes=line, rate=rate)


@pytest.mark.parametrize("wrong", [{"addresses": [2**60]}, {"kinds": 4}, {"sizes": 65}])
def test_what_cannot_be_packed_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(StudyError, match="is outside"):
        pack(**{"addresses": [0], **wrong})  # type: ignore[arg-type]


def test_an_empty_stream_misses_nothing() -> None:
    assert stack_distances(b"").miss_ratio([1, 10]).tolist() == [0.0, 0.0]
