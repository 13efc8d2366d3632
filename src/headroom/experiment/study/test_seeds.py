"""Seeds and keys are interfaces: stored journals depend on their values."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from headroom.experiment.protocol.system import Value
from headroom.experiment.study.seeds import derive_seed, digest, order_rank, point_key

VALUES: st.SearchStrategy[Value] = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()
)
LEVELS: st.SearchStrategy[dict[str, Value]] = st.dictionaries(st.text(max_size=8), VALUES)


def test_seeds_are_the_same_in_every_version() -> None:
    """Oracle: computed once with hashlib by hand; a change breaks every stored journal."""
    assert derive_seed(0, "", 0) == 1771992045813516213
    assert derive_seed(7, "00ff00ff00ff00ff", 3) == 3622118603934326611
    assert derive_seed(2**63 - 1, "a", 10**6) == 2331129210360907846


def test_point_keys_are_the_same_in_every_version() -> None:
    assert point_key("web", {}) == "0d344d521d689055"
    levels: dict[str, Value] = {"users": 10, "rate": 1.5, "mode": "a", "is_on": True}
    assert point_key("web", levels) == "fd5cc881eec520de"


@given(st.integers(0, 2**63 - 1), st.text(max_size=20), st.integers(0, 10**9))
def test_every_seed_fits_a_signed_64_bit_number(seed: int, key: str, replication: int) -> None:
    assert 0 <= derive_seed(seed, key, replication) < 2**63


def test_seeds_of_neighbours_differ() -> None:
    seeds = {
        derive_seed(study, key, replication)
        for study, key, replication in itertools.product(range(20), "abcdefgh", range(50))
    }
    assert len(seeds) == 20 * 8 * 50


@given(LEVELS)
def test_a_key_does_not_depend_on_the_order_of_levels(levels: dict[str, Value]) -> None:
    backwards = dict(reversed(levels.items()))
    assert point_key("web", levels) == point_key("web", backwards)


def test_values_of_different_types_have_different_hashes() -> None:
    assert len({digest(value) for value in (1, 1.0, True, "1", [1], {"a": 1})}) == 6


def test_the_order_within_a_block_changes_with_block_and_seed() -> None:
    keys = [f"{number:016x}" for number in range(40)]
    orders = {
        tuple(sorted(keys, key=lambda key: order_rank(seed, block, key)))
        for seed in range(4)
        for block in range(4)
    }
    assert len(orders) == 16
