"""Check that the windows and the analysis of an experiment fit its system, before anything runs."""

from collections.abc import Sequence

import msgspec

from headroom.experiment.protocol.asked_metrics import asked_in
from headroom.experiment.protocol.system import System
from headroom.experiment.study.asks import Ask
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.study import Claim, Experiment
from headroom.experiment.study.variants import Variant
from headroom.experiment.study.windows import WORST, Analysis, HasWindows, TimeWindows, with_windows


def time_windows(spec: Experiment, further: Sequence[Claim | Ask] = ()) -> TimeWindows:
    """Return the windows of an experiment, its analysis, and the percentiles that are asked for.

    A study that cuts a warm-up means a steady state, whatever the arrivals do.

    Examples
    --------
    >>> one = Experiment(name="load", system={"name": "model"}, responses=["response_s_p80"])
    >>> time_windows(one).analysis, time_windows(one).metrics
    ('automatic', ('response_s_p80',))
    """
    asked = asked_in(msgspec.to_builtins([spec, *further]))
    return TimeWindows(
        windows=tuple(spec.windows),
        analysis=analysis_of(spec),
        metrics=tuple(dict.fromkeys(asked)),
    )


def analysis_of(spec: Experiment) -> Analysis:
    """Return how the runs of an experiment are analysed, as far as the study states it."""
    if spec.analysis == "automatic" and spec.warm_up.method in ("fixed", "mser5"):
        return "steady-state"
    return spec.analysis


def checked_windows(loaded: LoadedStudy, variant: Variant, system: System) -> System:
    """Return the system with the windows of its experiment.

    Raises
    ------
    StudyError
        A window is impossible, the system keeps none, or the warm-up contradicts the analysis.
    """
    spec = variant.spec
    if spec.analysis == "terminating" and spec.warm_up.method in ("fixed", "mser5"):
        raise loaded.error(
            variant.key_path("warm_up"),
            'a warm-up is cut, but `analysis = "terminating"` keeps runs whole',
            cure="remove warm_up, or declare a window that starts later",
        )
    _check_windows(loaded, variant)
    if spec.windows and not isinstance(system, HasWindows):
        raise loaded.error(
            variant.key_path("window"),
            f"runs of the system {system.name!r} record no statistics per interval, so windows "
            "are not possible",
            cure="remove the windows (only models have them); of a measured system make the "
            "stretch a run of its own",
        )
    return with_windows(system, time_windows(spec, [*loaded.study.claims, *loaded.study.asks]))


def _check_windows(loaded: LoadedStudy, variant: Variant) -> None:
    seen: set[str] = set()
    for number, window in enumerate(variant.spec.windows):
        place = variant.key_path("window", number)
        if window.name in seen or window.name == WORST:
            raise loaded.error(
                (*place, "name"),
                f"duplicate window {window.name!r}"
                if window.name in seen
                else f"the name {WORST!r} is that of the worst window of each metric",
                cure="give each window its own name",
            )
        seen.add(window.name)
        if not window.from_s < window.to_s:
            raise loaded.error(
                place,
                f"window {window.name!r} ends at {window.to_s:g} s, "
                f"but starts at {window.from_s:g} s",
                cure="make to_s larger than from_s",
            )
