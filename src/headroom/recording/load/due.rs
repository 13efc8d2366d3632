//! Due times of the operations of a stream.
//!
//! Invariant: due times never fall; a constant rate does not drift, because each due time is
//! computed from the number of the operation and not from the one before.

use rand_distr::{Distribution as _, Exp1};
use serde::Deserialize;

use crate::simulation::kernel::random::distribution::{Distribution, Sampler};
use crate::simulation::kernel::random::rate_curve::{Position, RateCurve};
use crate::simulation::kernel::random::stream::Stream as Generator;

/// Nanoseconds in a second.
pub const NS_PER_S: f64 = 1e9;
/// Steps of a ramp: each is a constant rate, and the first differs by 1.6% of the last from zero.
const RAMP_STEPS: u32 = 64;

/// How the operations of an open stream with a mean rate arrive.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Exponential gaps: many independent users.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
    /// Gaps by a law of the model language, in units of the mean gap 1 / rate.
    Gaps(Distribution),
    /// Exponential gaps, with a rate that rises evenly from zero and stays when it is reached.
    Ramp {
        /// Length (s) of the rise.
        seconds: f64,
    },
    /// Operations that are all due at once, then a pause; the first at time zero.
    Pulses {
        /// Operations of a pulse.
        count: u32,
    },
}

/// Gives the due times of a stream.
#[derive(Clone, Debug)]
pub enum Due {
    /// Never: an operation is begun as soon as a place is free.
    Closed,
    /// Exponential gaps.
    Poisson {
        /// Random numbers of the gaps.
        generator: Box<Generator>,
        /// Mean gap (ns).
        gap_ns: f64,
        /// Last due time (ns).
        now_ns: f64,
    },
    /// Pulses, which equal gaps are with a count of 1.
    Pulses {
        /// Gap (ns).
        gap_ns: f64,
        /// Due time of the first pulse (ns).
        first_ns: f64,
        /// Operations of a pulse.
        count: u64,
        /// Operations so far.
        given_count: u64,
    },
    /// Gaps by a law.
    Gaps(Box<(Sampler, Generator, u64)>),
    /// Exponential gaps of a rate that changes.
    Curve(Box<(RateCurve, Position, Generator)>),
}

impl Due {
    /// Return Poisson arrivals with a rate (1/s).
    pub fn poisson(rate_per_s: f64, generator: Generator) -> Self {
        Self::Poisson {
            generator: Box::new(generator),
            gap_ns: NS_PER_S / rate_per_s,
            now_ns: 0.0,
        }
    }

    /// Return equal gaps with a rate (1/s), of the stream `index` of `count`.
    ///
    /// Streams begin one after the other, spread over one gap: together they are as even as each
    /// of them.
    pub fn constant(rate_per_s: f64, (index, count): (usize, usize)) -> Self {
        let gap_ns = NS_PER_S / rate_per_s;
        Self::Pulses {
            gap_ns,
            first_ns: gap_ns * index as f64 / count as f64,
            count: 1,
            given_count: 0,
        }
    }

    /// Return the due times of the stream at `place` with a mean rate (1/s).
    ///
    /// # Errors
    ///
    /// The reason, where a number of the law is outside its range.
    pub fn open(
        rate_per_s: f64,
        law: &Law,
        generator: Generator,
        place: (usize, usize),
    ) -> Result<Self, String> {
        match law {
            Law::Poisson => Ok(Self::poisson(rate_per_s, generator)),
            Law::Constant => Ok(Self::constant(rate_per_s, place)),
            Law::Gaps(law) => {
                let sampler = law.compile(NS_PER_S / rate_per_s);
                let sampler = sampler.map_err(|error| error.to_string())?;
                Ok(Self::Gaps(Box::new((sampler, generator, 0))))
            }
            Law::Ramp { seconds } => {
                let curve = ramp(rate_per_s, *seconds)?;
                Ok(Self::Curve(Box::new((
                    curve,
                    Position::default(),
                    generator,
                ))))
            }
            Law::Pulses { count: 0 } => Err("a pulse has no operation".to_owned()),
            Law::Pulses { count } => Ok(Self::Pulses {
                gap_ns: f64::from(*count) * NS_PER_S / rate_per_s,
                first_ns: 0.0,
                count: u64::from(*count),
                given_count: 0,
            }),
        }
    }

    /// Return when the next operation is due (ns); [`u64::MAX`] if never.
    ///
    /// The laws stay out of line: with them no caller would inline this, and each request of a
    /// closed stream, which needs nothing of it, would take 3% more instructions.
    #[inline]
    pub fn tick(&mut self) -> Option<u64> {
        if matches!(self, Self::Closed) {
            return None;
        }
        self.tick_by_law()
    }

    #[inline(never)]
    fn tick_by_law(&mut self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Poisson {
                generator,
                gap_ns,
                now_ns,
            } => {
                *now_ns += *gap_ns * unit_gap(generator);
                Some(whole_ns(*now_ns))
            }
            Self::Pulses {
                gap_ns,
                first_ns,
                count,
                given_count,
            } => {
                let pulse = *given_count / *count;
                *given_count += 1;
                Some(whole_ns(*first_ns + *gap_ns * pulse as f64))
            }
            Self::Gaps(state) => {
                let (sampler, generator, now_ns) = &mut **state;
                *now_ns = now_ns.saturating_add(sampler.draw(generator));
                if sampler.is_exhausted() {
                    *now_ns = u64::MAX;
                }
                Some(*now_ns)
            }
            Self::Curve(state) => {
                let (curve, position, generator) = &mut **state;
                let due_ns = curve.advance(position, unit_gap(generator));
                Some(due_ns.unwrap_or(u64::MAX))
            }
        }
    }
}

fn unit_gap(generator: &mut Generator) -> f64 {
    Exp1.sample(generator)
}

fn ramp(rate_per_s: f64, seconds: f64) -> Result<RateCurve, String> {
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(format!("a ramp of {seconds} s has no length"));
    }
    let share = |step: u32| f64::from(step) / f64::from(RAMP_STEPS);
    let times: Vec<f64> = (0..=RAMP_STEPS).map(|step| share(step) * seconds).collect();
    let middle = |step: u32| (share(step) + 0.5 / f64::from(RAMP_STEPS)).min(1.0);
    let rates: Vec<f64> = (0..=RAMP_STEPS)
        .map(|step| middle(step) * rate_per_s)
        .collect();
    RateCurve::new(&times, &rates, None, NS_PER_S)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::random::stream;

    fn dues(law: &str, rate_per_s: f64, count: usize) -> Vec<f64> {
        let law: Law = serde_json::from_str(law).expect("a law");
        let mut due = Due::open(rate_per_s, &law, stream::open(7, 1), (0, 1)).expect("a sound law");
        (0..count)
            .map(|_| due.tick().expect("an open stream") as f64 / NS_PER_S)
            .collect()
    }

    #[test]
    fn pulses_are_due_at_once_and_keep_the_rate() {
        let dues = dues(r#"{"pulses": {"count": 4}}"#, 8.0, 12);
        assert_eq!(dues[..9], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0]);
    }

    #[test]
    fn equal_gaps_start_spread_over_one_gap_and_do_not_drift() {
        let mut third = Due::constant(2.0, (2, 4));
        assert_eq!(
            [third.tick(), third.tick(), third.tick()],
            [250, 750, 1250].map(|ms| Some(ms * 1_000_000))
        );
        let dues = dues(r#""constant""#, 3.0, 3001);
        assert_eq!((dues[0], dues[3], dues[3000]), (0.0, 1.0, 1000.0));
        assert_eq!(Due::Closed.tick(), None);
    }

    /// Oracle: exponential gaps have the mean 1 / rate, and a standard deviation as large.
    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_independent_users() {
        let dues = dues(r#""poisson""#, 50.0, 100_000);
        let gaps: Vec<f64> = dues
            .windows(2)
            .map(|two| 50.0 * (two[1] - two[0]))
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (mean - 1.0).abs() < 0.02 && (square - 1.0).abs() < 0.05,
            "{mean} {square}"
        );
    }

    #[test]
    fn gaps_by_a_law_have_its_mean_and_its_spread() {
        let law = r#"{"gaps": {"kind": "gamma", "mean": 1, "c2": 4}}"#;
        let dues = dues(law, 100.0, 100_000);
        let gaps: Vec<f64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 100.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((square / mean.powi(2) - 4.0).abs() < 0.4, "{square}");
    }

    #[test]
    fn a_ramp_brings_half_of_its_rate_while_it_rises() {
        let dues = dues(r#"{"ramp": {"seconds": 10}}"#, 1000.0, 15_000);
        let before = |limit_s: f64| dues.iter().filter(|&&due_s| due_s < limit_s).count() as f64;
        // A rate that rises evenly to r in t seconds brings r t / 2, and a quarter of it by t / 2.
        assert!((before(10.0) - 5000.0).abs() < 4.0 * 5000_f64.sqrt());
        assert!((before(5.0) - 1250.0).abs() < 4.0 * 1250_f64.sqrt());
        assert!((before(15.0) - before(10.0) - 5000.0).abs() < 4.0 * 5000_f64.sqrt());
    }

    #[test]
    fn a_law_that_brings_nothing_is_refused() {
        let ramps = [0.0, -1.0, f64::INFINITY].map(|seconds| Law::Ramp { seconds });
        for law in ramps.into_iter().chain([Law::Pulses { count: 0 }]) {
            let refusal = Due::open(1.0, &law, stream::open(7, 1), (0, 1)).err();
            assert!(refusal.is_some_and(|why| why.contains(" has no ")));
        }
    }
}
