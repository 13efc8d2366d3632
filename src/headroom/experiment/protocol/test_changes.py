"""Resource changes: equivalent texts become one text, and invalid ones give a hint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import Change, doubled, parse_change

NAMES = st.text("abc xyz/.-1", min_size=1).filter(lambda name: name == name.strip())


@given(name=NAMES, value=st.integers(1, 10_000), is_factor=st.booleans())
def test_a_change_is_read_back_from_its_text(name: str, value: int, *, is_factor: bool) -> None:
    change = Change(
        kind="pool", name=name, aspect="tokens", value=float(value), is_factor=is_factor
    )
    assert parse_change(change.text) == change


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("station.cpu.servers=*2", "station.cpu.servers=x2"),
        (" station.cpu.servers = x 2.0 ", "station.cpu.servers=x2"),
        ("station.cpu.speed=1.5", "station.cpu.speed=x1.5"),
    ],
)
def test_two_texts_of_one_meaning_are_one_change(text: str, same: str) -> None:
    assert parse_change(text).text == same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cpu", "cannot be read"),
        ("station.cpu.servers", "cannot be read"),
        ("station.cpu.tokens=2", "a station has no tokens"),
        ("pool.a.speed=2", "a pool has no speed"),
        ("station.cpu.servers=0", "not a number above 0"),
        ("station.cpu.servers=-1", "not a number above 0"),
        ("station.cpu.servers=inf", "not a number above 0"),
        ("station.cpu.servers=many", "not a number above 0"),
    ],
)
def test_a_wrong_change_says_what_is_wrong_and_what_to_write(text: str, why: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        parse_change(text)
    assert "station.NAME.servers=8" in caught.value.cure


@pytest.mark.parametrize(("text", "capacity"), [("x0.5", 3), ("x1.3", 2), ("x1e9", 2)])
def test_half_a_server_is_refused(text: str, capacity: int) -> None:
    with pytest.raises(StudyError, match="whole number"):
        parse_change(f"station.cpu.servers={text}").capacity_from(capacity)


def test_a_resource_has_as_many_servers_as_the_kernel_counts() -> None:
    most = (1 << 24) - 1
    assert parse_change(f"station.cpu.servers={most}").capacity_from(1) == most
    with pytest.raises(StudyError, match="makes 1"):
        parse_change(f"station.cpu.servers={most + 1}").capacity_from(1)


def test_a_pool_is_doubled_one_way_and_a_station_two() -> None:
    assert [change.aspect for change in doubled("pool", "a")] == ["tokens"]
    assert [change.aspect for change in doubled("station", "a")] == ["servers", "speed"]
