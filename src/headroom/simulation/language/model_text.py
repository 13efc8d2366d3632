"""A model and a program as text: what stands where, in a few lines, also of a large model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.classes import JobClass
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.language.step import Step
from headroom.simulation.laws.distribution import Distribution

if TYPE_CHECKING:
    from headroom.simulation.language.model import Model
    from headroom.simulation.language.program import Program

MOST_PARTS, MOST_STEPS, MOST_LETTERS = 8, 16, 96
"""Lines of stations, pools, classes and programs each; of the steps of a program; their width."""
_NAMES = ("station", "pool", "program", "attribute", "name")
_MAIN = ("service", "time", "count", "value")
"""Amounts of a step that need no name."""


def model_text(model: "Model") -> str:
    """Return a model as text; see `headroom.simulation.Model`."""
    lines = [f"Model {model.name} (times in {model.time_unit})"]
    lines += _few("station", "stations", map(_station, model.stations.values()))
    lines += _few("pool", "pools", map(_pool, model.pools.values()))
    lines += _few("class", "classes", (_class(model, one) for one in model.classes.values()))
    programs = list(model.programs.values())
    for program in programs[:MOST_PARTS]:
        lines += [f"  {line}" for line in program_text(program).split("\n")]
    lines += _rest(len(programs) - MOST_PARTS, "program", "programs")
    return "\n".join(map(_short, lines))


def program_text(program: "Program") -> str:
    """Return the name of a program and its steps as text, blocks indented."""
    lines = list(_steps(program.steps))
    more = [_more(len(lines) - MOST_STEPS, "step", "steps")] if len(lines) > MOST_STEPS else []
    return "\n".join(map(_short, [f"program {program.name}", *lines[:MOST_STEPS], *more]))


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    depth = 1
    for step in steps:
        if step.op == "end":
            depth -= 1
            continue
        yield "  " * depth + _step(step)
        depth += step.op in _BLOCKS


_BLOCKS = {
    *("loop", "branch", "case", "network", "node", "fork", "arm", "attempt", "work", "failed")
}


def _step(step: Step) -> str:
    """Return a step as words: its name, its parts, how much."""
    words = [step.op, *(str(step.data[key]) for key in _NAMES if key in step.data)]
    for key in ("of", "choice"):
        if isinstance(found := step.data.get(key), Mapping):
            words += [str(value) for value in found.values() if isinstance(value, str)]
    if step.data.get("tokens", 1) != 1:
        words.append(f"({step.data['tokens']} tokens)")
    details = [_amount(step.amounts[key]) for key in _MAIN if key in step.amounts]
    details += ["by condition"] if "condition" in step.data else []
    details += [f"{key} {step.data[key]}" for key in ("probability", "quorum") if key in step.data]
    details += [f"{step.data['tries']} tries"] if step.data.get("tries", 1) != 1 else []
    details += [f"{key} {_amount(one)}" for key, one in step.amounts.items() if key not in _MAIN]
    details += [_routes(routes)] if isinstance(routes := step.data.get("to"), list) else []
    return " ".join(words) + (f": {', '.join(details)}" if details else "")


def _amount(amount: Amount) -> str:
    if isinstance(amount, Distribution) and amount.kind == "constant":
        return f"{amount.mean:g}"
    return str(amount)


def _routes(routes: Iterable[Mapping[str, object]]) -> str:
    """Return where a node leads to, with the probabilities that it has."""
    ways = ((one["node"] or "leave", one.get("probability")) for one in routes)
    return "to " + ", ".join(
        f"{node}" if share in {None, 1.0} else f"{node} ({share})" for node, share in ways
    )


def _station(station: Station) -> str:
    if station.discipline == "infinite":
        return f"{station.name}: a server for each job"
    details = [_count(station.servers, "server", "servers")]
    details += [station.discipline] if station.discipline != "fcfs" else []
    details += [f"{what} by schedule" for what in station.schedules]
    details += [f"{station.buffer} more places"] if station.buffer is not None else []
    details += [f"at most {station.limit} served"] if station.limit is not None else []
    return f"{station.name}: {', '.join(details)}"


def _pool(pool: Pool) -> str:
    return f"{pool.name}: {_count(pool.tokens, 'token', 'tokens')}"


def _class(model: "Model", one: JobClass) -> str:
    mix = model.mixes.get(one.mix)
    law = one.law if mix is None else mix.law
    if one.population is None and mix is None:
        how = f"arrivals {one.process or f'every {law}'}"
    else:
        population = one.population if mix is None else mix.population
        how = _count(population or 0, "job", "jobs") + (f", think {law}" if law else "")
        how += f", of mix {mix.name}" if mix is not None else ""
    return f"{one.name}: {how}, program {one.program}"


def _few(one: str, many: str, lines: Iterable[str]) -> list[str]:
    """Return the first lines of a kind of part, and how many more there are."""
    found = list(lines)
    return [f"  {one} {line}" for line in found[:MOST_PARTS]] + _rest(
        len(found) - MOST_PARTS, one, many
    )


def _rest(count: int, one: str, many: str) -> list[str]:
    return [_more(count, one, many)] if count > 0 else []


def _more(count: int, one: str, many: str) -> str:
    return f"  … and {count} more {one if count == 1 else many}"


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _short(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…"
