//! Distributions: as the model states them, and compiled to draw whole ticks.
//!
//! Only the four operations and the `libm` crate take part in a draw (`rand_distr` is built
//! without `std_math`), so a draw has the same bits on every machine.
//!
//! Sources: Marsaglia & Tsang (2000), *The ziggurat method* and *A simple method for generating
//! gamma variables*; the balanced-means fit of the hyperexponential as in Allen (1990),
//! *Probability, Statistics and Queueing Theory*, section 3.2.9.

use rand::RngExt;
use rand_distr::{
    Distribution as _, Exp1, Gamma, LogNormal, Normal, Pareto, StandardUniform, Triangular, Weibull,
};
use serde::Deserialize;

use super::alias::AliasTable;
use super::error::SimulationError;
use super::stream::Stream;
use super::time::whole_ticks;

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
}

/// A distribution compiled for drawing whole ticks (or counts, for loops).
#[derive(Clone, Debug)]
pub enum Sampler {
    /// The value itself.
    Constant(u64),
    /// Lower bound and width.
    Uniform(f64, f64),
    /// Mean.
    Exponential(f64),
    /// Probability of the first branch, and the means of both.
    Hyperexponential(f64, f64, f64),
    /// Gamma and Erlang.
    Gamma(Box<Gamma<f64>>),
    /// Lognormal.
    Lognormal(LogNormal<f64>),
    /// Weibull.
    Weibull(Weibull<f64>),
    /// Pareto.
    Pareto(Pareto<f64>),
    /// Bounded Pareto: lower bound, 1 - (low/high)^shape, and -1/shape.
    BoundedPareto(f64, f64, f64),
    /// Normal, negative draws repeated.
    Normal(Normal<f64>),
    /// Triangular.
    Triangular(Triangular<f64>),
    /// Equally likely values.
    Empirical(Box<[u64]>),
    /// Weighted values.
    Discrete(Box<(AliasTable, Box<[u64]>)>),
}

impl Distribution {
    /// Compile for drawing in units of 1/`scale`.
    ///
    /// # Errors
    ///
    /// Fails where a parameter lies outside its range.
    pub fn compile(&self, scale: f64) -> Result<Sampler, SimulationError> {
        self.check()?;
        let sampler = match *self {
            Self::Constant { value } => Ok(Sampler::Constant(whole_ticks(value * scale))),
            Self::Uniform { low, high } => Ok(Sampler::Uniform(low * scale, (high - low) * scale)),
            Self::Exponential { mean } => Ok(Sampler::Exponential(mean * scale)),
            Self::Erlang { mean, stages } => gamma(f64::from(stages), mean * scale),
            Self::Gamma { mean, c2 } => gamma(1.0 / c2, mean * scale),
            Self::Hyperexponential { mean, c2 } => Ok(hyperexponential(mean * scale, c2)),
            Self::Lognormal { mean, c2 } => lognormal(mean * scale, c2),
            Self::Weibull { scale: size, shape } => Weibull::new(size * scale, shape)
                .map(Sampler::Weibull)
                .map_err(text),
            Self::Pareto { low, shape } => Pareto::new(low * scale, shape)
                .map(Sampler::Pareto)
                .map_err(text),
            Self::BoundedPareto { low, high, shape } => {
                let span = 1.0 - libm::pow(low / high, shape);
                Ok(Sampler::BoundedPareto(low * scale, span, -1.0 / shape))
            }
            Self::Normal { mean, deviation } => Normal::new(mean * scale, deviation * scale)
                .map(Sampler::Normal)
                .map_err(text),
            Self::Triangular { low, mode, high } => {
                Triangular::new(low * scale, high * scale, mode * scale)
                    .map(Sampler::Triangular)
                    .map_err(text)
            }
            Self::Empirical { ref values } => Ok(Sampler::Empirical(ticks_of(values, scale))),
            Self::Discrete {
                ref values,
                ref weights,
            } => Ok(Sampler::Discrete(Box::new((
                AliasTable::new(weights),
                ticks_of(values, scale),
            )))),
        };
        sampler.map_err(|reason| SimulationError::Invalid(format!("{self:?}: {reason}")))
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
            Self::Empirical { ref values } => are_durations(values),
            Self::Discrete {
                ref values,
                ref weights,
            } => are_durations(values) && are_weights(weights) && values.len() == weights.len(),
        };
        if is_valid {
            return Ok(());
        }
        Err(SimulationError::Invalid(format!(
            "{self:?}: a parameter lies outside its range"
        )))
    }
}

impl Sampler {
    /// Draw one value (ticks, or a count).
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Exponential(mean) => {
                let unit: f64 = Exp1.sample(stream);
                whole_ticks(unit * mean)
            }
            Self::Constant(value) => *value,
            Self::Uniform(low, width) => whole_ticks(low + width * uniform(stream)),
            other => other.draw_rarer(stream),
        }
    }

    /// Draw from a distribution that costs more than a call.
    fn draw_rarer(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform(low, width) => whole_ticks(low + width * uniform(stream)),
            Self::Exponential(mean) => {
                let unit: f64 = Exp1.sample(stream);
                whole_ticks(unit * mean)
            }
            Self::Hyperexponential(probability, first, second) => {
                let mean = if uniform(stream) < *probability {
                    first
                } else {
                    second
                };
                let unit: f64 = Exp1.sample(stream);
                whole_ticks(unit * mean)
            }
            Self::Gamma(gamma) => whole_ticks(gamma.sample(stream)),
            Self::Lognormal(lognormal) => whole_ticks(lognormal.sample(stream)),
            Self::Weibull(weibull) => whole_ticks(weibull.sample(stream)),
            Self::Pareto(pareto) => whole_ticks(pareto.sample(stream)),
            Self::BoundedPareto(low, span, exponent) => {
                whole_ticks(low * libm::pow(1.0 - uniform(stream) * span, *exponent))
            }
            Self::Normal(normal) => loop {
                let value = normal.sample(stream);
                if value >= 0.0 {
                    break whole_ticks(value);
                }
            },
            Self::Triangular(triangular) => whole_ticks(triangular.sample(stream)),
            Self::Empirical(values) => values[stream.random_range(0..values.len())],
            Self::Discrete(table) => table.1[table.0.draw(stream) as usize],
        }
    }
}

/// Draw from [0, 1).
#[inline]
fn uniform(stream: &mut Stream) -> f64 {
    StandardUniform.sample(stream)
}

/// Gamma with the given mean.
fn gamma(shape: f64, mean: f64) -> Result<Sampler, String> {
    Gamma::new(shape, mean / shape)
        .map(|gamma| Sampler::Gamma(Box::new(gamma)))
        .map_err(text)
}

/// Balanced means: both branches contribute half of the mean.
fn hyperexponential(mean: f64, c2: f64) -> Sampler {
    let probability = f64::midpoint(1.0, ((c2 - 1.0) / (c2 + 1.0)).sqrt());
    let (first, second) = (
        mean / (2.0 * probability),
        mean / (2.0 * (1.0 - probability)),
    );
    Sampler::Hyperexponential(probability, first, second)
}

/// Lognormal with the given mean and squared coefficient of variation.
fn lognormal(mean: f64, c2: f64) -> Result<Sampler, String> {
    let variance = libm::log1p(c2);
    let location = libm::log(mean) - variance / 2.0;
    LogNormal::new(location, variance.sqrt())
        .map(Sampler::Lognormal)
        .map_err(text)
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
