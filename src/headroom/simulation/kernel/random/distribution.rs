//! Distributions as the model states them, and their compiled forms.
//!
//! A draw uses only the four operations, the square root and the `libm` crate (`rand_distr` is
//! built without `std_math`), so it has the same bits on every machine.
//!
//! Sources: the balanced-means fit of the hyperexponential as in Allen (1990), *Probability,
//! Statistics and Queueing Theory*, section 3.2.9; Cox (1955), *A use of complex probabilities in
//! the theory of stochastic processes* (phases in series, each of which may be the last).

use rand_distr::{Gamma, LogNormal, Normal, Pareto, Triangular, Weibull};
use serde::Deserialize;

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::quantile::{Branch, Inverse, Quantile};
use crate::simulation::kernel::random::sampler::{Mixture, Nurand, Replay};
use crate::simulation::kernel::random::special::normal_upper;
use crate::simulation::kernel::random::zipf::{Zipf, ZipfQuantile};
use crate::simulation::kernel::time::whole_ticks;

pub use crate::simulation::kernel::random::quantile::Sampling;
pub use crate::simulation::kernel::random::sampler::Sampler;

/// A distribution as stated in the model; durations in time units, `c2` is the squared
/// coefficient of variation.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the parameters carry the textbook names")]
pub enum Distribution {
    /// Always the same value.
    Constant { value: f64 },
    /// Equally likely between two bounds.
    Uniform { low: f64, high: f64 },
    /// Memoryless, c2 = 1.
    Exponential { mean: f64 },
    /// Sum of equal exponential stages, c2 = 1 / stages.
    Erlang { mean: f64, stages: u32 },
    /// Gamma by mean and c2.
    Gamma { mean: f64, c2: f64 },
    /// Two exponential branches with balanced means, c2 > 1.
    Hyperexponential { mean: f64, c2: f64 },
    /// Lognormal by mean and c2.
    Lognormal { mean: f64, c2: f64 },
    /// Weibull by scale and shape.
    Weibull { scale: f64, shape: f64 },
    /// Pareto from `low` upwards.
    Pareto { low: f64, shape: f64 },
    /// Pareto between two bounds.
    BoundedPareto { low: f64, high: f64, shape: f64 },
    /// Normal, drawn again while negative; `mean` and `deviation` before the truncation.
    Normal { mean: f64, deviation: f64 },
    /// Triangular.
    Triangular { low: f64, mode: f64, high: f64 },
    /// One of the values, equally likely.
    Empirical { values: Vec<f64> },
    /// One of the values by weight.
    Discrete { values: Vec<f64>, weights: Vec<f64> },
    /// Whole numbers from `low` on, memoryless.
    Geometric { mean: f64, low: u64 },
    /// 1 to `count`, the k-th in proportion to k^-exponent.
    Zipf { count: u64, exponent: f64 },
    /// Record numbers of TPC-C.
    Nurand { a: u64, low: u64, high: u64, c: u64 },
    /// The values in their order.
    Replay { values: Vec<f64>, at_end: AtEnd },
    /// Exponential phases in series; after phase i the next one follows with probability i.
    Coxian { means: Vec<f64>, onward: Vec<f64> },
    /// A draw of each law, added up.
    Sum { laws: Vec<Distribution> },
    /// A draw of one of the laws, by weight.
    Mixture {
        weights: Vec<f64>,
        laws: Vec<Distribution>,
    },
    /// A draw times `factor`.
    Scaled { factor: f64, law: Box<Distribution> },
}

/// The behaviour of a replay after its last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// Start again with the first value.
    Repeat,
    /// There is no further value.
    Stop,
}

/// Largest whole number that a float distinguishes from its neighbours.
const LARGEST_WHOLE: u64 = 1 << 53;
/// Most phases of a Coxian law.
const MOST_PHASES: usize = 1000;

impl Distribution {
    /// Compile for drawing in units of 1/`scale`, by the quickest method.
    ///
    /// # Errors
    ///
    /// Fails if a parameter is outside its range.
    pub fn compile(&self, scale: f64) -> Result<Sampler, SimulationError> {
        self.compile_as(scale, Sampling::Fast)
    }

    /// Compile for drawing in units of 1/`scale` as `sampling` says.
    ///
    /// # Errors
    ///
    /// Fails if a parameter is outside its range.
    pub fn compile_as(&self, scale: f64, sampling: Sampling) -> Result<Sampler, SimulationError> {
        self.check()?;
        if let Some(sampler) = self.composed(scale, sampling)? {
            return Ok(sampler);
        }
        let sampler = match (sampling, self) {
            // The logarithm decides a geometric number at once, so there is nothing quicker.
            (Sampling::Fast, Self::Geometric { .. }) | (Sampling::Inversion, _) => {
                Ok(self.inverse(scale, Sampling::Inversion))
            }
            (Sampling::Antithetic, _) => Ok(self.inverse(scale, Sampling::Antithetic)),
            (Sampling::Fast, _) => self.fast(scale),
        };
        sampler.map_err(|reason| SimulationError::Invalid(format!("{self:?}: {reason}")))
    }

    /// Compile a law that takes no random number, or is made of other laws.
    fn composed(&self, scale: f64, sampling: Sampling) -> Result<Option<Sampler>, SimulationError> {
        let compile = |law: &Self| law.compile_as(scale, sampling);
        Ok(Some(match *self {
            Self::Constant { value } => Sampler::Constant(whole_ticks(value * scale)),
            Self::Nurand { a, low, high, c } => Sampler::Nurand(Box::new(Nurand {
                a,
                low,
                high,
                c,
                unit: scale,
                sampling,
            })),
            Self::Replay { ref values, at_end } => Sampler::Replay(Box::new(Replay::new(
                ticks_of(values, scale).into(),
                at_end == AtEnd::Repeat,
            ))),
            Self::Sum { ref laws } => {
                Sampler::Sum(laws.iter().map(compile).collect::<Result<_, _>>()?)
            }
            Self::Mixture {
                ref weights,
                ref laws,
            } => {
                let parts = laws.iter().map(compile).collect::<Result<_, _>>()?;
                Sampler::Mixture(Box::new(Mixture::new(weights, parts, sampling)))
            }
            Self::Scaled { factor, ref law } => law.compile_as(scale * factor, sampling)?,
            Self::Coxian {
                ref means,
                ref onward,
            } => coxian(means, onward, scale, sampling)?,
            _ => return Ok(None),
        }))
    }

    /// Compile to the quickest method.
    fn fast(&self, scale: f64) -> Result<Sampler, String> {
        Ok(match *self {
            Self::Uniform { low, high } => Sampler::Uniform(low * scale, (high - low) * scale),
            Self::Exponential { mean } => Sampler::Exponential(mean * scale),
            Self::Erlang { mean, stages } => gamma(f64::from(stages), mean * scale)?,
            Self::Gamma { mean, c2 } => gamma(1.0 / c2, mean * scale)?,
            Self::Hyperexponential { mean, c2 } => {
                let [first, second] = balanced(mean * scale, c2);
                Sampler::Hyperexponential(first.probability, first.mean, second.mean)
            }
            Self::Lognormal { mean, c2 } => {
                let (location, deviation) = lognormal(mean * scale, c2);
                Sampler::Lognormal(LogNormal::new(location, deviation).map_err(text)?)
            }
            Self::Weibull { scale: size, shape } => {
                Sampler::Weibull(Weibull::new(size * scale, shape).map_err(text)?)
            }
            Self::Pareto { low, shape } => {
                Sampler::Pareto(Pareto::new(low * scale, shape).map_err(text)?)
            }
            Self::BoundedPareto { low, high, shape } => {
                let span = 1.0 - libm::pow(low / high, shape);
                Sampler::BoundedPareto(low * scale, span, -1.0 / shape)
            }
            Self::Normal { mean, deviation } => {
                Sampler::Normal(Normal::new(mean * scale, deviation * scale).map_err(text)?)
            }
            Self::Triangular { low, mode, high } => Sampler::Triangular(
                Triangular::new(low * scale, high * scale, mode * scale).map_err(text)?,
            ),
            Self::Empirical { ref values } => Sampler::Empirical(ticks_of(values, scale)),
            Self::Discrete {
                ref values,
                ref weights,
            } => Sampler::Discrete(Box::new((
                AliasTable::new(weights),
                ticks_of(values, scale),
            ))),
            Self::Zipf { count, exponent } => {
                Sampler::Zipf(Box::new((Zipf::new(count as f64, exponent), scale)))
            }
            _ => unreachable!("{self:?} is composed or drawn by inversion"),
        })
    }

    /// Compile to inversion.
    fn inverse(&self, scale: f64, sampling: Sampling) -> Sampler {
        let quantile = match *self {
            Self::Uniform { low, high } => Quantile::Uniform {
                low: low * scale,
                width: (high - low) * scale,
            },
            Self::Exponential { mean } => Quantile::Exponential { mean: mean * scale },
            Self::Erlang { mean, stages } => gamma_quantile(f64::from(stages), mean * scale),
            Self::Gamma { mean, c2 } => gamma_quantile(1.0 / c2, mean * scale),
            Self::Hyperexponential { mean, c2 } => Quantile::Hyperexponential {
                branches: balanced(mean * scale, c2),
            },
            Self::Lognormal { mean, c2 } => {
                let (location, deviation) = lognormal(mean * scale, c2);
                Quantile::Lognormal {
                    location,
                    deviation,
                }
            }
            Self::Weibull { scale: size, shape } => Quantile::Weibull {
                scale: size * scale,
                power: 1.0 / shape,
            },
            Self::Pareto { low, shape } => Quantile::Pareto {
                low: low * scale,
                power: -1.0 / shape,
            },
            Self::BoundedPareto { low, high, shape } => Quantile::BoundedPareto {
                low: low * scale,
                span: 1.0 - libm::pow(low / high, shape),
                power: -1.0 / shape,
            },
            Self::Normal { mean, deviation } => Quantile::Normal {
                mean: mean * scale,
                deviation: deviation * scale,
                kept: normal_upper(-mean / deviation),
            },
            Self::Triangular { low, mode, high } => Quantile::Triangular {
                low: low * scale,
                mode: mode * scale,
                high: high * scale,
            },
            Self::Empirical { ref values } => {
                Quantile::steps(&scaled(values, scale), &vec![1.0; values.len()])
            }
            Self::Discrete {
                ref values,
                ref weights,
            } => Quantile::steps(&scaled(values, scale), weights),
            Self::Geometric { mean, low } => Quantile::Geometric {
                low: low as f64,
                log_failure: libm::log1p(-1.0 / (mean - low as f64 + 1.0)),
                unit: scale,
            },
            Self::Zipf { count, exponent } => Quantile::Zipf {
                law: ZipfQuantile::new(count as f64, exponent),
                unit: scale,
            },
            _ => unreachable!("{self:?} is composed"),
        };
        Sampler::Inverse(Box::new(Inverse { quantile, sampling }))
    }

    /// Refuse parameters outside their range.
    fn check(&self) -> Result<(), SimulationError> {
        let is_valid = match *self {
            Self::Constant { value } => is_duration(value),
            Self::Uniform { low, high } => is_duration(low) && is_duration(high) && low <= high,
            Self::Exponential { mean } => is_positive(mean),
            Self::Erlang { mean, stages } => is_positive(mean) && stages >= 1,
            Self::Gamma { mean, c2 } | Self::Lognormal { mean, c2 } => {
                is_positive(mean) && is_positive(c2)
            }
            Self::Hyperexponential { mean, c2 } => is_positive(mean) && c2.is_finite() && c2 > 1.0,
            Self::Weibull { scale, shape } => is_positive(scale) && is_positive(shape),
            Self::Pareto { low, shape } => is_positive(low) && is_positive(shape),
            Self::BoundedPareto { low, high, shape } => {
                is_positive(low) && high.is_finite() && low < high && is_positive(shape)
            }
            Self::Normal { mean, deviation } => is_duration(mean) && is_positive(deviation),
            Self::Triangular { low, mode, high } => {
                is_duration(low) && low <= mode && mode <= high && low < high && high.is_finite()
            }
            Self::Empirical { ref values } | Self::Replay { ref values, .. } => {
                are_durations(values)
            }
            Self::Discrete {
                ref values,
                ref weights,
            } => are_durations(values) && are_weights(weights) && values.len() == weights.len(),
            Self::Geometric { mean, low } => {
                low <= LARGEST_WHOLE && is_duration(mean) && mean >= low as f64
            }
            Self::Zipf { count, exponent } => {
                (1..=LARGEST_WHOLE).contains(&count) && is_positive(exponent)
            }
            Self::Nurand { a, low, high, c } => {
                let is_small = [a, low, high, c].iter().all(|&n| n < u64::from(u32::MAX));
                is_small && (a + 1).is_power_of_two() && low <= high && c <= a
            }
            Self::Coxian {
                ref means,
                ref onward,
            } => {
                (1..=MOST_PHASES).contains(&means.len())
                    && means.iter().copied().all(is_positive)
                    && onward.len() + 1 == means.len()
                    && onward.iter().all(|share| (0.0..=1.0).contains(share))
            }
            Self::Sum { ref laws } => !laws.is_empty(),
            Self::Mixture {
                ref weights,
                ref laws,
            } => are_weights(weights) && weights.len() == laws.len(),
            Self::Scaled { factor, .. } => is_positive(factor),
        };
        if is_valid {
            return Ok(());
        }
        Err(SimulationError::Invalid(format!(
            "{self:?}: a parameter lies outside its range"
        )))
    }
}

/// Phases in series: each but the last is followed by nothing or by all the rest.
fn coxian(
    means: &[f64],
    onward: &[f64],
    scale: f64,
    sampling: Sampling,
) -> Result<Sampler, SimulationError> {
    let phase = |mean: f64| Distribution::Exponential { mean }.compile_as(scale, sampling);
    let (last, before) = means.split_last().expect("one phase or more");
    let mut law = phase(*last)?;
    for (&mean, &share) in before.iter().zip(onward).rev() {
        let parts = Box::new([Sampler::Constant(0), law]);
        let rest = Mixture::new(&[1.0 - share, share], parts, sampling);
        law = Sampler::Sum(Box::new([phase(mean)?, Sampler::Mixture(Box::new(rest))]));
    }
    Ok(law)
}

/// Gamma with the given mean.
fn gamma(shape: f64, mean: f64) -> Result<Sampler, String> {
    Gamma::new(shape, mean / shape)
        .map(|gamma| Sampler::Gamma(Box::new(gamma)))
        .map_err(text)
}

fn gamma_quantile(shape: f64, mean: f64) -> Quantile {
    Quantile::Gamma {
        shape,
        scale: mean / shape,
    }
}

/// Balanced means: both branches contribute half of the mean.
fn balanced(mean: f64, c2: f64) -> [Branch; 2] {
    let probability = f64::midpoint(1.0, ((c2 - 1.0) / (c2 + 1.0)).sqrt());
    [probability, 1.0 - probability].map(|probability| Branch {
        probability,
        mean: mean / (2.0 * probability),
    })
}

/// Location and deviation of the logarithm, by mean and squared coefficient of variation.
fn lognormal(mean: f64, c2: f64) -> (f64, f64) {
    let variance = libm::log1p(c2);
    (libm::log(mean) - variance / 2.0, variance.sqrt())
}

fn scaled(values: &[f64], scale: f64) -> Vec<f64> {
    values.iter().map(|value| value * scale).collect()
}

/// Return `values` in whole ticks.
fn ticks_of(values: &[f64], scale: f64) -> Box<[u64]> {
    values
        .iter()
        .map(|value| whole_ticks(value * scale))
        .collect()
}

/// Return the message of an error of `rand_distr`.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn is_duration(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn are_durations(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().copied().all(is_duration)
}

fn are_weights(weights: &[f64]) -> bool {
    weights.iter().copied().all(is_duration) && is_positive(weights.iter().sum())
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
