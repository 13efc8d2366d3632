"""A model and a program as text: parts and steps, in few lines also of a large model."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.classes import JobClass
from headroom.simulation.language.stations import Station
from headroom.simulation.language.step import Step
from headroom.simulation.laws.distribution import Distribution

if TYPE_CHECKING:
    from headroom.simulation.language.model import Model
    from headroom.simulation.language.program import Program

MOST_PARTS, MOST_STEPS, MOST_LETTERS = 8, 16, 96
"""Stations, pools, classes and programs each; steps of a program; letters of a line."""
_BLOCKS = "loop branch case network node fork arm attempt work failed"
_NAMES = ("station", "pool", "program", "attribute", "name", "of", "choice")
_NUMBERS = ("tokens", "tries", "quorum", "probability")


def model_text(model: "Model") -> str:
    """Return a model as text: a line for each part, then the programs."""
    stations = map(_station, model.stations.values())
    pools = (f"  pool {pool.name}: {pool.tokens} tokens" for pool in model.pools.values())
    classes = (_class(model, one) for one in model.classes.values())
    programs = (program_text(one).replace("\n", "\n  ") for one in model.programs.values())
    parts = (stations, pools, classes, (f"  {text}" for text in programs))
    lines = [line for part in parts for line in _first(part, MOST_PARTS)]
    return "\n".join([f"Model {model.name} (times in {model.time_unit})", *lines])


def program_text(program: "Program") -> str:
    """Return the name of a program and its steps as text, blocks indented."""
    return "\n".join([f"program {program.name}", *_first(_steps(program.steps), MOST_STEPS)])


def _first(texts: Iterable[str], most: int) -> list[str]:
    """Return the lines of the first texts, none too long, and how many more there are."""
    found = list(texts)
    lines = [line for text in found[:most] for line in text.split("\n")]
    short = [line if len(line) < MOST_LETTERS else f"{line[:MOST_LETTERS]}…" for line in lines]
    return short + ([f"  … and {len(found) - most} more"] if len(found) > most else [])


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    depth = 1
    for step in steps:
        depth -= step.op == "end"
        if step.op != "end":
            yield "  " * depth + _step(step)
        depth += step.op in _BLOCKS.split()


def _step(step: Step) -> str:
    """Return the name of a step and its parts, then its amounts."""
    words = [step.op]
    for part in (step.data[key] for key in _NAMES if key in step.data):
        words += map(str, part.values() if isinstance(part, dict) else [part])
    details = [f"{key} {step.data[key]}" for key in _NUMBERS if step.data.get(key, 1) != 1]
    details += [f"{key} {_amount(amount)}" for key, amount in step.amounts.items()]
    if isinstance(ways := step.data.get("to"), list):
        details.append("to " + " or ".join(way["node"] or "leave" for way in ways))
    return " ".join(words) + (f": {', '.join(details)}" if details else "")


def _amount(amount: Amount) -> str:
    if isinstance(amount, Distribution) and amount.kind == "constant":
        return f"{amount.mean:g}"
    return str(amount)


def _station(station: Station) -> str:
    servers = f"{station.servers} server{'s' * (station.servers != 1)}"
    how = {"fcfs": servers, "infinite": "a server for each job"}
    return f"  station {station.name}: " + how.get(
        station.discipline, f"{servers}, {station.discipline}"
    )


def _class(model: "Model", one: JobClass) -> str:
    jobs = model.mixes.get(one.mix, one)
    how = f"arrivals {one.process or f'every {one.law}'}"
    if jobs.population is not None:
        how = f"{jobs.population} jobs" + (f", think {jobs.law}" if jobs.law else "")
    return f"  class {one.name}: {how}, program {one.program}"
