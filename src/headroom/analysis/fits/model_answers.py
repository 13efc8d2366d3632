"""Predictions of a model at given parameters: from formulas if possible, else from short runs.

Invariant: deterministic; simulations use the same seeds for all parameters, so that what is asked
twice gets one answer and what is compared meets the same chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from headroom.analysis.formulas import forecast_at
from headroom.analysis.run.distributions import kept_bins
from headroom.analysis.run.summaries import run_values
from headroom.analysis.run.warm_up import choose_cut
from headroom.analysis.run.windows import open_window
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.study.study import WarmUp

Source: TypeAlias = Literal["formulas", "simulation"]

_SIMULATIONS = 3
"""Simulations of each point, with the same seeds for all parameters."""


@dataclass(slots=True)
class ModelAnswers:
    """Predictions of a system at given parameters, each computed once.

    Parameters
    ----------
    system
        The model.
    source
        Who answers.
    """

    system: System
    source: Source
    known: dict[tuple[object, ...], Mapping[str, float]] = field(default_factory=dict)

    def values(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        """Return the metrics at one config; none if there is no steady state."""
        key = tuple(sorted(config.items()))
        if key not in self.known:
            simulates = self.source == "simulation"
            self.known[key] = self._simulated(config) if simulates else self._forecast(config)
        return self.known[key]

    def _forecast(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        forecast = forecast_at(self.system, config)
        return {} if forecast is None else forecast.values

    def _simulated(self, config: Mapping[str, Value]) -> Mapping[str, float]:
        runs = [self.system.run(config, seed=seed) for seed in range(_SIMULATIONS)]
        cut = choose_cut(WarmUp(), runs)
        if cut is not None and not cut.is_steady:
            return {}
        windows = [open_window(run, cut_s=cut.cut_s if cut else 0.0) for run in runs]
        found = [run_values(window, kept_bins(window)) for window in windows if window]
        shared = [name for name in (found[0] if found else {}) if all(name in one for one in found)]
        return {name: float(np.mean([one[name] for one in found])) for name in shared}


def answer_source(
    system: System, config: Mapping[str, Value], metrics: Sequence[str], wanted: str = "automatic"
) -> Source:
    """Return who predicts: what is wanted, or formulas if they know all metrics at `config`."""
    if wanted != "automatic":
        return "formulas" if wanted == "formulas" else "simulation"
    known = forecast_at(system, config)
    is_known = known is not None and all(name in known.values for name in metrics)
    return "formulas" if is_known else "simulation"
