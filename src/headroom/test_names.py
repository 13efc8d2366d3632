"""What `import headroom` shows: the public names, and nothing else."""

import re
from pathlib import Path

import pytest

import headroom
from headroom import simulation

ABOUT_MODELS = {
    *("canonical_json", "expected_visits", "holds", "law_from_data", "model_data", "nested"),
    *("offered_loads", "simulate"),
}
"""Functions of `headroom.simulation` that ask or run a model instead of building one."""
STUB = Path(headroom.__file__).with_suffix(".pyi")


def test_dir_shows_what_is_public_and_nothing_else() -> None:
    assert dir(headroom) == sorted([*headroom.__all__, "__version__"])
    assert all(hasattr(headroom, name) for name in dir(headroom))


def test_all_that_builds_a_model_is_in_headroom() -> None:
    builds = {name for name in simulation.__all__ if name.islower()} - ABOUT_MODELS
    assert builds <= set(headroom.__all__)
    for name in builds:
        assert getattr(headroom, name) is getattr(simulation, name)


def test_the_stub_types_each_name_from_its_home() -> None:
    typed = re.findall(r"^from ([\w.]+) import (\w+) as \2$", STUB.read_text(), re.MULTILINE)
    assert {name: home for home, name in typed} == vars(headroom)["_HOME_OF"]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'exponentail'"):
        headroom.exponentail  # type: ignore[attr-defined] # noqa: B018
