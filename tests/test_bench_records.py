"""The benchmark of the record store takes each figure from one run, and refuses wrong memory."""

import json

import pytest

from benches import records as part
from benches.harness import measure_case

pytestmark = pytest.mark.deep

STORES = (f"headroom {part.SHAPE}", f"headroom {part.ARRAY}", *part.PEERS)


def _output() -> str:
    """Return the lines of a run in which the n-th store takes n ns a record, the floor 10."""
    works = [(work, store, number) for work in part.WORKS for number, store in enumerate(STORES, 1)]
    works += [("line", part.FLOOR, 10), ("read", part.FLOOR, 10)]
    rows = [
        {"work": work, "store": store, "round": turn, "count": 1000, "s": number * 1e-6}
        for turn in range(part.ROUNDS)
        for work, store, number in works
    ]
    return "\n".join(map(json.dumps, rows))


def test_every_work_stands_beside_its_peers_and_its_floor() -> None:
    turns = part.Turns(1000, "huge", part.read_figures(_output()))
    rows = [row for case in part.cases_of(turns) for row in measure_case(case)]
    ratios = {(row.case, row.peer): row.ratio for row in rows}
    table = "1,000 records, huge pages"
    assert ratios[f"random inserts, sorted, {table}", "BTreeMap"] == pytest.approx(3.0)
    assert ratios[f"random look-ups, sorted, {table}", "LMDB"] == pytest.approx(7.0)
    assert ratios[f"in-order scan, sorted, {table}", part.FLOOR] == pytest.approx(10.0)
    assert ratios[f"sum in physical order, array, {table}", part.FLOOR] == pytest.approx(5.0)
    assert (f"random inserts, sorted, {table}", part.FLOOR) not in ratios
    assert len(rows) == 5 + 6 + 6 + 2
    assert part.shown(rows).count("blart") == 3


@pytest.mark.parametrize(("pages", "share"), [("huge", 0.5), ("small", 0.02)])
def test_memory_that_is_not_as_asked_gives_no_result(pages: part.Pages, share: float) -> None:
    found = {"anonymous_bytes": 1_000_000, "huge_bytes": int(share * 1_000_000)}
    with pytest.raises(part.MemoryNotAsAskedError, match=f"{share:.0%} of the memory"):
        part.check_memory(found, pages)


def test_memory_that_is_as_asked_passes() -> None:
    part.check_memory({"anonymous_bytes": 100, "huge_bytes": 95}, "huge")
    part.check_memory({"anonymous_bytes": 100, "huge_bytes": 0}, "small")
