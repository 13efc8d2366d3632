"""Beyond the given factors: the least joint change that is enough, against exact solutions."""

from pathlib import Path

import pytest

from benches.known.formulas import convolution, repairman_throughput, servers_factors
from headroom.sizing.test_size import size, subject_of


def throughput_per_s(disks: int, cpus: int, jobs: int) -> float:
    """Return the exact throughput of the central server in product form (Buzen 1973)."""
    parts = [servers_factors(1.0, cpus, jobs), *[servers_factors(5.0 / disks, 1, jobs)] * disks]
    *_, fewer, ways = convolution(parts)
    return fewer / ways / 0.02


@pytest.mark.parametrize(("target", "added"), [(45.0, set()), (60.0, {"station.cpu.servers"})])
def test_what_limits_next_grows_too_and_the_least_that_is_enough_is_found(
    tmp_path: Path, target: float, added: set[str]
) -> None:
    """Oracle: disks of 10 ms are visited 10 times, and the processor takes 20 ms of each job."""
    choices = [(disks + cpus, disks, cpus) for disks in range(1, 12) for cpus in (1, 2)
               if throughput_per_s(disks, cpus, 64) >= target]  # fmt: skip
    _, disks, cpus = min(choices)
    subject = subject_of({"model": "central_server", "completions": 5_000}, tmp_path, jobs=64)
    found = size(subject, ["disks=1..4"], [f"throughput>={target}/s"], folder=tmp_path)
    assert not found.is_found
    assert found.beyond is not None
    assert found.beyond.levels == {"disks": disks} | dict.fromkeys(added, cpus)
    assert "Beyond them" in found.statement[1]


def test_a_factor_with_one_level_gets_more(tmp_path: Path) -> None:
    """Oracle: machine repairman, 40 users who think for 10 s, services of 1 s."""
    least = next(c for c in range(1, 20) if repairman_throughput(c, 40, 10.0) >= 3.0)
    setup: dict[str, str | int] = {"model": "interactive", "completions": 5_000}
    subject = subject_of(setup, tmp_path, users=40, think_s=10.0, service_s=1.0)
    found = size(subject, ["station.server.servers=1"], ["throughput>=3/s"], folder=tmp_path)
    assert found.beyond is not None
    assert found.beyond.levels == {"station.server.servers": least}


def test_nothing_is_added_where_the_users_limit(tmp_path: Path) -> None:
    """12 users who think for 10 s make at most 1.2 requests a second, whatever serves them."""
    subject = subject_of(
        {"model": "interactive", "completions": 5_000}, tmp_path, users=12, think_s=10.0
    )
    over = ["station.server.servers=1..2"]
    assert size(subject, over, ["throughput>=1.3/s"], folder=tmp_path).beyond is None
