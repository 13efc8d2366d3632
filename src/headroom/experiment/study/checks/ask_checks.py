"""Check that what a study asks refers to existing names, before anything runs."""

from collections.abc import Mapping

from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.asks import Ask, EffectAsk, SafeAsk, ValueAsk, disagreement
from headroom.experiment.study.checks.claim_checks import check_quantity
from headroom.experiment.study.file.study_file import KeyPath, LoadedStudy
from headroom.experiment.study.plan import PlannedExperiment
from headroom.experiment.study.study import Study


def check_asks(loaded: LoadedStudy, experiments: Mapping[str, PlannedExperiment]) -> None:
    """Raise `StudyError` for the first ask or direction that names what is not there.

    Parameters
    ----------
    loaded
        The study.
    experiments
        Planned experiments of the full variant, by name.
    """
    for name in loaded.study.directions:
        _check_factor(loaded, ("directions", name), name, list(experiments.values()))
    for index, ask in enumerate(loaded.study.asks):
        place = ("ask", index)
        if ask.experiment and ask.experiment not in experiments:
            raise loaded.error(
                (*place, "experiment"),
                f"unknown experiment {ask.experiment!r}",
                cure=suggestion(ask.experiment, experiments),
            )
        own = [experiments[ask.experiment]] if ask.experiment else list(experiments.values())
        for key, name in metrics_of(ask):
            if not any(_has(one, name) for one in own):
                check_quantity(loaded, (*place, key), name, own[0])
        for key, name in _factors_of(ask):
            _check_factor(loaded, (*place, key), name, own)
        if isinstance(ask, EffectAsk) and bool(ask.of) != bool(ask.to):
            raise loaded.error(
                place,
                "an effect is between two settings, and one of them is missing",
                cure="give both `of` and `to`, or neither for a metric that is a ratio",
            )


def _has(experiment: PlannedExperiment, name: str) -> bool:
    is_derived = experiment.derived_named(name) is not None
    return is_derived or any(
        name in {metric.name for metric in experiment.system.metrics(point.config)}
        for point in experiment.points
    )


def metrics_of(ask: Ask) -> list[tuple[str, str]]:
    """Return the metrics that an ask names, each with its key."""
    names = [("metric", ask.metric)]
    if isinstance(ask, SafeAsk):
        names += [("of", ask.of), ("seconds", ask.seconds)]
    if isinstance(ask, SafeAsk | ValueAsk):
        names += [("also", name) for name in ask.also]
    return [(key, name) for key, name in names if name]


def _factors_of(ask: Ask) -> list[tuple[str, str]]:
    names = [("where", name) for name in ask.where]
    if isinstance(ask, EffectAsk):
        names += [("of", name) for name in ask.of] + [("to", name) for name in ask.to]
    names += [(key, getattr(ask, key)) for key in ("factor", "by") if getattr(ask, key, "")]
    return names


def _check_factor(
    loaded: LoadedStudy, place: KeyPath, name: str, experiments: list[PlannedExperiment]
) -> None:
    known = {factor.name for one in experiments for factor in one.factors}
    if name not in known:
        raise loaded.error(place, f"no factor {name!r}", cure=suggestion(name, sorted(known)))


def doubtful_asks(study: Study) -> list[str]:
    """Return a warning for each question whose words ask for another kind of answer."""
    head = [study.question or study.title, *[""] * len(study.asks)]
    pairs = zip(study.asks, head, strict=False)
    told = [(ask.question or prose, ask.kind) for ask, prose in pairs]
    return [f"{text!r}: {why}" for text, kind in told if (why := disagreement(text, kind))]
