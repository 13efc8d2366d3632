"""Property: the scanner finds exactly the keys that tomllib finds, each on its own line."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.experiment.study.file.toml_lines import KeyPath, key_lines

KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,5}", fullmatch=True),
    st.sampled_from(["a b", "#", 'q"', "x.y", "[t]", "it's", "ü", "\t", "\\", "="]),
)
LEAVES = st.one_of(
    st.integers(-99, 99).map(str),
    st.sampled_from(
        [
            "true", "1.5e3", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "inf", "0xFF", '""',
            '"a#b"', '"]"', r'"\"}\u00e9"', "'\\'", "'# no'", '"""x"""', '"""\n[no]\nk = 1\n"""',
            "'''\n\"]# \n'''", '"""a\\\n   b"""', '"""two ""quotes"""""', "''''''", r'"""\\"""',
        ]
    ),
)  # fmt: skip
BLANKS = st.sampled_from(["", " ", "  ", "\t"])
BREAKS = st.sampled_from(["", "\n", " # note ] } \n", "\n\n  "])


@st.composite
def values(draw: st.DrawFn, depth: int = 0) -> str:
    """Return the text of a value, over one line or several."""
    kind = draw(st.sampled_from(["leaf", "leaf", "list", "table"])) if depth < 3 else "leaf"
    if kind == "leaf":
        return draw(LEAVES)
    if kind == "list":
        items = draw(st.lists(values(depth=depth + 1), max_size=3))
        comma = draw(st.sampled_from(["", ","])) if items else ""
        gaps = [draw(BREAKS) for _ in range(len(items) + 2)]
        inner = ",".join(gap + item for gap, item in zip(gaps, items, strict=False))
        return f"[{inner}{gaps[-2]}{comma}{gaps[-1]}]"
    names = draw(st.lists(KEYS, max_size=3, unique=True))
    pairs = [f"{quoted(draw, name)} = {draw(values(depth=depth + 1))}" for name in names]
    return "{" + ", ".join(pairs) + "}"


def quoted(draw: st.DrawFn, key: str) -> str:
    is_bare = key.replace("-", "a").replace("_", "a").isalnum() and key.isascii()
    if is_bare and draw(st.booleans()):
        return key
    if "'" not in key and "\t" not in key and draw(st.booleans()):
        return f"'{key}'"
    escaped = key.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return lines of keys, tables and lists of tables that need not be a valid document."""
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        names = draw(st.lists(KEYS, min_size=1, max_size=3))
        gap = draw(BLANKS)
        dotted = f"{gap}.{gap}".join(quoted(draw, name) for name in names)
        kind = draw(st.sampled_from(["pair", "pair", "table", "list", "comment"]))
        texts = {
            "pair": f"{gap}{dotted}{gap}={gap}{{}}",
            "table": f"{gap}[{gap}{dotted}{gap}]{gap}# x",
            "list": f"[[{dotted}{gap}]]",
            "comment": f"{gap}# [{dotted}] = ",
        }
        text = texts[kind]
        lines.append(text.replace("{}", draw(values()), 1) if kind == "pair" else text)
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from paths(inner, (*path, key))


@given(documents())
def test_the_scanner_finds_the_keys_that_tomllib_finds(text: str) -> None:
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(key_lines(text)) == set(paths(parsed))


@given(st.lists(st.tuples(st.integers(0, 3), BREAKS), min_size=1, max_size=12))
def test_each_leaf_is_on_its_line(shape: list[tuple[int, str]]) -> None:
    """Every value is a different number, so that its line can be found by searching for it."""
    text, number, expected = "", 1000, {}
    for index, (size, gap) in enumerate(shape):
        text += f"[[t]]{gap or chr(10)}k = [\n"
        for place in range(size):
            text += f"{gap}{number}, # {index}\n"
            expected["t", index, "k", place] = str(number)
            number += 1
        text += "]\n"
    if not _is_toml(text):
        return
    lines = key_lines(text)
    for path, token in expected.items():
        assert token in text.split("\n")[lines[path] - 1]


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


STUDY = """\
schema = 1
name = "x"

[[experiment]]
name = "a"
[experiment.system]
name = "model"
[experiment.factors]
users = [1,
  2,
  3]
rate = { from = 1, to = 2, "step" = 0.5 }

[[experiment]]
system.name = "command"
text = '''
[[experiment]]
name = 1
'''
quick.factors.users = [1]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("schema",), 1),
        (("experiment",), 4),
        (("experiment", 0), 4),
        (("experiment", 0, "system", "name"), 7),
        (("experiment", 0, "factors", "users", 0), 9),
        (("experiment", 0, "factors", "users", 2), 11),
        (("experiment", 0, "factors", "rate", "step"), 12),
        (("experiment", 1), 14),
        (("experiment", 1, "system", "name"), 15),
        (("experiment", 1, "quick", "factors", "users"), 20),
    ],
)
def test_keys_of_a_study_are_on_the_lines_that_a_person_sees(path: KeyPath, line: int) -> None:
    assert key_lines(STUDY)[path] == line
