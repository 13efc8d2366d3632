//! Due times of the requests of a stream.
//!
//! Invariant: due times never fall; a constant rate does not drift, because each due time is
//! computed from the number of the request and not from the one before.

use serde::Deserialize;

use super::draws::{self, Purpose};
use crate::simulation::kernel::random::stream::Stream as Generator;

/// Nanoseconds in a second.
pub const NS_PER_S: f64 = 1e9;

/// Law of the gaps between the requests of an open stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Exponential gaps: many independent users.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
}

/// Gives the due times of a stream.
#[derive(Clone, Debug)]
pub enum Clock {
    /// Never: a request is begun as soon as a place is free.
    Closed,
    /// Poisson arrivals.
    Poisson {
        /// Random numbers of the gaps.
        generator: Box<Generator>,
        /// Mean gap (ns).
        gap_ns: f64,
        /// Last due time (ns).
        now_ns: f64,
    },
    /// Equal gaps.
    Constant {
        /// Gap (ns).
        gap_ns: f64,
        /// Due time of the first request (ns).
        first_ns: f64,
        /// Requests so far.
        count: u64,
    },
}

impl Clock {
    /// Make the clock of the stream `index` of `count` with a rate (1/s).
    ///
    /// Streams of a constant rate begin one after the other, spread over one gap: together they
    /// are as even as each of them.
    pub fn open(rate_per_s: f64, law: Law, seed: u64, (index, count): (usize, usize)) -> Self {
        let gap_ns = NS_PER_S / rate_per_s;
        match law {
            Law::Poisson => Self::Poisson {
                generator: Box::new(draws::generator(seed, index, Purpose::Arrival)),
                gap_ns,
                now_ns: 0.0,
            },
            Law::Constant => Self::Constant {
                gap_ns,
                first_ns: gap_ns * index as f64 / count as f64,
                count: 0,
            },
        }
    }

    /// Return when the next request is due (ns).
    #[inline]
    pub fn tick(&mut self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Poisson {
                generator,
                gap_ns,
                now_ns,
            } => {
                *now_ns += *gap_ns * draws::unit_gap(generator);
                Some(whole_ns(*now_ns))
            }
            Self::Constant {
                gap_ns,
                first_ns,
                count,
            } => {
                let due_ns = *first_ns + *gap_ns * *count as f64;
                *count += 1;
                Some(whole_ns(due_ns))
            }
        }
    }
}

/// Return `time_ns` >= 0 as whole nanoseconds, rounded down.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are not negative and `as` saturates"
)]
pub const fn whole_ns(time_ns: f64) -> u64 {
    time_ns as u64
}
