"""The options of a command are those of the function of Python, or a reason says why not."""

import inspect
from typing import Any

import pytest
import typer

import headroom as hr
from headroom.cli.app import load

OUTPUT = "a program has the values, and prints what it wants"
FRONT = {"as_json": OUTPUT, "color": OUTPUT, "shows_all": OUTPUT, "quiet": "`progress` of Python"}
MODEL = "`arguments` and `parameters` of Python"
RUNS = "Python runs no commands and checks out no commits: it compares results, which it can load"
COMMAND_ONLY = {
    "run": {
        **FRONT,
        "check": "a program reads the verdicts of the claims",
        "dry_run": "a program reads the points of a `Study`",
        "is_salvaged": "a damaged journal is mended once, by hand",
    },
    "compare": {
        **FRONT,
        **dict.fromkeys(
            ("rev", "until", "runs", "max_runs", "max_time_s", "warm_up", "prepare"), RUNS
        ),
        **dict.fromkeys(("time_limit_s", "ignore_failure", "quick"), RUNS),
        "keep": OUTPUT,
    },
    "size": {
        **FRONT,
        "fixed": MODEL,
        "on": "a model may have a parameter of this name",
    },
    "what-if": {**FRONT, "fixed": MODEL, "on": "as of `size`"},
    "solve": {**FRONT, "settings": MODEL},
}
VOICE = {"progress": "`--quiet` of the command"}
OF_MODELS = {"arguments": "`--set` of the command", "parameters": "`--set` of the command"}
SIMULATED = "the command compares no models"
PYTHON_ONLY = {
    "run": VOICE,
    "compare": {
        **VOICE,
        **dict.fromkeys(
            ("replications", "completions", "time_s", "seed", "parameters", "arguments"), SIMULATED
        ),
        "measure_again": "the command has no results without the commits of both",
    },
    "size": {**VOICE, **OF_MODELS},
    "what-if": {**VOICE, **OF_MODELS},
    "solve": OF_MODELS,
}
SUBJECTS = {"models", "study", "subject", "subjects"}
OTHER_DEFAULTS = {
    ("compare", "same_within"): "2% of programs; of models 5%, as in a study",
    ("size", "seed"): "None is 1",
}


def own(name: str) -> dict[str, inspect.Parameter]:
    found = inspect.signature(getattr(hr, name.replace("-", "_"))).parameters
    return {key: one for key, one in found.items() if key not in SUBJECTS}


def options(name: str) -> dict[str, Any]:
    found: Any = typer.main.get_command(load(name))
    return {one.name: one for one in found.params if one.name not in SUBJECTS | {"help"}}


@pytest.mark.parametrize("name", COMMAND_ONLY)
def test_each_option_is_an_argument_of_python_or_has_a_reason_and_each_argument_an_option(
    name: str,
) -> None:
    commands, python = options(name), own(name)
    assert set(commands) - set(python) == set(COMMAND_ONLY[name]) & set(commands)
    assert set(COMMAND_ONLY[name]) - set(commands) <= set(FRONT)
    assert set(python) - set(commands) == set(PYTHON_ONLY[name])


@pytest.mark.parametrize("name", COMMAND_ONLY)
def test_options_and_arguments_have_the_same_default(name: str) -> None:
    commands, python = options(name), own(name)
    differing = {
        (name, key)
        for key in set(commands) & set(python)
        if (commands[key].default or None) != (python[key].default or None)
        and not commands[key].required
    }
    assert differing == {one for one in OTHER_DEFAULTS if one[0] == name}
