//! Distributions compiled for drawing whole ticks, or counts.
//!
//! Invariant: one tick of rounding and no more; a draw never fails and never allocates.
//!
//! Sources: Marsaglia & Tsang (2000), *The ziggurat method* and *A simple method for generating
//! gamma variables*; TPC Benchmark C, revision 5.11, clause 2.1.6 (`NURand`).

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::{
    Distribution as _, Exp1, Gamma, LogNormal, Normal, Pareto, StandardUniform, Triangular, Weibull,
};

use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::quantile::{Inverse, Sampling};
use crate::simulation::kernel::random::stream::Stream;
use crate::simulation::kernel::random::zipf::Zipf;
use crate::simulation::kernel::time::whole_ticks;

/// A distribution compiled for drawing whole ticks (or counts, for loops).
#[derive(Clone, Debug)]
pub enum Sampler {
    /// The value itself.
    Constant(u64),
    /// Lower bound and width.
    Uniform(f64, f64),
    /// Mean.
    Exponential(f64),
    /// Mean, and the value drawn next. See [`Sampler::ahead`].
    ExponentialAhead(f64, u64),
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
    /// Zipf by rejection-inversion, and the ticks of one step.
    Zipf(Box<(Zipf, f64)>),
    /// The record numbers of TPC-C.
    Nurand(Box<Nurand>),
    /// Given values in their order.
    Replay(Box<Replay>),
    /// One draw of each part, added up.
    Sum(Box<[Sampler]>),
    /// One draw of one of the parts.
    Mixture(Box<Mixture>),
    /// By inversion.
    Inverse(Box<Inverse>),
}

/// Draw an exponential time with the `mean`.
#[inline(always)]
fn exponential(mean: f64, stream: &mut Stream) -> u64 {
    let unit: f64 = Exp1.sample(stream);
    whole_ticks(unit * mean)
}

impl Sampler {
    /// The result of a finished replay: longer than any representable time.
    pub const NO_VALUE: u64 = u64::MAX;

    /// Draw the first value already now, if that changes nothing: `stream` serves this law alone.
    ///
    /// A job that needs a value then has it at once, and the next one is drawn while nothing waits
    /// for it. Other laws cost too much for that to show, or end.
    #[must_use]
    pub fn ahead(self, stream: &mut Stream) -> Self {
        match self {
            Self::Exponential(mean) => Self::ExponentialAhead(mean, exponential(mean, stream)),
            other => other,
        }
    }

    /// Draw one value (ticks, or a count).
    #[inline(always)]
    pub fn draw(&mut self, stream: &mut Stream) -> u64 {
        match self {
            Self::ExponentialAhead(mean, next) => {
                std::mem::replace(next, exponential(*mean, stream))
            }
            other => other.draw_rarer(stream),
        }
    }

    /// Draw from a distribution that is not drawn ahead.
    #[inline(never)]
    fn draw_rarer(&mut self, stream: &mut Stream) -> u64 {
        match self {
            Self::ExponentialAhead(..) => unreachable!("`draw` keeps it to itself"),
            Self::Exponential(mean) => exponential(*mean, stream),
            Self::Constant(value) => *value,
            Self::Uniform(low, width) => whole_ticks(*low + *width * uniform(stream)),
            Self::Hyperexponential(probability, first, second) => {
                let mean = if uniform(stream) < *probability {
                    *first
                } else {
                    *second
                };
                let unit: f64 = Exp1.sample(stream);
                whole_ticks(unit * mean)
            }
            Self::Gamma(gamma) => whole_ticks(gamma.sample(stream)),
            Self::Lognormal(lognormal) => whole_ticks(lognormal.sample(stream)),
            Self::Weibull(weibull) => whole_ticks(weibull.sample(stream)),
            Self::Pareto(pareto) => whole_ticks(pareto.sample(stream)),
            Self::BoundedPareto(low, span, exponent) => {
                whole_ticks(*low * libm::pow(1.0 - uniform(stream) * *span, *exponent))
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
            Self::Zipf(zipf) => whole_ticks(zipf.0.draw(stream) * zipf.1),
            Self::Nurand(nurand) => nurand.draw(stream),
            Self::Replay(replay) => replay.draw(),
            Self::Sum(parts) => parts
                .iter_mut()
                .fold(0, |sum: u64, part| sum.saturating_add(part.draw(stream))),
            Self::Mixture(mixture) => mixture.draw(stream),
            Self::Inverse(inverse) => inverse.draw(stream),
        }
    }

    /// Return whether a replay inside has no value left, so that the next draw is `NO_VALUE`.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Replay(replay) => replay.is_exhausted(),
            Self::Sum(parts) => parts.iter().any(Self::is_exhausted),
            Self::Mixture(mixture) => mixture.parts.iter().any(Self::is_exhausted),
            _ => false,
        }
    }

    /// Return how many random numbers a draw takes; the same for every draw by inversion.
    fn numbers(&self) -> u32 {
        match self {
            Self::Constant(_) | Self::Replay(_) => 0,
            Self::Nurand(_) => 2,
            Self::Sum(parts) => parts.iter().map(Self::numbers).sum(),
            Self::Mixture(mixture) => {
                1 + mixture.parts.iter().map(Self::numbers).max().unwrap_or(0)
            }
            _ => 1,
        }
    }
}

/// Draw from [0, 1).
#[inline]
fn uniform(stream: &mut Stream) -> f64 {
    StandardUniform.sample(stream)
}

/// One of several laws by weight.
#[derive(Clone, Debug)]
pub struct Mixture {
    choice: Choice,
    parts: Box<[Sampler]>,
}

/// How a mixture chooses its part.
#[derive(Clone, Debug)]
enum Choice {
    Alias(AliasTable),
    /// The end of each part's share, and how many numbers each part leaves unused: they are drawn
    /// too, so that every draw takes as many.
    Inversion(Sampling, Box<[(f64, u32)]>),
}

impl Mixture {
    /// Mix `parts` by `weights`, as many as parts, not negative and not all zero.
    pub fn new(weights: &[f64], parts: Box<[Sampler]>, sampling: Sampling) -> Self {
        let choice = match sampling {
            Sampling::Fast => Choice::Alias(AliasTable::new(weights)),
            Sampling::Inversion | Sampling::Antithetic => {
                Choice::Inversion(sampling, ends_and_rests(weights, &parts))
            }
        };
        Self { choice, parts }
    }

    fn draw(&mut self, stream: &mut Stream) -> u64 {
        match &self.choice {
            Choice::Alias(table) => {
                let part = table.draw(stream) as usize;
                self.parts[part].draw(stream)
            }
            Choice::Inversion(sampling, ends) => {
                let (lower, _) = sampling.tails(stream);
                let part = ends.partition_point(|end| end.0 <= lower);
                let part = part.min(ends.len() - 1);
                let unused = ends[part].1;
                let value = self.parts[part].draw(stream);
                for _ in 0..unused {
                    stream.next_u64();
                }
                value
            }
        }
    }
}

fn ends_and_rests(weights: &[f64], parts: &[Sampler]) -> Box<[(f64, u32)]> {
    let total: f64 = weights.iter().sum();
    let most = parts.iter().map(Sampler::numbers).max().unwrap_or(0);
    let mut sum = 0.0;
    let cells = weights.iter().zip(parts).map(|(weight, part)| {
        sum += weight;
        (sum / total, most - part.numbers())
    });
    cells.collect()
}

/// Non-uniform random numbers of TPC-C: (((0..=a) | (low..=high)) + c) % range + low.
///
/// Always two random numbers a draw; the multiplication favours a record by less than 1e-9.
#[derive(Clone, Debug)]
pub struct Nurand {
    /// Mask, 2^k - 1.
    pub a: u64,
    /// First record.
    pub low: u64,
    /// Last record.
    pub high: u64,
    /// Constant of the run.
    pub c: u64,
    /// Ticks of one step.
    pub unit: f64,
    /// Whether the complement of each random number is taken.
    pub sampling: Sampling,
}

impl Nurand {
    fn draw(&self, stream: &mut Stream) -> u64 {
        let range = self.high - self.low + 1;
        let mask = self.below(self.a + 1, stream);
        let record = self.low + self.below(range, stream);
        let value = ((mask | record) + self.c) % range + self.low;
        whole_ticks(value as f64 * self.unit)
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the high half is below count"
    )]
    fn below(&self, count: u64, stream: &mut Stream) -> u64 {
        let number = match self.sampling {
            Sampling::Fast | Sampling::Inversion => stream.next_u64(),
            Sampling::Antithetic => !stream.next_u64(),
        };
        ((u128::from(number) * u128::from(count)) >> 64) as u64
    }
}

/// Values in the order in which they were given.
#[derive(Clone, Debug)]
pub struct Replay {
    values: Arc<[u64]>,
    next: usize,
    is_repeated: bool,
}

impl Replay {
    /// Replay `values`, one or more; start again at the end if `is_repeated`.
    pub fn new(values: Arc<[u64]>, is_repeated: bool) -> Self {
        Self {
            values,
            next: 0,
            is_repeated,
        }
    }

    fn draw(&mut self) -> u64 {
        if self.is_exhausted() {
            return Sampler::NO_VALUE;
        }
        let value = self.values[self.next];
        self.next += 1;
        if self.is_repeated && self.next == self.values.len() {
            self.next = 0;
        }
        value
    }

    fn is_exhausted(&self) -> bool {
        self.next == self.values.len()
    }
}
