"""Values written as TOML read back unchanged."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.experiment.study.file.toml_text import LINE_LENGTH, toml_text

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_numbers = st.integers(-(2**62), 2**62) | st.floats(allow_nan=False)
_values = st.recursive(
    _texts | _numbers | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=12,
)
_keys = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)


@pytest.mark.deep
@given(st.dictionaries(_keys, _values, max_size=4), st.lists(st.dictionaries(_keys, _values)))
def test_reading_gives_the_content_back(content: dict[str, Any], tables: list[Any]) -> None:
    study = {**content, "experiment": tables}
    assert tomllib.loads(toml_text(study)) == study


def test_a_long_table_gets_a_heading_and_a_short_one_a_line() -> None:
    long = {f"key_{number}": "x" * 20 for number in range(6)}
    text = toml_text({"experiment": [{"name": "a", "fixed": {"depth": 4}, "system": long}]})
    assert "fixed = { depth = 4 }" in text
    assert "[experiment.system]" in text
    assert max(map(len, text.splitlines())) <= LINE_LENGTH


def test_what_toml_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="no PosixPath"):
        toml_text({"path": Path("/a")})
