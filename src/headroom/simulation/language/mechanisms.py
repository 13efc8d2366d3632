"""Mechanisms: native, stateful parts of a model whose functions jobs call.

Examples are the head of a disk, the map of a flash device and the contents of a cache: state that
no station and no attribute can hold. A mechanism is created for each run by the name of its kind.
The builder asks the kernel for its functions, so that a wrong name is rejected where it is written.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headroom import _core
from headroom.simulation.errors import SimulationError, refused
from headroom.simulation.language.amounts import as_law
from headroom.simulation.language.expression import Call, Expression, Operand, called
from headroom.simulation.language.streams import stream_key
from headroom.simulation.laws.distribution import Distribution


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a mechanism: its name, the names of its arguments, and its unit."""

    name: str
    arguments: tuple[str, ...]
    is_time: bool

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A native part of a model with its own state; made by `Model.mechanism`."""

    name: str
    kind: str
    parameters: str
    """Canonical JSON."""
    functions: tuple[Function, ...] = field(repr=False)
    model_id: int = field(repr=False)
    location: str = field(default="", repr=False, compare=False)

    def call(
        self, function: str, *arguments: Operand, mean: Distribution | float | None = None
    ) -> Expression:
        """Return the result of `function`, for the job that computes the expression.

        It is called each time the expression is computed: for a service when it begins, else when
        the job comes to the step. Durations come back in the model's time unit. An error of the
        function ends the run.

        Parameters
        ----------
        function
            Name of a function of this kind of mechanism.
        arguments
            Attributes, numbers, distributions (drawn each time) or expressions.
        mean
            Mean of the result (as of an exponential time), or a similar distribution, for analyses
            without a run: `expected_visits`, the check of loads, the solvers. None: unknown to
            them.

        Examples
        --------
        >>> from headroom.simulation import Model, expected_visits, simulate, uniform
        >>> model = Model("disk", time_unit="ms")
        >>> arm = model.mechanism("arm", kind="arm", parameters={"speed": 100_000})
        >>> track, request = model.attribute("track"), model.program("request")
        >>> request.set(track, uniform(0, 1000))
        >>> request.use(model.station("disk"), 2 + arm.call("travel", track, mean=3.3))
        >>> model.closed_class("readers", request, population=4)
        >>> expected_visits(model).demands
        {'readers': {'disk': 5.3}}
        >>> round(simulate(model, seed=1).classes.columns["completion_count"][-1, 0])
        20000
        """
        known = {declared.name: declared for declared in self.functions}
        if function not in known:
            raise refused(
                f"mechanism {self.name!r} of kind {self.kind!r} has no function {function!r}",
                cure=f"{_closest(function, known)}it has {', '.join(map(str, self.functions))}",
            )
        wanted = known[function]
        if len(arguments) != len(wanted.arguments):
            raise refused(
                f"{function} of mechanism {self.name!r} is called with {len(arguments)} arguments",
                cure=f"call {wanted}",
            )
        law = None if mean is None else as_law(mean, f"the mean of {self.name}.{function}")
        call = Call(self.name, function, len(arguments), law)
        return called(call, arguments, self.model_id)

    def to_data(self) -> dict[str, object]:
        """Return the mechanism as the kernel reads it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": json.loads(self.parameters),
            "stream": stream_key(f"mechanism {self.name}"),
        }


def as_mechanism(
    name: str, kind: str, parameters: Mapping[str, object], *, model_id: int, location: str
) -> Mechanism:
    """Return a mechanism; refuse a kind that is not known and parameters that it cannot have."""
    word = f"mechanism {name!r}"
    try:
        text = json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refused(
            f"{word} has parameters that are not plain data: {error}",
            cure="give names with finite numbers, texts, truth values, and lists and mappings of "
            "those",
        ) from error
    try:
        mechanism_functions = _core.mechanism_functions(kind=str(kind), parameters=text.encode())
    except ValueError as error:
        raise SimulationError(
            f"{location}: {word} of kind {kind!r}: {error}", cure="correct its parameters"
        ) from error
    if mechanism_functions is None:
        kinds = _core.MECHANISM_KINDS
        raise refused(
            f"{word} has the kind {kind!r}, which is not known",
            cure=f"{_closest(str(kind), kinds)}known are {', '.join(kinds)}",
        )
    functions = tuple(
        Function(function, tuple(names), is_time)
        for function, names, is_time in mechanism_functions
    )
    return Mechanism(name, kind, text, functions, model_id, location)


def _closest(name: str, known: Iterable[str]) -> str:
    """Return the beginning of a hint: the known name most like `name`, if there is one."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}? " if close else ""
