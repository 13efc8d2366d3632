"""Studies as files for Headroom and as networks with an exact solution.

Numbers of a model are expressions of its parameters, times in ms. They are written into `model.py`
as they are, and evaluated here for the exact solution.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from benches.answers.exact import Load, Network, Station, solve
from headroom.experiment.study.file.toml_text import toml_text

Level = float | str
_HEAD = """from typing import Annotated
from headroom.simulation import Model, exponential, trace
from headroom.systems.model import parameter

def build({}) -> Model:
    m = Model("m", time_unit="ms")
"""


@dataclass(slots=True, kw_only=True)
class Study:
    """A study; a load has a route and either `interarrival` or `users` and `think`."""

    parameters: dict[str, Level]
    stations: dict[str, dict[str, Any]]
    loads: dict[str, dict[str, Any]]
    factors: dict[str, list[Any]] = field(default_factory=dict)
    limits: list[dict[str, Any]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=lambda: ["response_s_mean", "throughput"])
    compared: str = ""
    asks: list[dict[str, Any]] = field(default_factory=list)
    titles: dict[str, Any] = field(default_factory=dict)
    derived: list[dict[str, Any]] = field(default_factory=list)
    is_zipped: bool = False
    completions: int = 15_000
    seed: int = 1
    name: str = ""

    def rows(self) -> list[dict[str, Level]]:
        """Return the levels of each point."""
        own = self.factors.values()
        rows = zip(*own, strict=True) if self.is_zipped else product(*own)
        return [dict(zip(self.factors, row, strict=True)) for row in rows]

    def exact(self, levels: Mapping[str, Level], change: str = "") -> dict[str, float]:
        """Return the exact metrics at levels of the factors, after a change as in `also`."""
        return solve(self.network(levels, change))

    def network(self, levels: Mapping[str, Level], change: str = "") -> Network:
        """Return the network there."""
        changes = dict(one.split("=") for one in change.split("; ") if one)
        values = {**self.parameters, **levels}
        values |= {n: _changed(values[n], text) for n, text in changes.items() if "." not in n}

        def number(text: object, key: str = "") -> float:
            own = eval(str(text), {}, dict(values))  # noqa: S307 - written in this package
            return float(_changed(own, changes[key]) if key in changes else own)

        stations = {
            name: Station(
                servers=round(number(own.get("servers", 1), f"station.{name}.servers")),
                service=number(own["service"]) / 1e3 / number(1, f"station.{name}.speed"),
                places=own.get("buffer"),
                is_priority="discipline" in own,
            )
            for name, own in self.stations.items()
        }
        loads = {
            name: Load(
                route=own["route"],
                rate=1e3 / number(own["interarrival"]) if _is_rate(own) else 0.0,
                users=round(number(own.get("users", 0))),
                think=number(own.get("think", 0)) / 1e3,
                priority=own.get("priority", 0),
            )
            for name, own in self.loads.items()
        }
        return Network(stations=stations, loads=loads)

    def files(self) -> dict[str, str]:
        """Return `study.toml` and `model.py`."""
        experiment = {
            "name": "load",
            "system": {"name": "model", "file": "model.py", "completions": self.completions},
            **({"zipped": [self.factors]} if self.is_zipped else {"factors": self.factors}),
            "replications": {"count": 5},
            "responses": self.responses,
            "what_if": {"parts": "limits" if self.also else "none", "also": self.also},
            **({"limit": self.limits} if self.limits else {}),
            **({"derived": self.derived} if self.derived else {}),
        }
        if self.compared:
            base = self.factors[self.compared][0]
            experiment["compare"] = {"factor": self.compared, "base": base}
        return {"study.toml": toml_text(self.content(experiment)), "model.py": self._model()}

    def content(self, experiment: dict[str, Any]) -> dict[str, Any]:
        """Return the study with its experiment, as in the file."""
        head = {"schema": 1, "name": self.name, "title": f"{self.name}?", "seed": self.seed}
        asked = {"ask": self.asks, "titles": self.titles}
        return head | {k: own for k, own in asked.items() if own} | {"experiment": [experiment]}

    def _model(self) -> str:
        lines = []
        for name, own in self.stations.items():
            options = [f", {key}={value if key == 'servers' else repr(value)}"
                       for key, value in own.items() if key != "service"]  # fmt: skip
            lines.append(f"{name} = m.station({name!r}{''.join(options)})")
        for name, own in self.loads.items():
            lines.append(f"p = m.program({name!r})")
            lines += [f"p.use({place}, exponential({self.stations[place]['service']}))"
                      for place in own["route"]]  # fmt: skip
            if "users" in own:
                options = [f"population={own['users']}, think=exponential({own['think']})"]
            else:
                times = str(own["interarrival"])
                options = [
                    f"interarrival={times if 'trace' in times else f'exponential({times})'}",
                    f"priority={own.get('priority', 0)}, batch={own.get('batch', 1)}",
                ]
            kind = "closed" if "users" in own else "open"
            lines.append(f"m.{kind}_class({name!r}, p, {', '.join(options)})")
        body = "".join(f"    {line}\n" for line in [*lines, "return m"])
        return _HEAD.format(", ".join(map(self._argument, self.parameters))) + body

    def _argument(self, name: str) -> str:
        value = self.parameters[name]
        low = ", low=1" if isinstance(value, int) else ""
        more = f", choices={tuple(self.factors[name])!r}" if isinstance(value, str) else low
        unit = "" if isinstance(value, str) else "1/s" if name == "rate" else "1"
        declared = f'parameter(unit="{unit}", source="assumed"{more})'
        return f"{name}: Annotated[{type(value).__name__}, {declared}] = {value!r}"


def _is_rate(load: Mapping[str, Any]) -> bool:
    return "trace" not in str(load.get("interarrival", "trace"))


def _changed(value: Any, change: str) -> Any:  # noqa: ANN401 - a number or a word
    if isinstance(value, str):
        return change
    return value * float(change[1:]) if change[0] == "x" else float(change)
