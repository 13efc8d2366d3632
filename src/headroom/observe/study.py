"""The study folder of an observation: recorded windows by band of load, and a model fitted to them.

Invariant: data only; the folder replays and predicts on any machine, and needs no trust.
"""

import re
from pathlib import Path
from typing import Any

import msgspec

from headroom.analysis.verdicts.culprits import SATURATED
from headroom.experiment.study.file.toml_text import toml_text
from headroom.observe.answer import Answer
from headroom.observe.regression import bands
from headroom.observe.windows import Observation, Window

_HEADER = """\
# Observed by `headroom observe`: nothing is run, the recorded windows are replayed. `headroom
# what-if` changes the model; another folder of the same server can be compared with this one.
"""
_LEVELS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
_NEAR_FULL = (0.8, 0.95)
"""Shares of the capacity at which the model has levels too."""
_BUSY = {
    "busy_processors": "of the server", "user_processors": "of its programs",
    "system_processors": "in the kernel for it", "others_processors": "of others",
    "steal_processors": "of the hypervisor", "limiting_processors": "of what limits first",
}  # fmt: skip
_METRICS = {
    "throughput": ("1/s", "high", "Operations per second"),
    "cpu_s_per_op": ("s", "low", "Processor time of an operation, background included"),
    **{name: ("1", "none", f"Busy processors {text}") for name, text in _BUSY.items()},
    "throttled_share": ("1", "low", "Share of the time in which a limit held it back"),
}


def write_study(folder: Path, seen: Observation, answer: Answer, lines: list[str]) -> None:
    """Write a study and the lines of the answer into a folder that is new or empty."""
    (folder / "recorded").mkdir(parents=True, exist_ok=True)
    recorded = msgspec.json.format(msgspec.json.encode(_recorded(seen, answer)), indent=1)
    (folder / "recorded" / "observed.json").write_bytes(recorded)
    (folder / "study.toml").write_text(_HEADER + toml_text(_study(seen, answer)), encoding="utf-8")
    text = "\n".join(["# Observed", "", "```text", *lines, "```", ""])
    (folder / "README.md").write_text(text, encoding="utf-8")


def folder_name(target: str) -> str:
    """Return the name of the folder for a target.

    Examples
    --------
    >>> folder_name("port 8080 (nginx)")
    'observed-port-8080'
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", target.partition(" (")[0]).strip("-")
    return f"observed-{words}"[:60].rstrip("-")


def _bands(seen: Observation) -> list[list[int]]:
    return bands(seen.rates) if seen.names else [list(range(len(seen.windows)))]


def _recorded(seen: Observation, answer: Answer) -> dict[str, Any]:
    runs: list[dict[str, Any]] = [
        {
            "levels": {"band": number} if seen.names else {},
            "values": _values(seen.windows[place], seen.names, answer.limit.busy[place]),
            "source": f"headroom observe: {seen.target}",
            "settings": {"at_s": f"{seen.windows[place].at_s:.3f}"},
        }
        for number, band in enumerate(_bands(seen), start=1)
        for place in sorted(band)
    ]
    more = {f"{name}_per_s": ("1/s", "none", f"{name} per second") for name in seen.names[1:]}
    return {"format": 1, "runs": runs, "metrics": [
        {"name": name, "unit": unit, "better": better, "description": text}
        for name, (unit, better, text) in (_METRICS | more).items()
        if any(name in run["values"] for run in runs)
    ]}  # fmt: skip


def _values(window: Window, names: list[str], limiting: float) -> dict[str, float]:
    values = {
        "busy_processors": window.own, "user_processors": window.user,
        "system_processors": window.system, "others_processors": window.others,
        "steal_processors": window.steal, "limiting_processors": limiting,
        "throttled_share": window.throttled,
        **{f"{name}_per_s": window.rates[name] for name in names[1:]},
    }  # fmt: skip
    if names:
        values["throughput"] = rate = window.rates[names[0]]
        values |= {"cpu_s_per_op": window.own / rate} if rate else {}
    return {name: _rounded(value) for name, value in values.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _study(seen: Observation, answer: Answer) -> dict[str, Any]:
    places = _bands(seen)
    observed: dict[str, Any] = {
        "name": "observed",
        "system": {"name": "imported", "file": "recorded/observed.json"},
        "responses": [*(["throughput", "cpu_s_per_op"] if answer.rate else []), "busy_processors"],
        "replications": {"count": max(map(len, places))},
    }
    if seen.names:
        observed["factors"] = {"band": list(range(1, len(places) + 1))}
    study: dict[str, Any] = {
        "schema": 1,
        "name": folder_name(seen.target),
        "title": f"How much more can {seen.target.partition(' (')[0]} carry?",
        "seed": 1,
    }
    if answer.limit.times is None:
        return study | {"experiment": [observed]}
    asks = [{"kind": "capacity", "experiment": "model"}]
    return study | {"ask": asks, "experiment": [observed, _model(answer)]}


def _model(answer: Answer) -> dict[str, Any]:
    """Return the experiment that predicts: a curve for each demand of the answer's interval."""
    limit = answer.limit
    times = [one for one in (limit.low, limit.times, limit.high) if one is not None]
    full_s = limit.room / answer.rate
    near = {float(f"{share * one:.3g}") for one in times for share in _NEAR_FULL}
    levels = sorted(near | {one for one in _LEVELS if min(near) < one < max(near)})
    utilization = "station.processors.utilization"
    return {
        "name": "model",
        "system": {"name": "model", "model": "observed_server", "completions": 20_000},
        "fixed": {"rate": _rounded(answer.rate), "processors": _rounded(limit.room)},
        "factors": {
            "load": levels,
            "service_s": list(dict.fromkeys(float(f"{full_s / one:.3g}") for one in times)),
        },
        "replications": {"count": 3},
        "responses": ["throughput", utilization, "response_s_mean"],
        "limit": [{"metric": utilization, "at_most": SATURATED, "factor": "load"}],
        "what_if": {"parts": "none"},
    }
