"""Networks: nodes with routes between them, where loops and branches are not enough."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from headroom.simulation.errors import SimulationError, caller_location
from headroom.simulation.language.amounts import as_condition
from headroom.simulation.language.arguments import choose, is_number
from headroom.simulation.language.blocks import (
    PROBABILITY_TOLERANCE,
    Policy,
    choice_data,
    chosen_by,
    queue_data,
)
from headroom.simulation.language.expression import Expression, Operand
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.language.streams import stream_key
from headroom.simulation.language.with_block import block

if TYPE_CHECKING:
    from headroom.simulation.language.program import Program


class Leave(str):
    """The exit of a network; there is one, `Network.leave`.

    It is the empty text, which is not a valid node name, so it can appear among names.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "leave"


LEAVE: Final = Leave()

Weight: TypeAlias = float | Expression | Station | Pool | None
Routes: TypeAlias = str | Sequence[str] | Mapping[str, Weight]


class Network:
    """The nodes of a network; made by `Program.network`.

    Attributes
    ----------
    leave
        Target of a route that leaves the network.
    """

    leave: Final = LEAVE

    def __init__(self, program: "Program", number: int) -> None:
        self._program = program
        self._number = number
        self._location = caller_location()
        self._targets: dict[str, tuple[tuple[str, ...], str]] = {}

    @block
    def node(
        self,
        name: str,
        *,
        to: Routes,
        policy: Policy = "probability",
        by: Operand | None = None,
    ) -> Iterator[None]:
        """Add a node: the steps of the block, then the way to another node or out.

        Parameters
        ----------
        name
            Unique name within the network.
        to
            One node; or several with a probability each (``{"disk": 0.5, net.leave: 0.5}``), with a
            condition each, of which the first true one is taken and a last None means otherwise
            (``{"big": size > 9, "small": None}``), or with the station or pool whose jobs
            ``"shortest_queue"`` and ``"two_choices"`` count; or a list, for ``"round_robin"``,
            ``"hash"``, ``"index"`` and equal probabilities.
        policy, by
            How a route is chosen, as in `Program.branch`.
        """
        self._check_name(name)
        choose(f"node {name!r}", "policy", policy, get_args(Policy))
        expression = chosen_by(self._program, policy, by)
        weights = self._weights(name, to, policy)
        source = f"program {self._program.name}: network #{self._number} node {name}"
        kind, routes = self._routes(name, weights, policy, source)
        self._targets[name] = (tuple(weights), caller_location())
        data: dict[str, object] = {"name": name, "to": routes, "stream": stream_key(source)}
        if kind != "probability":
            data["choice"] = choice_data(kind, expression, len(routes))
        with self._program._part("node", "network", **data):
            yield

    def _check(self) -> None:
        """Refuse a network without nodes, and routes to nodes that are not there."""
        if not self._targets:
            raise SimulationError(
                f"{self._location}: the network has no node",
                cure="add `with net.node(name, to=...):` blocks",
            )
        for name, (targets, location) in self._targets.items():
            for target in targets:
                if target is not LEAVE and target not in self._targets:
                    raise SimulationError(
                        f"{location}: node {name!r} leads to {target!r}, which is not a node of "
                        "its network",
                        cure=f"choose among {', '.join(map(repr, self._targets))} and net.leave",
                    )

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name.strip() or name in self._targets:
            raise self._program._error(
                f"has a node named {name!r}, which is empty or already used",
                cure="give each node of a network its own name",
            )

    def _weights(self, name: str, to: Routes, policy: Policy) -> dict[str, Weight]:
        """Return target -> weight, whichever way the routes were written."""
        weights: dict[str, Weight]
        if isinstance(to, Mapping):
            weights = dict(to.items())
        elif isinstance(to, str):
            weights = {to: 1.0 if policy == "probability" else None}
        elif isinstance(to, Sequence):
            weights = dict.fromkeys(to, 1 / len(to) if policy == "probability" and to else None)
        else:
            weights = {}
        if not weights or not all(isinstance(target, str) for target in weights):
            raise self._program._error(
                f"gives node {name!r} the routes {to!r}",
                cure="name a node, net.leave, or several of them: to={'disk': 0.5, net.leave: 0.5}",
            )
        return weights

    def _routes(
        self, name: str, weights: dict[str, Weight], policy: Policy, source: str
    ) -> tuple[str, list[dict[str, object]]]:
        """Return how a route is chosen, and the routes as the kernel reads them."""
        kind: str = policy
        if policy == "probability" and any(isinstance(w, Expression) for w in weights.values()):
            kind = "condition"
        match kind:
            case "probability":
                cases = self._probabilities(name, weights)
            case "condition":
                cases = self._conditions(name, weights, source)
            case "shortest_queue" | "two_choices":
                cases = [{"of": self._queue(name, weight)} for weight in weights.values()]
            case _:
                cases = [self._nothing(name, weight, kind) for weight in weights.values()]
        nodes = [None if target is LEAVE else target for target in weights]
        return kind, [{"node": node, **case} for node, case in zip(nodes, cases, strict=True)]

    def _probabilities(self, name: str, weights: Mapping[str, Weight]) -> list[dict[str, object]]:
        shares = [float(w) if is_number(w) else math.nan for w in weights.values()]  # type: ignore[arg-type]
        if not all(0 <= share <= 1 for share in shares):
            raise self._program._error(
                f"gives the routes of node {name!r} the weights {list(weights.values())!r}",
                cure="give probabilities from 0 to 1, or conditions, the last one None",
            )
        if abs(math.fsum(shares) - 1) > PROBABILITY_TOLERANCE:
            raise self._program._error(
                f"gives the routes of node {name!r} probabilities that sum to "
                f"{math.fsum(shares):g}, not 1",
                cure="correct the probabilities; what leaves the network is net.leave",
            )
        return [{"probability": share} for share in shares]

    def _conditions(
        self, name: str, weights: Mapping[str, Weight], source: str
    ) -> list[dict[str, object]]:
        *first, last = weights.values()
        if last is not None:
            raise self._program._error(
                f"gives node {name!r} conditions, but says not where to go if none is true",
                cure="write the last route with None: {'big': size > 9, 'small': None}",
            )
        word = f"the condition of a route of node {name!r}"
        codes = [
            as_condition(condition, word, self._program.model_id).to_code(f"{source}, route {n}")
            for n, condition in enumerate(first, start=1)
        ]
        cases: list[dict[str, object]] = [{"condition": code} for code in codes]
        return [*cases, {}]

    def _queue(self, name: str, weight: Weight) -> dict[str, str]:
        if not isinstance(weight, (Station, Pool)):
            raise self._program._error(
                f"chooses the routes of node {name!r} by queues, but gives {weight!r} for one",
                cure="give each route its station or pool: to={'a': station_a, 'b': station_b}",
            )
        return queue_data(self._program, weight)

    def _nothing(self, name: str, weight: Weight, kind: str) -> dict[str, object]:
        if weight is not None:
            raise self._program._error(
                f"chooses the routes of node {name!r} by {kind}, but gives {weight!r} for one",
                cure="list the nodes alone: to=['a', 'b']",
            )
        return {}
