"""Names that a function and its model both have: told apart, or refused with the cure."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import headroom as hr
from headroom.errors import StudyError


def having(name: str) -> Callable[..., hr.Model]:
    """Return a model function with one parameter, of that name: its mean service time."""

    def build(**config: float) -> hr.Model:
        model = hr.Model("queue", time_unit="s")
        program = model.program("visit")
        program.use(model.station("s"), hr.exponential(config[name]))
        model.closed_class("users", program, population=1)
        return model

    one = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=1.0, annotation=float)
    vars(build)["__signature__"] = inspect.Signature([one])
    return build


FUNCTIONS = ("compare", "fit", "simulate", "size", "solve", "what_if")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_name_that_both_have_is_refused_with_the_cure(function: str) -> None:
    call = getattr(hr, function)
    own = inspect.signature(call).parameters
    names = {*own, *({"jobs"} if "processes" in own else ())} - {"parameters", "arguments"}
    for name in names:
        model = having(name)
        with pytest.raises(StudyError, match=f"both have '{name}'") as caught:
            call(*(["study"] if function == "fit" else []), model, **{name: 0.5})
        assert f'parameters={{"{name}": 0.5}}' in caught.value.cure


@pytest.mark.parametrize("name", ["jobs", "seed", "model", "until", "processes"])
def test_parameters_are_the_models_and_all_else_is_then_the_functions(name: str) -> None:
    model = having(name)
    assert hr.solve(model, parameters={name: 0.5})["throughput"] == 2.0
    found = hr.simulate(
        model, parameters={name: [0.1, 0.5]}, completions=100, replications=2, processes=1, seed=3
    )
    assert [point.levels for point in found.points] == [{name: 0.1}, {name: 0.5}]
    assert found.data.seed == 3
    assert (
        hr.simulate(model, parameters={}, completions=100, replications=2, seed=3).at().levels == {}
    )


def test_the_old_name_of_processes_is_noted_and_many_values_of_an_option_are_refused() -> None:
    short: dict[str, Any] = {"completions": 100, "replications": 2}
    with pytest.warns(FutureWarning, match="`jobs` is now `processes`"):
        hr.simulate("mm1", jobs=1, **short)
    with pytest.raises(StudyError, match="is not a number of processes"):
        hr.simulate("mm1", jobs=[4, 64], **short)
    for option in ("processes", "seed", "replications"):
        with pytest.raises(StudyError, match=f"takes one value of '{option}'"):
            hr.what_if("mm1", "utilization=0.4", **{**short, option: [1, 2]})
    with pytest.raises(StudyError, match="'users' is given twice"):
        hr.solve("interactive", users=3, parameters={"users": 4})
    with pytest.raises(StudyError, match="so a parameter cannot have this name"):
        hr.compare("mm1", "mmc", parameters={"model": 1}, **short)
