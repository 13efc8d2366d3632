//! Durations of completed requests: a segmented histogram with exact totals per segment.
//!
//! Each segment keeps the sums and extremes, which the bins round away. A warm-up is removed by
//! dropping segments, so mean, deviation and extremes of the rest are exact only if every segment
//! has its own totals.
//!
//! Invariant: there are as many totals as closed segments of the histogram, joined with them.

use crate::simulation::kernel::run::result::HistogramTable;
use crate::simulation::kernel::statistics::histogram::{SEGMENT_LIMIT, SegmentedHistogram};
use crate::simulation::kernel::time::{SimTime, TimeUnit};

/// Sums and ends of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Sum (ns).
    pub sum_ns: u128,
    /// Sum of the squares (ns^2).
    pub square_sum_ns2: u128,
    /// Smallest (ns); above the largest if there is none.
    pub min_ns: u64,
    /// Largest (ns).
    pub max_ns: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            sum_ns: 0,
            square_sum_ns2: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl Totals {
    /// Count `ns`, seen `count` >= 1 times.
    #[inline]
    pub fn add(&mut self, ns: u64, count: u64) {
        let sum_ns = u128::from(ns) * u128::from(count);
        self.sum_ns += sum_ns;
        self.square_sum_ns2 += sum_ns * u128::from(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Return the totals of the observations of both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            sum_ns: self.sum_ns + other.sum_ns,
            square_sum_ns2: self.square_sum_ns2 + other.square_sum_ns2,
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }

    /// Return whether there was no observation.
    pub const fn is_empty(&self) -> bool {
        self.min_ns > self.max_ns
    }
}

/// A histogram in segments, and what its bins round away.
#[derive(Clone, Debug, PartialEq)]
pub struct SpansTable {
    /// How often each time came, segment by segment.
    pub histogram: HistogramTable,
    /// Of each segment: sum (s), sum of squares (s^2), smallest and largest (s); plus and minus
    /// infinity in one without any observation.
    pub totals: [Vec<f64>; 4],
}

impl SpansTable {
    /// Return the table of a histogram whose segments have the totals `segments`.
    pub fn new(histogram: HistogramTable, segments: &[Totals]) -> Self {
        let of_each = |value: fn(&Totals) -> f64| segments.iter().map(value).collect();
        let end = |is_empty, ns: u64, without: f64| {
            if is_empty {
                without
            } else {
                seconds(u128::from(ns))
            }
        };
        Self {
            histogram,
            totals: [
                of_each(|one| seconds(one.sum_ns)),
                of_each(|one| one.square_sum_ns2 as f64 * 1e-18),
                segments
                    .iter()
                    .map(|one| end(one.is_empty(), one.min_ns, f64::INFINITY))
                    .collect(),
                segments
                    .iter()
                    .map(|one| end(one.is_empty(), one.max_ns, f64::NEG_INFINITY))
                    .collect(),
            ],
        }
    }
}

fn seconds(ns: u128) -> f64 {
    TimeUnit::Second.seconds(ns)
}

/// A time that every completed request has.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    histogram: SegmentedHistogram,
    /// Of the closed segments.
    closed: Vec<Totals>,
    /// Of the open one.
    open: Totals,
}

impl Spans {
    /// Count `ns`, seen at `now`.
    #[inline]
    pub fn add(&mut self, ns: u64, now: SimTime) {
        self.open.add(ns, 1);
        self.histogram.record(ns, now);
        if self.histogram.open_count() == 0 {
            self.close();
        }
    }

    /// Count `ns`, seen `count` >= 1 times at `now`: what [`Self::add`] counts when it is called so
    /// often.
    #[inline]
    pub fn add_many(&mut self, ns: u64, now: SimTime, count: u64) {
        let mut left = count;
        while left > 0 {
            let fitting = left.min(self.histogram.room());
            self.open.add(ns, fitting);
            self.histogram.record_many(ns, now, fitting);
            left -= fitting;
            if self.histogram.open_count() == 0 {
                self.close();
            }
        }
    }

    /// The histogram has closed a segment, and may have joined all in pairs.
    #[cold]
    fn close(&mut self) {
        self.closed.push(std::mem::take(&mut self.open));
        if self.closed.len() > self.histogram.closed_count() {
            self.closed = self.closed.chunks(2).map(joined).collect();
        }
        debug_assert_eq!(self.closed.len(), self.histogram.closed_count());
    }

    /// Return the histogram.
    pub const fn histogram(&self) -> &SegmentedHistogram {
        &self.histogram
    }

    /// Return the totals of each segment that the histogram reports in the end.
    pub fn segments(&self) -> Vec<Totals> {
        let mut all = self.closed.clone();
        if !self.open.is_empty() {
            all.push(self.open);
        }
        if all.len() == SEGMENT_LIMIT {
            all = all.chunks(2).map(joined).collect();
        }
        all
    }

    /// Return the totals of everything.
    pub fn whole(&self) -> Totals {
        joined(&self.segments())
    }

    /// Return the sum (ns) of everything.
    pub fn sum_ns(&self) -> u128 {
        let closed: u128 = self.closed.iter().map(|one| one.sum_ns).sum();
        closed + self.open.sum_ns
    }
}

fn joined(parts: &[Totals]) -> Totals {
    parts
        .iter()
        .fold(Totals::default(), |sum, one| sum.with(one))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: each segment as the histogram counts it, from a plain list of the observations.
        #[test]
        fn each_segment_has_the_totals_of_its_own_observations(
            groups in prop::collection::vec((0_u64..1_000_000, 1_u64..90), 1..200),
            is_at_once in any::<bool>(),
        ) {
            let mut spans = Spans::default();
            let mut all = Vec::new();
            for (time, &(ns, count)) in (1_u64..).zip(&groups) {
                let now = SimTime::from_ticks(time);
                all.extend(std::iter::repeat_n(ns, usize::try_from(count).expect("small")));
                if is_at_once {
                    spans.add_many(ns, now, count);
                } else {
                    (0..count).for_each(|_| spans.add(ns, now));
                }
            }
            let bins = spans.histogram().clone().finish(SimTime::from_ticks(1000));
            let segments = spans.segments();
            prop_assert_eq!(segments.len(), bins.counts.len());
            let mut from = 0;
            for (totals, counts) in segments.iter().zip(&bins.counts) {
                let to = from + usize::try_from(counts.iter().sum::<u64>()).expect("small");
                let own = &all[from..to];
                prop_assert_eq!(totals.sum_ns, own.iter().map(|&ns| u128::from(ns)).sum::<u128>());
                let squares = own.iter().map(|&ns| u128::from(ns) * u128::from(ns));
                prop_assert_eq!(totals.square_sum_ns2, squares.sum::<u128>());
                prop_assert_eq!(Some(totals.min_ns), own.iter().copied().min());
                prop_assert_eq!(Some(totals.max_ns), own.iter().copied().max());
                from = to;
            }
            prop_assert_eq!(from, all.len());
            prop_assert_eq!(spans.sum_ns(), spans.whole().sum_ns);
        }
    }
}
