//! Response times in completion order, as means of consecutive batches.
//!
//! Batches start at one observation, grow to five when there are enough (MSER-5 works on means of
//! five), and then double whenever the series is full, so memory does not grow with the run.
//!
//! Source of the doubling: Law & Carson (1979), *A sequential procedure for determining the length
//! of a steady-state simulation*.

use crate::simulation::kernel::time::SimTime;

/// Maximum values of a series.
pub const VALUE_LIMIT: usize = 1024;
/// Observations from which on batches hold at least five.
const TINY: usize = 50;
/// Batches of five.
const FIVE: usize = 5;

/// A batched series.
#[derive(Clone, Debug)]
pub struct Series {
    batch_size: u64,
    sums: Vec<u128>,
    ends: Vec<SimTime>,
    open_sum: u128,
    open_count: u64,
}

/// A series as reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Observations in each batch.
    pub batch_size: u64,
    /// Sum (ticks) of each batch.
    pub sums: Vec<u128>,
    /// When each batch was complete.
    pub ends: Vec<SimTime>,
}

impl Default for Series {
    fn default() -> Self {
        Self::new()
    }
}

impl Series {
    /// Return an empty series.
    pub const fn new() -> Self {
        Self {
            batch_size: 1,
            sums: Vec::new(),
            ends: Vec::new(),
            open_sum: 0,
            open_count: 0,
        }
    }

    /// Append the observation `ticks`, made at `now`.
    #[inline]
    pub fn record(&mut self, ticks: u64, now: SimTime) {
        self.open_sum += u128::from(ticks);
        self.open_count += 1;
        if self.open_count == self.batch_size {
            self.close_batch(now);
        }
    }

    /// Return the complete batches.
    pub fn finish(mut self) -> Batches {
        if self.batch_size == 1 && self.sums.len() >= TINY {
            self.join(FIVE);
        }
        Batches {
            batch_size: self.batch_size,
            sums: self.sums,
            ends: self.ends,
        }
    }

    /// Append the observation `ticks`, made `count` >= 1 times at `now`: what [`Self::record`]
    /// appends when it is called so often.
    #[inline]
    pub fn record_many(&mut self, ticks: u64, now: SimTime, count: u64) {
        let mut left = count;
        while left > 0 {
            let fitting = left.min(self.batch_size - self.open_count);
            self.open_sum += u128::from(ticks) * u128::from(fitting);
            self.open_count += fitting;
            left -= fitting;
            if self.open_count == self.batch_size {
                self.close_batch(now);
            }
        }
    }

    /// A function of its own: otherwise what it changes goes through registers at every observation.
    #[cold]
    #[inline(never)]
    fn close_batch(&mut self, now: SimTime) {
        self.sums.push(self.open_sum);
        self.ends.push(now);
        (self.open_sum, self.open_count) = (0, 0);
        if self.sums.len() == VALUE_LIMIT {
            self.join(if self.batch_size == 1 { FIVE } else { 2 });
        }
    }

    /// Join each `factor` neighbours; an incomplete batch becomes the open one.
    fn join(&mut self, factor: usize) {
        let rest = self.sums.chunks_exact(factor).remainder();
        self.open_sum += rest.iter().sum::<u128>();
        self.open_count += rest.len() as u64 * self.batch_size;
        self.sums = self
            .sums
            .chunks_exact(factor)
            .map(|chunk| chunk.iter().sum())
            .collect();
        self.ends = self
            .ends
            .chunks_exact(factor)
            .map(|chunk| chunk[factor - 1])
            .collect();
        self.batch_size *= factor as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: one by one.
        #[test]
        fn many_at_once_are_appended_as_one_by_one(
            groups in prop::collection::vec((0_u64..1000, 1_u64..300), 1..60)
        ) {
            let (mut at_once, mut one_by_one) = (Series::new(), Series::new());
            for (time, &(value, count)) in (1_u64..).zip(&groups) {
                let now = SimTime::from_ticks(time);
                at_once.record_many(value, now, count);
                for _ in 0..count {
                    one_by_one.record(value, now);
                }
            }
            prop_assert_eq!(at_once.finish(), one_by_one.finish());
        }

        /// Against a reference: the batches are the sums of consecutive observations.
        #[test]
        fn batches_are_sums_of_consecutive_observations(count in 0_u64..20_000) {
            let mut series = Series::new();
            for value in 1..=count {
                series.record(value, SimTime::from_ticks(value));
            }
            let batches = series.finish();
            let size = batches.batch_size;
            prop_assert!(batches.sums.len() < VALUE_LIMIT);
            prop_assert_eq!(size == 1, count < 50);
            prop_assert_eq!(batches.sums.len() as u64, count / size);
            for (index, (&sum, &end)) in (0_u64..).zip(batches.sums.iter().zip(&batches.ends)) {
                let expected: u64 = (index * size + 1..=(index + 1) * size).sum();
                prop_assert_eq!(sum, u128::from(expected));
                prop_assert_eq!(end.ticks(), (index + 1) * size);
            }
        }
    }
}
