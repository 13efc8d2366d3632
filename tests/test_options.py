"""An option of a command is an argument of the function of Python, or a reason says why not."""

import inspect
from typing import Any

import pytest
import typer

import headroom as hr
from headroom.cli.app import load

OUTPUT = dict.fromkeys(
    ("as_json", "color", "keep", "shows_all"), "a program has the values, and prints what it wants"
)
VOICE = {"quiet": "it is `progress` in Python", "progress": "it is `--quiet` of the command"}
OF_MODELS = dict.fromkeys(
    ("arguments", "fixed", "parameters"), "`--set` of the command, named by the model in Python"
)
SHORT = {**OF_MODELS, "on": "a model may have a parameter of this name"}
MEASURED = ("rev", "until", "runs", "max_runs", "max_time_s", "warm_up", "prepare", "time_limit_s")
SIMULATED = ("replications", "completions", "time_s", "seed", "arguments", "parameters")
ALONE = {
    "run": {
        "check": "a program reads the verdicts of the claims",
        "dry_run": "a program reads the points of its study",
        "is_trusted": "a program asks nobody: its folder is trusted beforehand",
        "is_salvaged": "a damaged journal is mended once, by hand",
    },
    "compare": {
        **dict.fromkeys((*MEASURED, "ignore_failure"), "Python runs no commands"),
        **dict.fromkeys(SIMULATED, "the command compares no models"),
        "quick": "Python has loaded the variant that it compares",
        "measure_again": "the command always may",
    },
    "size": SHORT,
    "what-if": SHORT,
    "solve": {**OF_MODELS, "settings": "as of models elsewhere"},
}
"""What only one of the two has, and why."""
OTHER_DEFAULTS = {
    ("compare", "same_within"): "2% of programs; of models 5%, as in a study",
    ("size", "seed"): "none is 1",
}
SUBJECTS = {"models", "study", "subject", "subjects", "help"}


def defaults(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the defaults of a command and of its function."""
    command: Any = typer.main.get_command(load(name))
    arguments = inspect.signature(getattr(hr, name.replace("-", "_"))).parameters.values()
    found = ({one.name: one.default for one in command.params},
             {one.name: one.default for one in arguments})  # fmt: skip
    no = (inspect.Parameter.empty, (), False)
    ours, theirs = ({key: None if one in no else one for key, one in each.items()
                     if key not in SUBJECTS} for each in found)  # fmt: skip
    return ours, theirs


@pytest.mark.parametrize("name", ALONE)
def test_a_command_and_its_function_have_the_same_options_with_the_same_defaults(name: str) -> None:
    command, python = defaults(name)
    alone = {**OUTPUT, **VOICE, **ALONE[name]}
    assert set(command) ^ set(python) <= set(alone)
    assert set(ALONE[name]) - set(OF_MODELS) <= set(command) ^ set(python)
    differing = {(name, key) for key in set(command) & set(python) if command[key] != python[key]}
    assert differing == {key for key in OTHER_DEFAULTS if key[0] == name}


def test_python_refuses_the_numbers_that_the_command_refuses() -> None:
    with pytest.raises(hr.HeadroomError, match="'processes' is 0, below its lowest value 1"):
        hr.run("nowhere", processes=0)
    with pytest.raises(hr.HeadroomError, match=r"'confidence' is 0\.3, below its lowest"):
        hr.size("mm1", target="throughput>=1/s", over={"utilization": [0.5]}, confidence=0.3)
    with pytest.raises(hr.HeadroomError, match="'replications' is 1, below its lowest value 2"):
        hr.what_if("mm1", replications=1)
