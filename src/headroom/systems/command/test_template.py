"""Placeholders: what they replace, and what they leave alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.systems.command.template import parse_template

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_characters="\0"))


def escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@given(TEXTS)
def test_an_escaped_text_means_itself(text: str) -> None:
    template = parse_template(escaped(text))
    assert template.names == ()
    assert template.fill({}) == text


@given(st.lists(st.tuples(TEXTS, NAMES)), TEXTS, st.data())
def test_every_placeholder_is_replaced_and_nothing_else(
    pieces: list[tuple[str, str]], end: str, data: st.DataObject
) -> None:
    source = "".join(escaped(text) + "{" + name + "}" for text, name in pieces) + escaped(end)
    values = {name: data.draw(TEXTS) for _, name in pieces}
    template = parse_template(source)
    assert list(template.names) == [name for _, name in pieces]
    assert template.fill(values) == "".join(text + values[name] for text, name in pieces) + end


@given(TEXTS)
def test_a_value_is_never_read_as_a_placeholder(text: str) -> None:
    value = "{other}" + text
    assert parse_template("{word}").fill({"word": value, "other": "wrong"}) == value


@given(st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1))
def test_a_whole_number_is_written_without_a_point(number: int) -> None:
    template = parse_template("-{level}")
    assert template.fill({"level": float(number)}) == template.fill({"level": number})


@pytest.mark.parametrize("text", ["{", "a}b", "{}", "{1st}", "{two words}", "{{x}"])
def test_a_stray_brace_is_refused_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(StudyError, match="brace") as caught:
        parse_template(text)
    assert "{{" in caught.value.cure


def test_a_zero_byte_is_refused_because_no_argument_can_hold_one() -> None:
    with pytest.raises(StudyError, match="zero byte"):
        parse_template("{word}").fill({"word": "a\0b"})
