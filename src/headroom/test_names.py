"""What `import headroom` shows: the public names, and nothing else."""

import ast
from pathlib import Path

import pytest

import headroom
from headroom import simulation

ABOUT_MODELS = {
    *("canonical_json", "expected_visits", "holds", "law_from_data", "model_data", "nested"),
    *("offered_loads", "simulate"),
}
"""Functions of `headroom.simulation` that ask or run a model instead of building one."""


def test_headroom_shows_what_is_public_and_has_all_that_builds_a_model() -> None:
    assert dir(headroom) == sorted([*headroom.__all__, "__version__"])
    builds = {name for name in simulation.__all__ if name.islower()} - ABOUT_MODELS
    assert builds <= set(headroom.__all__)
    assert all(getattr(headroom, name) is getattr(simulation, name) for name in builds)


def test_the_stub_types_each_name_from_its_home() -> None:
    stub = ast.parse(Path(headroom.__file__).with_suffix(".pyi").read_text())
    imports = [one for one in stub.body if isinstance(one, ast.ImportFrom)]
    typed = {name.asname: one.module for one in imports for name in one.names}
    assert typed == vars(headroom)["_HOME_OF"]
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = headroom.simulat  # type: ignore[attr-defined]
