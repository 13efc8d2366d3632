"""Declarations of parameters as fields, and what follows from them."""

from typing import Annotated, Literal

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter


class Cup(Declared, frozen=True, kw_only=True):
    """A parameter of each type."""

    size_bytes: Annotated[int, parameter(unit="B", low=8, source="paper")]
    """Size, in a text
    of two lines"""
    tea: Annotated[Literal["green", "black"], parameter(source="assumed")] = "green"
    """Leaves"""
    heat: Annotated[float, parameter(high=1.0, source="assumed")] = 0.5


class Mug(Cup, frozen=True, kw_only=True):
    """A cup with a handle, and less choice."""

    tea: Annotated[Literal["black"], parameter(source="declared")] = "black"
    handle: Annotated[bool, parameter(source="declared")] = True
    """Whether it has one"""


class Broken(Declared, frozen=True, kw_only=True):
    """A cup that nobody can fill."""

    size: Annotated[int, parameter(high=1, source="assumed")] = 2


def test_a_field_is_a_parameter_with_everything_that_a_study_needs() -> None:
    size, tea, heat = declared_by(Cup)
    assert (size.name, size.type, size.unit, size.low) == ("size_bytes", "int", "B", 8)
    assert (size.default, size.description) == (None, "Size, in a text of two lines")
    assert (tea.type, tea.unit, tea.choices, tea.default) == (
        "str",
        "",
        ("green", "black"),
        "green",
    )
    assert (heat.type, heat.unit, heat.high, heat.description) == ("float", "1", 1.0, "")


def test_a_field_that_is_declared_again_keeps_its_place_and_its_text() -> None:
    assert [one.name for one in declared_by(Mug)] == ["size_bytes", "tea", "heat", "handle"]
    assert declared_by(Mug)[1].choices == ("black",)
    assert declared_by(Mug)[1].description == "Leaves"


def test_values_of_a_point_are_typed_and_others_are_left_alone() -> None:
    assert Mug.of({"size_bytes": 9, "beside": 1}) == Mug(size_bytes=9)


def test_an_impossible_default_is_refused_with_its_place() -> None:
    with pytest.raises(StudyError, match=r"Broken\.size: invalid default: .* above its highest"):
        declared_by(Broken)
