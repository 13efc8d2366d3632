"""A whole model parsed into trees, and the call order of its programs."""

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from headroom.simulation.checks.structure import Body, Call, Reply, StartJob, parse, walk
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.model import Model


@dataclass(frozen=True, slots=True)
class Parsed:
    """A model and the trees of its programs, those called before those that call them."""

    model: "Model"
    trees: dict[str, Body]
    leads_to: dict[str, frozenset[str]]
    """Program -> those that it calls or starts itself."""

    def started(self) -> frozenset[str]:
        """Return the programs that jobs start in parallel with themselves."""
        return self._named(StartJob)

    def called(self) -> frozenset[str]:
        """Return the programs that are called."""
        return self._named(Call)

    def reached_from(self, program: str) -> frozenset[str]:
        """Return the programs that a walk of `program` leads to, itself included."""
        reached: set[str] = set()
        waiting = [program]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += sorted(self.leads_to[name])
        return frozenset(reached)

    def _named(self, kind: type[Call] | type[StartJob]) -> frozenset[str]:
        nodes = (node for tree in self.trees.values() for node in walk(tree))
        return frozenset(node.program for node in nodes if isinstance(node, kind))


def parse_model(model: Model) -> Parsed:
    """Read the programs of a model; refuse those that are incomplete or call themselves."""
    trees = {}
    for name, program in model.programs.items():
        if program.open_block:
            raise SimulationError(
                f"{program.steps[-1].location}: program {name!r} never closes its "
                f"{program.open_block}",
                cure="write blocks with `with`, and build the model before using it",
            )
        trees[name] = parse(program)
    ordered = {name: trees[name] for name in _call_order(trees)}
    return Parsed(model, ordered, {name: _leads_to(tree) for name, tree in ordered.items()})


def until_reply(tree: Body) -> Body:
    """Return the steps of a program that its caller may wait for."""
    for index, node in enumerate(tree):
        if isinstance(node, Reply):
            return tree[:index]
    return tree


def _leads_to(tree: Body) -> frozenset[str]:
    nodes = walk(tree)
    return frozenset(node.program for node in nodes if isinstance(node, (Call, StartJob)))


def _call_order(trees: dict[str, Body]) -> list[str]:
    """Return the programs, the called before the callers; refuse programs that call themselves."""
    calls = {
        name: {node.program: node for node in walk(tree) if isinstance(node, Call)}
        for name, tree in trees.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        names = list(reversed(error.args[1]))
        raise SimulationError(
            f"{calls[names[0]][names[1]].location}: programs call themselves: {' -> '.join(names)}",
            cure="use a loop, or break the cycle of calls",
        ) from error
