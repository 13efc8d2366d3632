"""The benchmark of the catalogue does what its table says, and names what it cannot compare."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benches import catalogue as part
from benches.harness import Row, measure_case, read_rows
from benches.metadata import bills, crowd, volume
from benches.metadata.bills import WAYS, Bill, Contender
from benches.metadata.site import BOUNCER, SERVER, Site, site
from headroom.errors import EnvironmentUnfitError
from headroom.recording.programs import LoadPrograms
from headroom.systems.catalogue.command import PROGRAM, companion
from headroom.systems.catalogue.measured.conversion import completions
from headroom.systems.catalogue.measured.services import LOAD
from tests.support.catalogue_programs import catalogue_programs

pytestmark = pytest.mark.deep

__all__ = ["catalogue_programs"]

AT_HAND = [name for name, way in WAYS.items() if not way.cannot()]


@pytest.fixture(scope="module")
def place(catalogue_programs: None) -> Iterator[Site]:  # noqa: ARG001 - it skips
    found = site()
    yield found
    found.keeper.close()
    site.cache_clear()


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bills, "SECONDS", 0.2)
    monkeypatch.setattr(volume, "SECONDS", 0.3)
    monkeypatch.setattr(volume, "RATE_PER_S", 200.0)


@pytest.mark.parametrize("name", AT_HAND)
def test_connections_and_handshakes_are_those_of_the_way(place: Site, name: str) -> None:
    way = WAYS[name]
    job = bills.job_of(place, "query", part.ONE_SHOT, way)
    with LoadPrograms([str(companion(LOAD)), "--wait", "-"], [job]) as programs:
        result = programs.run()
    assert result["failures"] == []
    done, counts = completions(result), result["workload_counters"]
    is_new = way.case < 3 or way.is_encrypted
    has_tls = way.case == 1 or way.is_encrypted
    # The last operations of the clients may be under way when the load ends.
    ended = range(done, done + bills.CLIENTS + 1) if is_new else range(1)
    assert counts["connection_count"] in ended
    full, resumed = counts["full_handshake_count"], counts["resumed_handshake_count"]
    assert (full + resumed > 0) == has_tls
    assert (resumed > 0) == way.resumes
    assert way.resumes or full == counts["connection_count"] * has_tls


@pytest.mark.parametrize("form", bills.FORMS)
def test_the_costs_of_all_parts_are_counted(place: Site, form: str) -> None:
    for name in AT_HAND:
        way = WAYS[name]
        bill = bills.measured(place, bills.job_of(place, "insert", form, way), way.between)
        assert min(bill.client_s, bill.database_s, bill.per_s) > 0.0
        assert (bill.between_s > 0.0) == (way.between in {SERVER, BOUNCER})
        # Two processors, or as many as there are, bound what operations of a second can cost.
        assert bill.all_s < 1.0


def test_a_server_finds_every_entry_that_was_copied(place: Site) -> None:
    """Oracle: the load compares each GUID with the one that it computes itself."""
    few = volume.Volume(place, "few", 250)
    few.make()
    assert few.p99_s(1) > 0.0
    with place.connected("few") as connection:
        (counts,) = connection.rows("select count(*), count(distinct dir) from entry")
    assert counts == ["251", "3"]  # one is the pattern
    with place.connected("few") as connection:
        connection.rows("update entry set t0 = 'another' where name = 'known-f9'")
        connection.rows("delete from entry where name <> 'known-f9'")
    with pytest.raises(RuntimeError, match="the queries failed"):
        few.p99_s(2)


def test_a_crowd_is_connected_at_once(place: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "THINK_S", (0.2, 0.8))
    monkeypatch.setattr(crowd, "_SECONDS", 1.0)
    seen = crowd.crowd(place, 40, is_encrypted=True)
    assert seen.memory_bytes > 40 * 1024
    assert 1 <= seen.connections <= crowd.POOL


def test_more_clients_than_open_files_are_refused_before_the_run() -> None:
    assert "ulimit" in crowd.too_few_files(1 << 40)
    assert crowd.too_few_files(1) == ""


def test_a_debug_build_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (PROGRAM, LOAD):
        (tmp_path / "debug").mkdir(exist_ok=True)
        (tmp_path / "debug" / name).touch(mode=0o755)
    monkeypatch.setenv("HEADROOM_CATALOGUE", str(tmp_path / "debug" / PROGRAM))
    with pytest.raises(EnvironmentUnfitError, match="without optimisation"):
        part.cases()


def test_the_same_runs_are_asked_again() -> None:
    given = iter([Bill(client_s=n, between_s=0.0, database_s=1.0, per_s=n) for n in (1.0, 2.0)])
    one = Contender(lambda: next(given))
    assert [one.work(), one.work()] == [2.0, 3.0]
    rate, cost = one.again(lambda bill: bill.per_s), one.again(lambda bill: bill.all_s)
    assert [rate(), cost(), rate(), cost()] == [1.0, 2.0, 2.0, 3.0]


def given_rows(monkeypatch: pytest.MonkeyPatch, *absent: str) -> list[Row]:
    """Return the rows of a query whose ways cost 1, 2, 3 ... us, without those `absent`."""
    ways = {
        name: replace(way, cannot=(lambda: "apt install it") if name in absent else (lambda: ""))
        for name, way in WAYS.items()
    }
    monkeypatch.setattr(part, "WAYS", ways)
    monkeypatch.setattr("benches.harness.gc.collect", lambda: 0)
    numbers = iter(range(1, 1000))

    def contender(*_: object) -> Contender:
        each = next(numbers) * 1e-6
        return Contender(lambda: Bill(client_s=each, between_s=0, database_s=0, per_s=1 / each))

    monkeypatch.setattr(part, "contender", contender)
    return [
        row
        for name in part.OPERATIONS
        for case in part.operations(name)
        for row in measure_case(case)
    ]


def test_goals_compare_the_ways_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row.case: row for row in given_rows(monkeypatch) if row.metric == part.GOAL}
    found = {goal.name: rows[f"query: {goal.name}"].ratio for goal in part.GOALS}
    expected = [
        6.0,  # sixth way over the first, one-shot
        13.0 / 8.0,
        1e6 / 1500.0,
        8.0 / 12.0,
        9.0 / 12.0,
        1.0 / 12.0,
        12.0 / 4.0,
        12.0 / 11.0,
        7.0 / 4.0,
        14.0 / 11.0,
    ]
    assert list(found.values()) == pytest.approx(expected)


def test_without_the_peers_the_rows_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = given_rows(monkeypatch, bills.DIRECT_TLS, bills.BOUNCED)
    silent = [row for row in rows if row.peer_value is None]
    assert {row.reason for row in silent} == {"apt install it"}
    lines = [line for line in part.shown(rows).splitlines() if bills.BOUNCED in line]
    assert len(lines) == len(part.OPERATIONS) * len(bills.FORMS)
    assert all("cannot: apt install it" in line for line in lines)


def test_the_stored_rows_hold_every_question() -> None:
    rows = read_rows(part.RESULTS)
    metrics = {row.metric for row in rows}
    assert {part.COST, part.RATE, part.GOAL, part.MEMORY, part.CONNECTIONS, part.P99} <= metrics
    cases = {row.case for row in rows}
    assert {f"{one}: {goal.name}" for one in part.OPERATIONS for goal in part.GOALS} <= cases


def test_the_stored_table_is_printed_without_measuring(capsys: pytest.CaptureFixture[str]) -> None:
    assert part.main(["--table"]) == 0
    said = capsys.readouterr().out
    assert all(goal.name in said for goal in part.GOALS)
    assert part.main([]) == 2
