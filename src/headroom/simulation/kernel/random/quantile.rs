//! Inversion: a variate as a function of one uniform number.
//!
//! For common random numbers or antithetic pairs, the n-th variate must use the n-th uniform number
//! and increase with it. The fast methods (ziggurat, rejection) guarantee neither.
//!
//! Source: Law (2015), *Simulation Modeling and Analysis*, sections 8.2.1 and 11.3.

use std::str::FromStr;

use rand::Rng;

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::random::special::{gamma_quantile, normal_quantile};
use crate::simulation::kernel::random::stream::Stream;
use crate::simulation::kernel::random::zipf::ZipfQuantile;
use crate::simulation::kernel::time::whole_ticks;

/// How a law turns random numbers into variates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// By the quickest method; the number of random numbers of a variate may differ.
    #[default]
    Fast,
    /// By a fixed number of uniform numbers a variate, one for every law that has a quantile.
    Inversion,
    /// As `Inversion`, with 1 - U in the place of each uniform number U.
    Antithetic,
}

impl Sampling {
    /// Draw both tails (U, 1 - U), neither of them 0 and both exact.
    #[inline]
    pub fn tails(self, stream: &mut Stream) -> (f64, f64) {
        let below = ((stream.next_u64() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0;
        match self {
            Self::Fast | Self::Inversion => (below, 1.0 - below),
            Self::Antithetic => (1.0 - below, below),
        }
    }
}

impl FromStr for Sampling {
    type Err = SimulationError;

    fn from_str(name: &str) -> Result<Self, SimulationError> {
        match name {
            "fast" => Ok(Self::Fast),
            "inversion" => Ok(Self::Inversion),
            "antithetic" => Ok(Self::Antithetic),
            _ => Err(SimulationError::Invalid(format!(
                "sampling '{name}' is not one of fast, inversion, antithetic"
            ))),
        }
    }
}

/// A law that is drawn by inversion.
#[derive(Clone, Debug)]
pub struct Inverse {
    /// The inverse of its distribution function (ticks).
    pub quantile: Quantile,
    /// Which tail a uniform number is.
    pub sampling: Sampling,
}

impl Inverse {
    /// Draw one value (ticks, or a count).
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let (lower, upper) = self.sampling.tails(stream);
        whole_ticks(self.quantile.at(lower, upper))
    }
}

/// The inverse of a distribution function; parameters in ticks.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the parameters carry the textbook names")]
pub enum Quantile {
    Uniform {
        low: f64,
        width: f64,
    },
    Exponential {
        mean: f64,
    },
    Hyperexponential {
        branches: [Branch; 2],
    },
    Gamma {
        shape: f64,
        scale: f64,
    },
    Lognormal {
        location: f64,
        deviation: f64,
    },
    Weibull {
        scale: f64,
        power: f64,
    },
    Pareto {
        low: f64,
        power: f64,
    },
    BoundedPareto {
        low: f64,
        span: f64,
        power: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
        kept: f64,
    },
    Triangular {
        low: f64,
        mode: f64,
        high: f64,
    },
    Geometric {
        low: f64,
        log_failure: f64,
        unit: f64,
    },
    Zipf {
        law: ZipfQuantile,
        unit: f64,
    },
    Steps {
        ends: Box<[f64]>,
        values: Box<[f64]>,
    },
}

/// One branch of a mixture of exponentials.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Probability of the branch.
    pub probability: f64,
    /// Its mean.
    pub mean: f64,
}

impl Quantile {
    /// Return the quantile of the lower tail `lower`, where `upper` is 1 - `lower`.
    pub fn at(&self, lower: f64, upper: f64) -> f64 {
        match *self {
            Self::Uniform { low, width } => low + width * lower,
            Self::Exponential { mean } => -mean * libm::log(upper),
            Self::Hyperexponential { ref branches } => mixed_exponential(branches, upper),
            Self::Gamma { shape, scale } => scale * gamma_quantile(shape, lower, upper),
            Self::Lognormal {
                location,
                deviation,
            } => libm::exp(location + deviation * normal_quantile(lower, upper)),
            Self::Weibull { scale, power } => scale * libm::pow(-libm::log(upper), power),
            Self::Pareto { low, power } => low * libm::pow(upper, power),
            Self::BoundedPareto { low, span, power } => low * libm::pow(1.0 - lower * span, power),
            Self::Normal {
                mean,
                deviation,
                kept,
            } => (mean - deviation * normal_quantile(upper * kept, 1.0 - upper * kept)).max(0.0),
            Self::Triangular { low, mode, high } => triangular([low, mode, high], lower, upper),
            Self::Geometric {
                low,
                log_failure,
                unit,
            } => unit * (low + libm::floor(libm::log(upper) / log_failure)),
            Self::Zipf { ref law, unit } => unit * law.at(upper),
            Self::Steps {
                ref ends,
                ref values,
            } => {
                let place = ends.partition_point(|&end| end <= lower);
                values[place.min(values.len() - 1)]
            }
        }
    }

    /// Return the law of `values` (ticks) with `weights`, smallest value first.
    pub fn steps(values: &[f64], weights: &[f64]) -> Self {
        let mut pairs: Vec<(f64, f64)> = values
            .iter()
            .copied()
            .zip(weights.iter().copied())
            .filter(|pair| pair.1 > 0.0)
            .collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = pairs.iter().map(|pair| pair.1).sum();
        let mut sum = 0.0;
        let ends = pairs.iter().map(|pair| {
            sum += pair.1;
            sum / total
        });
        Self::Steps {
            ends: ends.collect(),
            values: pairs.iter().map(|pair| pair.0).collect(),
        }
    }
}

/// Solve sum p exp(-x / mean) = `upper`.
///
/// The logarithm of the left side is convex and falls, and at the start it is not below the
/// goal, so Newton's steps rise to the root and never pass it.
fn mixed_exponential(branches: &[Branch; 2], upper: f64) -> f64 {
    let start = |branch: &Branch| branch.mean * libm::log(branch.probability / upper);
    let mut x = branches.iter().map(start).fold(0.0, f64::max);
    for _ in 0..100 {
        let [near, far] = branches.map(|b| b.probability * libm::exp(-x / b.mean));
        let slope = near / branches[0].mean + far / branches[1].mean;
        let step = libm::log((near + far) / upper) * (near + far) / slope;
        x += step;
        if step <= 1e-15 * x {
            break;
        }
    }
    x
}

fn triangular([low, mode, high]: [f64; 3], lower: f64, upper: f64) -> f64 {
    let width = high - low;
    if lower * width < mode - low {
        low + (lower * width * (mode - low)).sqrt()
    } else {
        high - (upper * width * (high - mode)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simulation::kernel::random::stream;

    proptest! {
        /// Oracle: the distribution function, written out.
        #[test]
        fn the_quantile_of_two_branches_is_the_root(
            probability in 0.001..0.999_f64,
            (first, second) in (0.01..100.0_f64, 0.01..100.0_f64),
            log_upper in -35.0..-1e-6_f64,
        ) {
            let upper = libm::exp(log_upper);
            let branches = [
                Branch { probability, mean: first },
                Branch { probability: 1.0 - probability, mean: second },
            ];
            let x = mixed_exponential(&branches, upper);
            let tail: f64 = branches
                .iter()
                .map(|branch| branch.probability * libm::exp(-x / branch.mean))
                .sum();
            prop_assert!((tail / upper - 1.0).abs() < 1e-10, "x {} tail {}", x, tail);
        }

        #[test]
        fn antithetic_tails_are_the_same_tails_exchanged(seed: u64) {
            let (mut one, mut other) = (stream::open(seed, 1), stream::open(seed, 1));
            let (lower, upper) = Sampling::Inversion.tails(&mut one);
            prop_assert!(lower > 0.0 && upper > 0.0 && (lower + upper).to_bits() == 1.0_f64.to_bits());
            prop_assert_eq!(Sampling::Antithetic.tails(&mut other), (upper, lower));
        }

        #[test]
        fn steps_return_the_value_whose_share_covers_the_number(lower in 0.0001..0.9999_f64) {
            let law = Quantile::steps(&[9.0, 1.0, 5.0, 7.0], &[1.0, 2.0, 0.0, 1.0]);
            let expected = if lower < 0.5 { 1.0 } else if lower < 0.75 { 7.0 } else { 9.0 };
            prop_assume!((lower - 0.5).abs() > 1e-9 && (lower - 0.75).abs() > 1e-9);
            prop_assert_eq!(law.at(lower, 1.0 - lower).to_bits(), f64::to_bits(expected));
        }
    }
}
