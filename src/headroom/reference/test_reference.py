"""The reference as text: of a struct, of a class, of a system, and the list of topics."""

from typing import Annotated, Literal

import msgspec

from headroom.reference.fields import common_keys, fields_list
from headroom.reference.model_builder import class_section
from headroom.reference.python_front import python_front
from headroom.reference.tables import single_blank_lines
from headroom.reference.topics import described, topics


class Bowl(msgspec.Struct, kw_only=True):
    """A bowl."""

    size: Annotated[int, msgspec.Meta(ge=1, le=10)]
    """Litres."""
    name: str = "deep"
    """What it is called."""


class Kitchen(msgspec.Struct, kw_only=True):
    """A kitchen."""

    name: str = "deep"
    """What it is called."""
    bowls: list[Bowl] = msgspec.field(default_factory=list)
    """Those in it."""
    heat: Annotated[float, msgspec.Meta(gt=0.0)] | Literal["off"] = "off"
    """Of its oven."""
    largest: Bowl = msgspec.field(default_factory=lambda: Bowl(size=3))
    """To bake in."""
    light: bool | None = None
    """Whether it is on."""


class Cook:
    """Return who cooks; made by ``hire``.

    Parameters
    ----------
    name
        What to call.
    """

    def rest(self) -> None:
        """Return to the table, for ``a while``."""

    def bake(
        self, what: str, *, heat: float = 180.0, minutes: int = 20, rack: int = 1, fan: bool = False
    ) -> None:
        """Bake it.

        Parameters
        ----------
        what
            Dough.
        heat, minutes
            How long and how hot.
        rack
            From below.
        fan
            Whether the air moves.

        Raises
        ------
        OvenError
            It is broken.

        Examples
        --------
        >>> Cook().bake("bread")
        """

    def _taste(self) -> None: ...


def test_the_keys_of_a_struct_have_type_default_and_meaning() -> None:
    assert fields_list(Kitchen).splitlines() == [
        '- `name` (string, default `"deep"`): What it is called.',
        "- `bowls` (list of tables): Those in it.",
        '- `heat` (number, above 0 or "off", default `"off"`): Of its oven.',
        '- `largest` (table, default `{"size":3,"name":"deep"}`): To bake in.',
        "- `light` (boolean): Whether it is on.",
    ]
    assert "- `size` (integer, 1\N{EN DASH}10, required): Litres." in fields_list(Bowl)
    assert common_keys([Bowl, Kitchen]) == ["`name`"]
    assert "name" not in fields_list(Kitchen, without=["`name`"]).partition("\n")[0]


def test_a_class_has_a_row_for_a_short_method_and_a_section_for_a_long_one() -> None:
    text = single_blank_lines("\n".join(class_section("Cook", Cook)))
    assert text.splitlines() == [
        "## `Cook`",
        "",
        "Who cooks; made by `hire`.",
        "",
        "- `name`: What to call.",
        "",
        "- `rest()`: To the table, for `a while`.",
        "",
        "### `Cook.bake(what, *, ...)`",
        "",
        "Bake it.",
        "",
        "- `what`: Dough.",
        "- `heat=180.0`, `minutes=20`: How long and how hot.",
        "- `rack=1`: From below.",
        "- `fan=False`: Whether the air moves.",
        "",
        "*Raises:* `OvenError`: It is broken.",
        "",
        "```pycon",
        '>>> Cook().bake("bread")',
        "```",
    ]


def test_topics_say_what_a_name_is() -> None:
    found = topics()
    assert found["catalogue"] == "system and model"
    assert found["mm1"] == "model"
    assert found["command"] == "system"
    assert found["study-file"] == "the keys of study.toml"


def test_a_system_has_its_keys_tables_and_metrics() -> None:
    text = described("storage")
    assert text.startswith("## `storage` (column: measure)\n")
    assert "### Keys" in text
    assert "### Parameters of `storage`" in text
    assert "| `throughput` | 1/s ↑ | Requests per second |" in text
    assert "as `class.C.METRIC`" in text
    assert described("mm1").splitlines()[2] == (
        "M/M/1: random arrivals, random service times, one server."
    )


def test_the_page_of_python_has_attributes_and_other_names() -> None:
    text = python_front()
    attributes = text.partition("## `Point`")[2].partition("\n## ")[0].partition("Attributes:")[2]
    assert "- `saturation`: The saturated part; None if the point is not saturated." in attributes
    assert "`at(" not in attributes
    assert "- `hr.ValueClaim`: " in text.partition("## Other names")[2]
