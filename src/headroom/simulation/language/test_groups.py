"""Groups of similar stations and pools: one row that sums the rows of all members."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from headroom.simulation import Model, SimulationError, exponential, simulate
from headroom.simulation.runs.result import SimulationResult, Table
from headroom.simulation.runs.run import ready, run_ready
from tests.support.fake_models import models

COMPLETIONS = 40


def without_groups(model: Model) -> Model:
    """Return the model with each station and pool reported separately."""
    twin = model.copy()
    twin.stations = {name: replace(station, group="") for name, station in model.stations.items()}
    twin.pools = {name: replace(pool, group="") for name, pool in model.pools.items()}
    return twin


def run(model: Model) -> SimulationResult | None:
    """Return a run with samples, None if the model deadlocks or stalls."""
    try:
        return run_ready(ready(model), seed=3, completions=COMPLETIONS, time=300, sample_every=20)
    except SimulationError:
        return None


def assert_added_up(grouped: Table, alone: Table, rows: dict[str, list[str]]) -> None:
    """Assert that each row of `grouped` is the sum of its members, and its maxima the largest."""
    assert list(grouped.names) == list(rows)
    places = {name: place for place, name in enumerate(alone.names)}
    for place, members in enumerate(rows.values()):
        own = [places[name] for name in members]
        assert grouped.capacity[place] == alone.capacity[own].sum()
        for name, column in grouped.columns.items():
            sums = alone.columns[name][:, own].sum(axis=1)
            if name.endswith("count"):
                assert np.array_equal(column[:, place], sums)
            else:  # Sums of whole ticks, each rounded to a float once or more.
                assert column[:, place] == pytest.approx(sums, rel=1e-13)
        for name, largest in alone.maxima.items():
            assert grouped.maxima[name][place] == largest[own].max()


def rows_of(parts: Iterable[object], classes: Iterable[str] = ("",)) -> dict[str, list[str]]:
    """Return row -> members, and the same for each class if there are several."""
    by_row: dict[str, list[str]] = {}
    for part in parts:
        by_row.setdefault(part.row, []).append(part.name)  # type: ignore[attr-defined]
    return {
        f"{row}{suffix}": [f"{name}{suffix}" for name in members]
        for row, members in by_row.items()
        for suffix in classes
    }


@pytest.mark.deep
@given(models())
@settings(max_examples=150, deadline=None)
def test_a_group_is_the_sum_of_its_members_in_every_column(model: Model) -> None:
    grouped, alone = run(model), run(without_groups(model))
    assert (grouped is None) == (alone is None)
    if grouped is None or alone is None:
        return
    stations, pools = model.stations.values(), model.pools.values()
    names = [f".class.{name}" for name in model.classes] if len(model.classes) > 1 else []
    assert_added_up(grouped.stations, alone.stations, rows_of(stations))
    assert_added_up(grouped.pools, alone.pools, rows_of(pools))
    if grouped.samples is not None and alone.samples is not None:
        assert_added_up(grouped.samples.stations, alone.samples.stations, rows_of(stations))
        assert_added_up(grouped.samples.pools, alone.samples.pools, rows_of(pools))
    assert_added_up(grouped.visits, alone.visits, rows_of(stations, names))
    assert_added_up(grouped.requests, alone.requests, rows_of(pools, names))
    assert np.array_equal(
        grouped.classes.columns["response_s_sum"], alone.classes.columns["response_s_sum"]
    )
    assert_same_occupancy(grouped, alone, rows_of(stations))


def assert_same_occupancy(
    grouped: SimulationResult, alone: SimulationResult, rows: dict[str, list[str]]
) -> None:
    """Assert that times by number of jobs present are those of all members together."""
    single = {occupancy.name: occupancy for occupancy in alone.occupancies}
    for occupancy in grouped.occupancies:
        expected: dict[float, int] = {}
        for name in rows[occupancy.name]:
            counts = single[name].counts.sum(axis=0)
            for low, count in zip(single[name].bin_low, counts, strict=True):
                expected[low] = expected.get(low, 0) + int(count)
        assert dict(zip(occupancy.bin_low, occupancy.counts.sum(axis=0), strict=True)) == expected


def tills(*, group: str = "till", shares: tuple[float, ...] = (0.7, 0.1, 0.1, 0.1)) -> Model:
    """Return four tills with a queue each, of which customers take the first most often."""
    model = Model("tills", time_unit="s")
    program = model.program("pay")
    with program.branch() as chosen:
        for number, share in enumerate(shares):
            with chosen.case(share):
                till = model.station(f"till {number}", group=group)
                program.use(till, exponential(1))
    model.open_class("customers", program, interarrival=exponential(0.72))
    return model


def test_the_busiest_of_a_group_is_told_and_it_is_the_busiest() -> None:
    grouped, alone = (simulate(tills(group=g), seed=1, completions=2000) for g in ("till", ""))
    shares = alone.stations.columns["busy_s"][-1] / alone.snapshot_times_s[-1]
    assert grouped.stations.maxima["busy_share"] == pytest.approx([shares.max()])
    assert "busy_share" not in alone.stations.maxima


def test_a_station_beside_a_group_has_no_busiest_of_its_own() -> None:
    model = tills()
    model.programs["pay"].use(model.station("door"), exponential(0.1))
    shares = simulate(model, seed=1, completions=200).stations.maxima["busy_share"]
    assert shares[0] > 0
    assert shares[1] == 0


def test_a_group_may_not_have_the_name_of_a_station_by_itself() -> None:
    model = tills()
    model.programs["pay"].use(model.station("till"), exponential(0.1))
    with pytest.raises(SimulationError, match="that is the name of a station by itself") as caught:
        simulate(model, seed=1, completions=10)
    assert "another name" in str(caught.value.cure)


def test_stations_without_a_number_of_servers_are_no_group_with_others() -> None:
    model = tills()
    infinite = model.station("self-service", discipline="infinite", group="till")
    model.programs["pay"].use(infinite, exponential(1))
    with pytest.raises(SimulationError, match="has no utilization") as caught:
        simulate(model, seed=1, completions=10)
    assert "alike" in str(caught.value.cure)
