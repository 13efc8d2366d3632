"""Modelled devices compared with theory, under loads that the theory covers."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationError, SimulationResult, simulate
from headroom.systems.storage.devices.models import (
    DISK,
    DISK_ARRAY,
    DRAM_DEVICE,
    FLASH_DEVICE,
    DeviceModel,
)
from headroom.systems.storage.devices.models.device import KINDS, PARAMETERS

Config: TypeAlias = dict[str, Value]
ALL = (DISK, DISK_ARRAY, DRAM_DEVICE, FLASH_DEVICE)


@dataclass(frozen=True)
class Seen:
    """The results of a run."""

    result: SimulationResult

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.count / float(self.result.snapshot_times_s[-1])

    @property
    def count(self) -> float:
        """Requests."""
        return float(self.result.classes.columns["completion_count"][-1].sum())

    @property
    def response_s(self) -> float:
        """Mean response time (s)."""
        return float(self.result.classes.columns["response_s_sum"][-1].sum()) / self.count


def seen(device: DeviceModel, **config: Value) -> Seen:
    """Return the behaviour of a device under a load."""
    return Seen(simulate(device(**config), seed=1))


def test_a_disk_reads_at_random_in_the_mean_seek_half_a_turn_and_the_transfer() -> None:
    flat: Config = {"inner_mb_s": 125.0, "block_bytes": 4096, "requests": 20_000}
    numbers = DISK.numbers(inner_mb_s=125.0)
    expected_s = 1e-3 * (numbers.disk_overhead_ms + numbers.seek_mean_ms)
    expected_s += 0.5 * 60 / numbers.rpm + 4096 / 125e6
    # One in flight: the response is the service.
    assert seen(DISK, **flat).response_s == pytest.approx(expected_s, rel=0.01)


def test_a_disk_reads_on_at_the_rate_of_its_zone() -> None:
    config: Config = {"pattern": "sequential", "block_bytes": 65_536, "requests": 5_000}
    assert seen(DISK, **config).rate * 65_536 == pytest.approx(125e6, rel=0.01)
    inner: Config = {**config, "range_start_share": 0.98, "range_share": 0.02}
    assert seen(DISK, **inner).rate * 65_536 == pytest.approx(60e6, rel=0.01)


def test_a_disk_that_sorts_its_queue_does_more_than_one_that_does_not() -> None:
    deep: Config = {"depth": 16, "requests": 5_000}
    sorted_ = seen(DISK, **deep, disk_order="elevator").rate
    in_turn = seen(DISK, **deep, disk_order="fcfs").rate
    assert sorted_ > 1.3 * in_turn


def test_an_open_load_waits_as_pollaczek_and_khinchine_say() -> None:
    # Uniform seeks and turns make services nearly independent: M/G/1.
    alone = seen(DISK, requests=20_000)
    histogram = DISK(requests=20_000, load="open", rate=1.0)
    service = Seen(simulate(histogram, seed=1)).response_s
    rate = 0.5 / service
    open_load = seen(DISK, load="open", rate=rate, requests=40_000, disk_order="fcfs")
    numbers = DISK.numbers()
    turn_s = 60 / numbers.rpm
    # Variance of a turn's share, and of the seek: a third of the way from uniform to constant.
    variance = turn_s**2 / 12 + (0.47 * 1e-3 * numbers.seek_mean_ms) ** 2
    wait_s = rate * (service**2 + variance) / (2 * (1 - 0.5))
    assert alone.response_s == pytest.approx(service, rel=0.02)
    assert open_load.response_s == pytest.approx(service + wait_s, rel=0.05)


def test_a_striped_array_reads_at_random_as_so_many_disks() -> None:
    striped: Config = {"raid_level": 0, "disks": 8, "depth": 1, "requests": 4_000}
    single = seen(DISK_ARRAY, **striped)
    numbers = DISK_ARRAY.numbers()
    least_s = 1e-3 * (numbers.seek_mean_ms * 0.9) + 0.5 * 60 / numbers.rpm
    assert single.response_s > least_s
    many = seen(DISK_ARRAY, **{**striped, "depth": 64, "disk_order": "fcfs", "requests": 20_000})
    # 64 jobs over 8 disks with equal chances: N / (N + M - 1) of all disks are busy.
    busy = 64 / (64 + 8 - 1)
    assert many.rate * single.response_s == pytest.approx(8 * busy, rel=0.06)


def test_small_writes_cost_four_accesses_in_raid_5_two_in_raid_1_and_one_in_raid_0() -> None:
    write: Config = {"read_share": 0.0, "depth": 32, "disks": 6, "write_cache_mib": 1.0,
             "requests": 6_000, "disk_order": "fcfs"}  # fmt: skip
    accesses = {}
    for level in (0, 1, 5):
        run = seen(DISK_ARRAY, raid_level=level, **write).result
        at = run.stations.names.index("disks")
        accesses[level] = float(run.stations.columns["completion_count"][-1, at]) / 6_000
    assert accesses[0] == pytest.approx(1, rel=0.06)
    assert accesses[1] == pytest.approx(2, rel=0.06)
    assert accesses[5] == pytest.approx(4, rel=0.06)


def test_a_write_cache_answers_at_once_until_it_is_full_and_then_as_fast_as_its_disks() -> None:
    write: Config = {"read_share": 0.0, "depth": 16, "disks": 4, "raid_level": 0}
    early = seen(DISK_ARRAY, **write, write_cache_mib=64.0, requests=10_000)
    assert early.rate > 20_000
    late = seen(DISK_ARRAY, **write, write_cache_mib=2.0, requests=10_000)
    assert late.rate < 0.1 * early.rate


def test_what_was_read_comes_from_the_cache_of_an_array() -> None:
    small: Config = {"depth": 4, "range_share": 0.00001, "requests": 30_000}
    again = seen(DISK_ARRAY, **small).result
    at = again.stations.names.index("disks")
    numbers = DISK_ARRAY.numbers()
    blocks = 0.00001 * numbers.target_bytes / 4096
    assert float(again.stations.columns["completion_count"][-1, at]) <= blocks + 1


def test_memory_answers_in_its_set_up_and_transfer() -> None:
    numbers = DRAM_DEVICE.numbers()
    port_s = 1e-6 * numbers.link_overhead_us + 4096 / (1e6 * numbers.link_mb_s)
    memory_s = 1e-6 * numbers.access_us + 4096 / (1e6 * numbers.memory_mb_s)
    alone = seen(DRAM_DEVICE, requests=1_000)
    assert alone.response_s == pytest.approx(port_s + memory_s, rel=1e-6)
    deep = seen(DRAM_DEVICE, depth=32, ports=2, memory_channels=8, requests=20_000)
    assert deep.rate == pytest.approx(2 / port_s, rel=0.01)


def test_flash_writes_as_fast_as_its_dies_and_falls_off_the_cliff_when_full() -> None:
    write: Config = {"read_share": 0.0, "depth": 32, "requests": 60_000, "capacity_gb": 1.0}
    numbers = FLASH_DEVICE.numbers()
    fresh = seen(FLASH_DEVICE, **write, filled_share=0.0, preconditioned=0.0)
    # The buffer takes its share at once; all else waits for the dies, which random pages load
    # unevenly.
    highest = numbers.dies / (1e-6 * numbers.program_us)
    assert 0.8 * highest < fresh.rate < 1.1 * highest
    used = seen(FLASH_DEVICE, **write, filled_share=1.0, preconditioned=2.0)
    assert used.rate < 0.6 * fresh.rate


@pytest.mark.parametrize("device", ALL, ids=lambda model: model.kind)
def test_a_run_is_a_function_of_model_and_seed(device: DeviceModel) -> None:
    config: Config = {"requests": 500, "read_share": 0.5, "depth": 4}
    first, two = seen(device, **config), seen(device, **config)
    assert first.response_s == two.response_s
    assert not math.isnan(first.response_s)


@pytest.mark.parametrize("device", ALL, ids=lambda model: model.kind)
def test_an_spc1_like_load_has_its_eight_streams(device: DeviceModel) -> None:
    names = seen(device, workload="spc1_like", bsus=1, requests=300).result.classes.names
    assert len(names) == 8


def test_every_parameter_file_of_a_device_is_read() -> None:
    kinds = {kind.example for kind in KINDS.values()}
    assert {path.stem for path in PARAMETERS.glob("*.toml")} == {*kinds, "client"}


@pytest.mark.parametrize(
    ("config", "word"),
    [({"rpms": 7200.0}, "rpm"), ({"rpm": 1.0}, "1000"), ({"dept": 2}, "depth")],
)
def test_wrong_parameters_are_refused_with_a_cure(config: Config, word: str) -> None:
    with pytest.raises(StudyError) as refused:
        DISK(**config)
    assert word in f"{refused.value.message} {refused.value.cure}"


def test_a_mean_seek_that_no_disk_has_names_those_that_some_have() -> None:
    with pytest.raises(SimulationError, match="such a disk has"):
        DISK(seek_mean_ms=17.0)
