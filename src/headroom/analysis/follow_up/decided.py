"""When a change was tried often enough: the stopping rule of `headroom what-if`.

After 5, 8, 12, 18 ... pairs the rule looks at the ratio of each metric. It stops as soon as all are
decided: their interval tells that there is an effect, or that there is none worth the name. Looks
before the last one decide by an interval of 99.9%, so they add next to nothing to the error of the
last, and the interval that is printed needs no correction.

Invariant: the answer depends on the pairs alone, in their order.

Sources: Peto et al., *British Journal of Cancer* 34 (1976), section 8 of part I, after Haybittle,
*British Journal of Radiology* 44 (1971).
"""

from collections.abc import Callable, Sequence

from headroom.analysis.follow_up.stopping import looks
from headroom.analysis.follow_up.tried import NO_GAIN
from headroom.analysis.results import Effect
from headroom.experiment.protocol.run import Run
from headroom.experiment.study.plan import PlannedExperiment, Point

EARLY_CONFIDENCE = 0.999
FEWEST, MOST = 5, 60
"""Pairs at the first and at the last look."""


def is_decided(effect: Effect) -> bool:
    """Return whether an interval tells a gain or a loss, or that neither exceeds `NO_GAIN`.

    Examples
    --------
    >>> effect = Effect(metric="throughput", unit="1/s", better="high", before=1.0, after=1.2,
    ...     ratio=1.2, low=1.1, high=1.3, pairs=5, variance_reduction=None)
    >>> from msgspec.structs import replace
    >>> [is_decided(replace(effect, low=low)) for low in (1.1, 0.9, None)]
    [True, False, False]
    """
    low, high = effect.low, effect.high
    if low is None or high is None:
        return False
    return low > 1.0 or high < 1.0 or (low >= 1.0 / NO_GAIN and high <= NO_GAIN)


class DecidedRule:
    """Adds pairs until the effects are decided; see `headroom.experiment.runner.StoppingRule`.

    Parameters
    ----------
    effects
        Returns the effects of a changed point over its first runs, at `EARLY_CONFIDENCE`.
    most
        Pairs at the last look, >= `FEWEST`.
    """

    def __init__(
        self,
        effects: Callable[[PlannedExperiment, Point, Sequence[Run]], Sequence[Effect]],
        most: int,
    ) -> None:
        self._effects = effects
        self._looks = list(looks(minimum=FEWEST, maximum=most))

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return whether some effect is open after each look so far."""
        return len(runs) < self._looks[-1] and not any(
            self._is_over(self._effects(experiment, point, runs[:look]))
            for look in self._looks
            if look <= len(runs)
        )

    def next_look(self, experiment: PlannedExperiment, count: int) -> int:
        """Return the number of pairs, above `count`, at which the rule looks next."""
        del experiment
        return next((look for look in self._looks if look > count), count + 1)

    def _is_over(self, effects: Sequence[Effect]) -> bool:
        told = [effect for effect in effects if effect.better != "none"]
        return bool(told) and all(map(is_decided, told))
