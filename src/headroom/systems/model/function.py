"""The system `model` for a function that a program holds: nothing of it needs to be in a file.

A notebook and an interactive session have no file that a worker process could load. So the function
travels to the workers as data, with what it refers to in its own session.

Invariant: results do not depend on the transport. Fingerprints cover the model that the function
builds, so the same function in a file gives the same rows.
"""

import base64
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol.loading import loading
from headroom.experiment.protocol.model_parameters import parameters_of, place_of
from headroom.experiment.protocol.registry import class_path
from headroom.simulation import Model
from headroom.systems.model.system import ModelSetup, ModelSystem, check_end


class FunctionSetup(ModelSetup, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The set-up of a model with its function instead of a file."""

    packed: str
    """The function and its parameters, pickled and in base64."""
    label: str = ""
    """Name of the function, for messages and the report."""


class FunctionSystem(ModelSystem):
    """A model function of the calling program.

    Examples
    --------
    >>> def shop(rate: float = 50.0) -> Model:
    ...     model = Model("shop", time_unit="s")
    ...     visit = model.program("visit")
    ...     visit.use(model.station("till"), 0.01)
    ...     model.open_class("visits", visit, interarrival=1 / rate)
    ...     return model
    >>> setup = FunctionSetup(**packed(shop), completions=100)
    >>> system = FunctionSystem.load(setup, base=Path())
    >>> [parameter.name for parameter in system.parameters()]
    ['rate']
    """

    __slots__ = ()

    setup_type: ClassVar[type[msgspec.Struct]] = FunctionSetup
    carries_functions: ClassVar[bool] = True
    """Bytecode is that of one version of Python."""

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        """Return the system for a validated `setup`; `base` has no meaning here."""
        del base
        if not isinstance(setup, FunctionSetup):
            raise TypeError(f"a FunctionSetup is needed, not {type(setup).__name__}")
        check_end(setup)
        try:
            with loading(setup.label):
                function, declared = pickle.loads(base64.b64decode(setup.packed))  # noqa: S301 - made by `packed` in the calling program
        except (ImportError, AttributeError, pickle.UnpicklingError) as error:
            raise StudyError(
                f"the model function {setup.label!r} cannot be loaded in a worker: {error}",
                cure="import what it uses inside of it, or put it in a file",
            ) from error
        return cls(setup, function, declared)


def packed(function: Callable[..., Model]) -> dict[str, str]:
    """Return a model function as the keys `packed` and `label` of a `FunctionSetup`.

    Raises
    ------
    StudyError
        An argument is not a parameter, or something that the function refers to is not data.
    """
    import cloudpickle  # noqa: PLC0415 - only programs need it, commands do not

    declared = parameters_of(function)
    try:
        content: bytes = cloudpickle.dumps((function, declared))
    except (TypeError, ValueError, pickle.PicklingError, RecursionError) as error:
        raise StudyError(
            f"{place_of(function)}: the model function {function.__name__}() refers to something "
            f"that cannot be sent to a worker: {error}",
            cure="open files and connections inside the function, or pass plain values",
        ) from error
    return {"packed": base64.b64encode(content).decode(), "label": function.__name__}


def table_of(model: Callable[..., Model] | Model) -> dict[str, str]:
    """Return the table `[experiment.system]` of a function, or of a model that was built."""
    if isinstance(model, Model):
        return {"name": class_path(FunctionSystem), **packed(_returning(model))}
    if not (hasattr(model, "__code__") or hasattr(model, "parameters")):
        raise StudyError(
            f"{model!r} is not a model: it is neither a Model nor a function that returns one",
            cure="pass a Model, a function (def shop(rate: float = 50.0) -> Model), or a name",
        )
    return {"name": class_path(FunctionSystem), **packed(model)}


def _returning(model: Model) -> Callable[..., Model]:
    """Return a function without arguments that returns the model."""

    def build() -> Model:
        return model

    build.__name__ = model.name
    return build
