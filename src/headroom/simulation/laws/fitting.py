"""Distributions from measurements: maximum likelihood, choice by AIC, goodness of fit.

Sources: Akaike (1974), A new look at the statistical model identification (AIC); Stephens (1974),
EDF statistics for goodness of fit (Kolmogorov-Smirnov, Anderson-Darling); Stute, Gonzalez Manteiga
& Presedo Quindimil (1993), Bootstrap based goodness-of-fit tests: a law fitted to the sample is
closer to it than the true one, so the tests draw samples from the fitted law and fit those too.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from headroom.simulation.errors import SimulationError, users_location
from headroom.simulation.laws.distribution import Distribution, Values

Floats: TypeAlias = npt.NDArray[np.float64]
Family: TypeAlias = Literal[
    "exponential",
    "uniform",
    "normal",
    "gamma",
    "lognormal",
    "weibull",
    "hyperexponential",
    "pareto",
    "bounded_pareto",
    "erlang",
    "empirical",
]

_FEWEST = 10
_DOUBTFUL_P = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """How a law was fitted to a sample, and how well it fits.

    Parameters
    ----------
    family
        Kind of the law; ``"empirical"`` if the sample itself is the law.
    sample_count
        Number of values.
    sample_mean, sample_c2
        Mean and squared coefficient of variation of the sample.
    law_mean, law_c2
        Those of the law.
    log_likelihood, aic
        Of the fitted law; None for ``"empirical"``.
    ks_distance, ks_p
        Kolmogorov-Smirnov: largest gap between the distribution functions, and how often samples of
        the law itself show such a gap.
    ad_statistic, ad_p
        Anderson-Darling, with more weight on the tails; `ad_p` is None if `bootstrap` is 0.
    bootstrap
        Number of samples behind the p-values; if 0, `ks_p` is approximate and too high, since it
        ignores the fit.
    ranking
        Family and AIC of all that were compared, best first.
    left_out
        Family and reason of those that do not fit the sample.
    probabilities, sample_quantiles, law_quantiles
        For a Q-Q picture.
    """

    family: str
    sample_count: int
    sample_mean: float
    sample_c2: float
    law_mean: float
    law_c2: float
    log_likelihood: float | None = None
    aic: float | None = None
    ks_distance: float | None = None
    ks_p: float | None = None
    ad_statistic: float | None = None
    ad_p: float | None = None
    bootstrap: int = 0
    ranking: tuple[tuple[str, float], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    probabilities: npt.NDArray[np.float64]
    sample_quantiles: npt.NDArray[np.float64]
    law_quantiles: npt.NDArray[np.float64]

    @property
    def is_doubtful(self) -> bool:
        """True if the sample speaks against the law: a p-value below 0.05."""
        return any(p is not None and p < _DOUBTFUL_P for p in (self.ks_p, self.ad_p))

    def __str__(self) -> str:
        lines = [
            f"{self.family} fitted to {self.sample_count} values",
            f"  mean  sample {self.sample_mean:.4g}, law {self.law_mean:.4g}",
            f"  c2    sample {self.sample_c2:.4g}, law {self.law_c2:.4g}",
        ]
        if self.ks_distance is not None:
            approximate = "" if self.bootstrap else ", approximate and too high"
            second = "" if self.ad_p is None else f", p = {self.ad_p:.3g}"
            lines += [
                f"  Kolmogorov-Smirnov distance {self.ks_distance:.4g}, "
                f"p = {self.ks_p:.3g}{approximate}",
                f"  Anderson-Darling statistic {self.ad_statistic:.4g}{second}",
                "  AIC   " + ", ".join(f"{name} {aic:.1f}" for name, aic in self.ranking),
            ]
        if self.is_doubtful:
            lines.append("  the sample speaks against this law; family='empirical' repeats it")
        return "\n".join(lines)


def from_samples(
    values: Values,
    family: Family | None = None,
    *,
    bootstrap: int | None = None,
    seed: int = 1,
) -> Distribution:
    """Return the law that describes measured `values` best; its ``fit`` has the quality.

    Parameters
    ----------
    values
        Ten or more independent measurements (>= 0), in the model's time unit.
    family
        ``"exponential"``, ``"uniform"``, ``"normal"`` (cut at 0), ``"gamma"``, ``"lognormal"``,
        ``"weibull"``, ``"hyperexponential"``, ``"pareto"``, ``"bounded_pareto"``, ``"erlang"``,
        or ``"empirical"`` for the values themselves. By default the one with the lowest AIC.
    bootstrap
        Number of samples behind the p-values. By default 199 up to 1000 values, 99 up to 10 000, 0
        beyond, where every simple law is rejected.
    seed
        Seed of these samples, 0 or more.

    Raises
    ------
    SimulationError
        If the values are too few, negative, not numbers, or all equal, or the family cannot
        describe them.

    Examples
    --------
    >>> from headroom.simulation import exponential
    >>> times = exponential(4).draw(500, seed=2)
    >>> law = from_samples(times, "exponential", bootstrap=0)
    >>> law.kind, round(law.mean, 2), law.fit.sample_count
    ('exponential', 4.34, 500)
    """
    sample = _checked(values)
    _refuse_unknown(family)
    if bootstrap is None:
        bootstrap = next((b for most, b in ((1000, 199), (10_000, 99)) if len(sample) <= most), 0)
    from headroom.simulation.laws import goodness  # noqa: PLC0415 - half a second that few models need

    if family == "empirical":
        return goodness.repeated(sample)
    return goodness.fitted(sample, family=family, bootstrap=bootstrap, seed=seed)


def _checked(values: Values) -> Floats:
    try:
        sample = np.sort(np.asarray(values, dtype=float).reshape(-1))
    except (TypeError, ValueError) as error:
        raise SimulationError(
            f"{users_location()}from_samples: the values must be numbers",
            cure="give a list or an array of numbers",
        ) from error
    if len(sample) < _FEWEST:
        raise SimulationError(
            f"{users_location()}from_samples: {len(sample)} values are too few to fit a "
            "distribution",
            cure=f"give {_FEWEST} or more, or choose a distribution with from_moments(mean, c2)",
        )
    if not np.isfinite(sample).all() or sample[0] < 0:
        bad = int((~(np.isfinite(sample) & (sample >= 0))).sum())
        raise SimulationError(
            f"{users_location()}from_samples: {bad} of {len(sample)} values are negative or "
            "not finite",
            cure="remove values that were not measured; times are 0 or more",
        )
    if sample[0] == sample[-1]:
        raise SimulationError(
            f"{users_location()}from_samples: all {len(sample)} values are {sample[0]:g}",
            cure=f"use constant({sample[0]:g})",
        )
    return sample


def _refuse_unknown(family: str | None) -> None:
    known = get_args(Family)
    if family is not None and family not in known:
        raise SimulationError(
            f"{users_location()}from_samples: unknown family '{family}'",
            cure=f"choose one of {', '.join(known)}",
        )
