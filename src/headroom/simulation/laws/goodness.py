"""Choice among fitted laws, and the distance of a sample from each.

This module is slow to import because it loads SciPy's statistics. `from_samples` loads it on
demand.

Sources: as in `headroom.simulation.laws.fitting`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from headroom.simulation.errors import SimulationError, users_location
from headroom.simulation.laws.discrete_laws import empirical
from headroom.simulation.laws.distribution import Distribution
from headroom.simulation.laws.families import (
    FAMILIES,
    FitError,
    Floats,
    fit_family,
    log_likelihood,
    reference,
)
from headroom.simulation.laws.fitting import Fit

_POINTS = 100


def repeated(sample: Floats) -> Distribution:
    """Return the sorted `sample` itself as a law."""
    law = empirical(sample)
    return replace(law, fit=_report(law, sample))


def fitted(sample: Floats, *, family: str | None, bootstrap: int, seed: int) -> Distribution:
    """Return the law for the sorted `sample`, of `family` or of that with the lowest AIC."""
    # Gamma holds Erlang, with as many parameters.
    wanted = [name for name in FAMILIES if name != "erlang"] if family is None else [family]
    laws, left_out = _candidates(wanted, sample)
    if not laws:
        raise SimulationError(
            f"{users_location()}from_samples: {family} cannot describe the sample: "
            f"{left_out[0][1]}",
            cure="leave the family out, or choose family='empirical'",
        )
    ranking = sorted((_aic(law, sample), name) for name, law in laws.items())
    best = laws[ranking[0][1]]
    report = _with_tests(_report(best, sample), best, sample, bootstrap, seed)
    ranked = tuple((name, aic) for aic, name in ranking)
    return replace(best, fit=replace(report, ranking=ranked, left_out=tuple(left_out)))


def _candidates(
    names: Sequence[str], sample: Floats
) -> tuple[dict[str, Distribution], list[tuple[str, str]]]:
    laws: dict[str, Distribution] = {}
    left_out = []
    for name in names:
        try:
            laws[name] = fit_family(name, sample)
        except FitError as error:
            left_out.append((name, str(error)))
    return laws, left_out


def _aic(law: Distribution, sample: Floats) -> float:
    return 2 * FAMILIES[law.kind].parameter_count - 2 * log_likelihood(law, sample)


def _report(law: Distribution, sample: Floats) -> Fit:
    count = min(len(sample), _POINTS)
    probabilities = (np.arange(count) + 0.5) / count
    of_sample = np.quantile(sample, probabilities, method="hazen")
    is_sample = law.kind == "empirical"
    return Fit(
        family=law.kind,
        sample_count=len(sample),
        sample_mean=float(sample.mean()),
        sample_c2=float(sample.var() / sample.mean() ** 2),
        law_mean=law.mean,
        law_c2=law.c2,
        probabilities=probabilities,
        sample_quantiles=of_sample,
        law_quantiles=of_sample if is_sample else np.asarray(reference(law).ppf(probabilities)),
    )


def _with_tests(report: Fit, law: Distribution, sample: Floats, bootstrap: int, seed: int) -> Fit:
    distance, statistic = _distances(law, sample)
    report = replace(
        report,
        log_likelihood=log_likelihood(law, sample),
        aic=_aic(law, sample),
        ks_distance=distance,
        ad_statistic=statistic,
    )
    if bootstrap == 0:
        return replace(report, ks_p=float(scipy.stats.kstwo.sf(distance, len(sample))))
    others = _bootstrapped(law, len(sample), bootstrap, seed)
    return replace(
        report,
        ks_p=_share_beyond(distance, [pair[0] for pair in others]),
        ad_p=_share_beyond(statistic, [pair[1] for pair in others]),
        bootstrap=len(others),
    )


def _bootstrapped(
    law: Distribution, count: int, bootstrap: int, seed: int
) -> list[tuple[float, float]]:
    """Return the distances of samples of `law`, each from the law that is fitted to it."""
    generator = np.random.default_rng(seed)
    distances = []
    for _ in range(bootstrap):
        sample = np.sort(reference(law).rvs(size=count, random_state=generator))
        try:
            distances.append(_distances(fit_family(law.kind, sample), sample))
        except FitError:  # a sample of a law next to the edge of its family
            continue
    return distances


def _share_beyond(value: float, others: Sequence[float]) -> float:
    return (1 + sum(other >= value for other in others)) / (1 + len(others))


def _distances(law: Distribution, sample: Floats) -> tuple[float, float]:
    """Return the statistics of Kolmogorov and Smirnov and of Anderson and Darling."""
    known = reference(law)
    count = len(sample)
    lower = np.maximum(known.logcdf(sample), _LEAST_LOG)
    upper = np.maximum(known.logsf(sample), _LEAST_LOG)
    ranks = np.arange(1, count + 1)
    share = np.exp(lower)
    distance = max((ranks / count - share).max(), (share - (ranks - 1) / count).max())
    statistic = -count - float(np.mean((2 * ranks - 1) * (lower + upper[::-1])))
    return float(distance), statistic


# Stands for the logarithm of 0 at the ends of a bounded law, which the sample itself sets.
_LEAST_LOG = math.log(1e-16)
