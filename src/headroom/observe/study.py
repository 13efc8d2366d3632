"""The study folder of an observation: recorded windows by band of load, and a model fitted to them.

Invariant: data only; the folder replays and predicts on any machine, and needs no trust.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.study.file.toml_text import toml_text
from headroom.observe.answer import FULL, Answer, Series
from headroom.observe.regression import bands
from headroom.observe.windows import Observation, Window

_HEADER = """\
# Observed by `headroom observe`: nothing is run, the recorded windows are replayed. `headroom
# what-if` changes the model; another folder of the same server can be compared with this one.
"""
_DIGITS = 6
_LEVELS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
_NEAR_FULL = (0.7, 0.8, 0.85, 0.95)
"""Shares of the capacity at which the model has levels besides."""
_METRICS = {
    "throughput": ("1/s", "high", "Operations per second"),
    "cpu_s_per_op": ("s", "low", "Processor time of an operation, background included"),
    "busy_processors": ("1", "none", "Processors that the server keeps busy"),
    "user_processors": ("1", "none", "The same in its programs"),
    "system_processors": ("1", "none", "The same in the kernel"),
    "other_processors": ("1", "none", "Processors that others keep busy"),
    "stolen_processors": ("1", "none", "Processors that a hypervisor gave to others"),
    "throttled_share": ("1", "low", "Share of the time in which a limit held it back"),
    "limiting_processors": ("1", "none", "Busy processors of what limits first"),
}


def study_files(seen: Observation, answer: Answer, series: Series) -> dict[str, bytes]:
    """Return the files of the study by their place in its folder."""
    return {
        "study.toml": (_HEADER + toml_text(_study(answer, seen))).encode(),
        "recorded/observed.json": msgspec.json.format(
            msgspec.json.encode(_recorded(seen, series)), indent=1
        ),
    }


def write_study(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a study into a folder that is new or empty."""
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content)


def folder_name(target: str) -> str:
    """Return the name of the folder for a target.

    Examples
    --------
    >>> folder_name("port 8080 (nginx)")
    'observed-port-8080'
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", target.partition(" (")[0]).strip("-")
    return f"observed-{words}"[:60].rstrip("-")


def _recorded(seen: Observation, series: Series) -> dict[str, Any]:
    windows = seen.windows
    first = seen.names[0] if seen.names else ""
    rates = [one.rates[first] if first else 0.0 for one in windows]
    places = bands(rates) if first else [list(range(len(windows)))]
    runs: list[dict[str, Any]] = []
    for number, band in enumerate(places, start=1):
        for place in sorted(band):
            values = _values(windows[place], first, series.busy[place])
            runs.append({
                "levels": {"band": number} if first else {},
                "values": values,
                "source": f"headroom observe: {seen.target}",
                "settings": {"at_s": f"{windows[place].at_s:.3f}"},
            })  # fmt: skip
    used = {name for run in runs for name in run["values"]}
    extra = {f"{name}_per_s": ("1/s", "none", f"{name} per second") for name in seen.names[1:]}
    return {"format": 1, "runs": runs, "metrics": [
        {"name": name, "unit": unit, "better": better, "description": text}
        for name, (unit, better, text) in (_METRICS | extra).items() if name in used
    ]}  # fmt: skip


def _values(window: Window, first: str, limiting: float) -> dict[str, float]:
    rate = window.rates.get(first, 0.0)
    values = {
        "busy_processors": window.own,
        "user_processors": window.user,
        "system_processors": window.system,
        "other_processors": window.others,
        "stolen_processors": window.steal,
        "throttled_share": window.throttled,
        "limiting_processors": limiting,
        **{f"{name}_per_s": rate for name, rate in window.rates.items() if name != first},
    }
    if first:
        values["throughput"] = rate
    if rate > 0.0:
        values["cpu_s_per_op"] = window.own / rate
    return {name: _rounded(value) for name, value in values.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _study(answer: Answer, seen: Observation) -> dict[str, Any]:
    name = answer.target.partition(" (")[0]
    has_rate = bool(seen.names)
    observed: dict[str, Any] = {
        "name": "observed",
        "system": {"name": "imported", "file": "recorded/observed.json"},
        "responses": [*(["throughput", "cpu_s_per_op"] if has_rate and answer.rate else []),
                      "busy_processors"],
    }  # fmt: skip
    count = len(seen.windows)
    if has_rate:
        places = bands([one.rates[seen.names[0]] for one in seen.windows])
        observed["factors"] = {"band": list(range(1, len(places) + 1))}
        count = max(map(len, places))
    observed["replications"] = {"count": count}
    study: dict[str, Any] = {
        "schema": 1,
        "name": folder_name(answer.target),
        "title": f"How much more can {name} carry?",
        "seed": 1,
    }
    if answer.limit.times is None or not answer.rate:
        return study | {"experiment": [observed]}
    asks = [{"kind": "capacity", "experiment": "model"}]
    return study | {"ask": asks, "experiment": [observed, _model(answer)]}


def _model(answer: Answer) -> dict[str, Any]:
    limit, rate = answer.limit, answer.rate or 1.0
    levels = _levels(limit.times or 1.0)
    return {
        "name": "model",
        "system": {"name": "model", "model": "observed_server", "completions": 20_000},
        "fixed": {"rate": _rounded(rate), "processors": _rounded(limit.room)},
        "factors": {"load": levels},
        "replications": {"count": 5},
        "responses": ["throughput", "station.processors.utilization", "response_s_mean"],
        "limit": [
            {
                "metric": "station.processors.utilization",
                "at_most": FULL,
                "factor": "load",
                **({"current": 1.0} if 1.0 in levels else {}),
            }
        ],
        "fit": {
            "from": "observed",
            "method": "observed.demand",
            "options": {
                "busy": "limiting_processors",
                "room_error": _rounded(limit.room_error),
            },
        },
    }


def _levels(times: float) -> list[float]:
    """Return levels of the load around the one that there is room for.

    Examples
    --------
    >>> _levels(2.0)
    [0.5, 0.75, 1.0, 1.25, 1.4, 1.5, 1.6, 1.7, 1.9]
    """
    near = {float(f"{share * times:.3g}") for share in _NEAR_FULL}
    return sorted(near | {one for one in _LEVELS if one < _NEAR_FULL[-1] * times})
