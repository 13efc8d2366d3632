"""The database buffer, compared with the reference table and a simulated cache."""

from collections import OrderedDict

import numpy as np
import pytest

from headroom.systems.transactions import machine_model
from headroom.systems.transactions.theory.demands import mean_counts
from headroom.systems.transactions.workload.buffer import ROW_BYTES, miss_shares
from headroom.systems.transactions.workload.tpcc import Table

SERVER, SPAX = machine_model("server"), machine_model("spax")


def of(mb: float, **changed: float) -> dict[Table, float]:
    asked = {"warehouses": 16.0, "warehouse_mb": 68.6, **changed}
    return dict(
        miss_shares(
            buffer_pages=asked["warehouses"] * mb * 1e6 / 4096,
            warehouses=asked["warehouses"],
            warehouse_mb=asked["warehouse_mb"],
            page_bytes=4096,
        )
    )


@pytest.mark.parametrize(
    ("mb", "stock", "customer", "item", "reads"),
    [
        (1, 0.89, 0.98, 0.19, 6.8),
        (4, 0.64, 0.88, 0.03, 4.8),
        (8, 0.45, 0.76, 0.01, 3.6),
        (13, 0.30, 0.60, 0.00, 2.6),
        (20, 0.18, 0.41, 0.00, 1.6),
        (26, 0.12, 0.27, 0.00, 1.1),
        (39, 0.03, 0.05, 0.00, 0.24),
    ],
)
def test_misses_are_those_that_were_computed_from_the_standard(
    mb: float, stock: float, customer: float, item: float, reads: float
) -> None:
    """The table was computed on its own, for 16 warehouses and pages of 4 kB."""
    misses = of(mb)
    assert misses["stock"] == pytest.approx(stock, abs=0.025)
    assert misses["customer"] == pytest.approx(customer, abs=0.025)
    assert misses["item"] == pytest.approx(item, abs=0.01)
    of_a_transaction = 4.35 * (misses["stock"] + misses["item"]) + 2.03 * misses["customer"]
    assert of_a_transaction == pytest.approx(reads, abs=0.1)


def test_an_lru_cache_that_is_walked_misses_as_often() -> None:
    """Oracle: least recently used, request by request, on stock pages alone."""
    from headroom.systems.transactions.workload.buffer import _uses_of_pages  # noqa: PLC0415

    uses = _uses_of_pages("stock", 4096 // ROW_BYTES["stock"])
    shares, pages = uses / uses.sum(), 1500
    asked = np.random.default_rng(7).choice(len(shares), size=200_000, p=shares)
    cache: OrderedDict[int, None] = OrderedDict()
    missed = 0
    for number, page in enumerate(asked.tolist()):
        missed += page not in cache and number >= 100_000
        cache[page] = None
        cache.move_to_end(page)
        if len(cache) > pages:
            cache.popitem(last=False)
    stay = _stay(shares, pages)
    assert missed / 100_000 == pytest.approx(float(shares @ np.exp(-shares * stay)), abs=0.01)


def _stay(shares: np.ndarray, pages: int) -> float:
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(lambda stay: -np.expm1(-shares * stay).sum() - pages, 1, 1e9))


def test_more_memory_never_misses_more_and_enough_misses_nothing() -> None:
    sizes = [2, 5, 10, 20, 40, 60]
    for table in ROW_BYTES:
        missed = [of(mb)[table] for mb in sizes]
        assert missed == sorted(missed, reverse=True)
    assert not any(of(100).values())


def test_a_larger_database_misses_more_in_the_same_memory() -> None:
    assert of(20, warehouse_mb=105.0)["stock"] > of(20)["stock"] + 0.05
    fetches = [
        mean_counts(SERVER.machine(warehouses=count)).fetches for count in (50, 150, 200, 800)
    ]
    assert fetches == sorted(fetches)
    assert fetches[0] == 0 < fetches[-1]


def test_without_a_buffer_a_probability_says_what_misses() -> None:
    machine = SPAX.machine(io_probability=0.25)
    assert {machine.miss_share(table) for table in ("warehouse", "stock", "order")} == {0.25}
