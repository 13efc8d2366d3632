"""Levels of machines whose truth is known."""

import numpy as np
import pytest

from headroom.systems.memory_probe.levels import Curve, fit_curve

SIZES = [float(2**k * odd // 2) for k in range(12, 28) for odd in (2, 3)]
LAPTOP = [(32 * 2**10, 2.5e-9), (2**20, 9e-9), (24 * 2**20, 70e-9)]


def latencies(
    steps: list[tuple[int, float]], *, first: float = 1.2e-9, noise: float = 0.0, seed: int = 0
) -> list[float]:
    random = np.random.default_rng(seed)
    exact = [first + sum(h * max(0.0, 1 - c / size) for c, h in steps) for size in SIZES]
    return [value * float(random.lognormal(0.0, noise)) for value in exact]


def found(steps: list[tuple[int, float]], **more: float) -> Curve:
    return fit_curve(SIZES, latencies(steps, **more))  # type: ignore[arg-type]


def test_levels_without_noise_are_exact() -> None:
    curve = found(LAPTOP)
    assert len(curve.steps) == 3
    for step, (size, height) in zip(curve.steps, LAPTOP, strict=True):
        assert step.bytes == pytest.approx(size, rel=0.05)
        assert step.height == pytest.approx(height, rel=0.05)
        assert step.low <= 1.05 * size
        assert step.high >= 0.95 * size
    assert curve.first == pytest.approx(1.2e-9, rel=0.01)


@pytest.mark.deep
def test_levels_are_found_in_noise() -> None:
    """3% of noise: the number of levels and the capacities are right in nine of ten machines."""
    right = 0
    for seed in range(60):
        curve = found(LAPTOP, noise=0.03, seed=seed)
        right += len(curve.steps) == 3 and all(
            0.75 < step.bytes / size < 1.33
            for step, (size, _) in zip(curve.steps, LAPTOP, strict=True)
        )
    assert right >= 54


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_machine_without_one_of_the_levels(missing: int) -> None:
    steps = [one for place, one in enumerate(LAPTOP) if place != missing]
    curve = found(steps, noise=0.01)
    assert len(curve.steps) == 2
    for step, (size, _) in zip(curve.steps, steps, strict=True):
        assert step.bytes == pytest.approx(size, rel=0.25)


def test_a_flat_curve_has_no_level() -> None:
    for seed in range(20):
        assert found([], noise=0.03, seed=seed).steps == ()


def test_a_level_behind_the_sizes_stays_unknown() -> None:
    curve = found([(32 * 2**10, 2.5e-9), (2**30, 70e-9)])
    assert len(curve.steps) == 1
    assert curve.at(2.0**26) == pytest.approx(3.7e-9, rel=0.02)


def test_the_curve_is_what_was_fitted() -> None:
    exact = latencies(LAPTOP)
    curve = fit_curve(SIZES, exact)
    for size, value in zip(SIZES, exact, strict=True):
        assert curve.at(size) == pytest.approx(value, rel=0.03)
