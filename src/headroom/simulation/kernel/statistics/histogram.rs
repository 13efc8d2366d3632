//! Histograms of response times, one for each of a few segments of the run.
//!
//! Bins are log-linear: whole ticks below 256, then 128 bins for each factor of two, so a bin is
//! never wider than 1/128 of its value (two significant digits). Histograms of equal layout merge
//! by adding counts. Segments are joined in pairs whenever there are too many, so memory does not
//! grow with the run.
//!
//! The `hdrhistogram` crate has the same layout, but its dependencies enable `num-traits/std`,
//! which would silently make the random variates use the system's mathematics library.
//!
//! Source: Tene (2015), *`HdrHistogram`: a high dynamic range histogram*.

use crate::simulation::kernel::time::SimTime;

/// Maximum segments of a run.
pub const SEGMENT_LIMIT: usize = 16;
/// Observations of the first segments, before any are joined.
const FIRST_WIDTH: u64 = 32;
/// Bins for each factor of two.
const BINS_PER_OCTAVE: usize = 128;
/// Bits of a value that determine its bin, the leading one included.
const SIGNIFICANT_BITS: u32 = 8;

/// Counts by bin; bins beyond the end are empty.
pub type Counts = Vec<u64>;

/// A histogram over segments of the run.
#[derive(Clone, Debug)]
pub struct SegmentedHistogram {
    closed: Vec<(SimTime, Counts)>,
    counts: Counts,
    count: u64,
    width: u64,
}

/// A histogram as reported: the bins in use, and counts for each segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Lowest tick of each bin.
    pub low: Vec<u64>,
    /// First tick beyond each bin.
    pub high: Vec<u64>,
    /// Observations: segments, then bins.
    pub counts: Vec<Vec<u64>>,
    /// End of each segment.
    pub ends: Vec<SimTime>,
}

impl Default for SegmentedHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl SegmentedHistogram {
    /// Return an empty histogram.
    pub const fn new() -> Self {
        Self {
            closed: Vec::new(),
            counts: Vec::new(),
            count: 0,
            width: FIRST_WIDTH,
        }
    }

    /// Count the observation `ticks`, made at `now`.
    #[inline]
    pub fn record(&mut self, ticks: u64, now: SimTime) {
        let bin = bin_of(ticks);
        match self.counts.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.grow(bin, 1),
        }
        self.count += 1;
        if self.count == self.width {
            self.close_segment(now);
        }
    }

    /// Count the observation `ticks`, made `count` >= 1 times at `now`: what [`Self::record`] counts
    /// when it is called so often.
    #[inline]
    pub fn record_many(&mut self, ticks: u64, now: SimTime, count: u64) {
        let bin = bin_of(ticks);
        let mut left = count;
        loop {
            let fitting = left.min(self.width - self.count);
            match self.counts.get_mut(bin) {
                Some(count) => *count += fitting,
                None => self.grow(bin, fitting),
            }
            self.count += fitting;
            left -= fitting;
            if self.count < self.width {
                return;
            }
            self.close_segment(now);
            if left == 0 {
                return;
            }
        }
    }

    /// Return how many observations the open segment has; 0 right after one was closed.
    #[inline]
    pub const fn open_count(&self) -> u64 {
        self.count
    }

    /// Return how many observations still fit into the open segment, >= 1.
    #[inline]
    pub const fn room(&self) -> u64 {
        self.width - self.count
    }

    /// Return the number of closed segments.
    #[inline]
    pub fn closed_count(&self) -> usize {
        self.closed.len()
    }

    /// Return how many observations each bin has had since the start of the run.
    pub fn totals(&self) -> Counts {
        let mut sums = self.counts.clone();
        for (_, counts) in &self.closed {
            if counts.len() > sums.len() {
                sums.resize(counts.len(), 0);
            }
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sums
    }

    /// Return the bins in use, the last segment ending at `now`.
    pub fn finish(mut self, now: SimTime) -> Bins {
        if self.count > 0 {
            self.close_segment(now);
        }
        if let Some(last) = self.closed.last_mut() {
            last.0 = now;
        }
        let segments: Vec<(SimTime, &Counts)> =
            self.closed.iter().map(|one| (one.0, &one.1)).collect();
        bins(&segments)
    }

    /// Count the first `count` observations in `bin`, beyond the end.
    #[cold]
    fn grow(&mut self, bin: usize, count: u64) {
        self.counts.resize(bin, 0);
        self.counts.push(count);
    }

    /// Close the current segment; join all in pairs when there are too many.
    #[cold]
    fn close_segment(&mut self, now: SimTime) {
        self.closed.push((now, std::mem::take(&mut self.counts)));
        self.count = 0;
        if self.closed.len() == SEGMENT_LIMIT {
            self.closed = self.closed.chunks(2).map(joined).collect();
            self.width *= 2;
        }
    }
}

/// Return the bins in use of `segments`, each with its end.
pub fn bins(segments: &[(SimTime, &Counts)]) -> Bins {
    let longest = segments
        .iter()
        .map(|segment| segment.1.len())
        .max()
        .unwrap_or(0);
    let count_of = |counts: &Counts, bin: usize| counts.get(bin).copied().unwrap_or(0);
    let used: Vec<usize> = (0..longest)
        .filter(|&bin| segments.iter().any(|one| count_of(one.1, bin) > 0))
        .collect();
    Bins {
        low: used.iter().map(|&bin| low_of(bin)).collect(),
        high: used
            .iter()
            .map(|&bin| low_of(bin).saturating_add(width_of(bin)))
            .collect(),
        counts: segments
            .iter()
            .map(|one| used.iter().map(|&bin| count_of(one.1, bin)).collect())
            .collect(),
        ends: segments.iter().map(|one| one.0).collect(),
    }
}

/// Join neighbouring segments.
fn joined(segments: &[(SimTime, Counts)]) -> (SimTime, Counts) {
    let longest = segments
        .iter()
        .map(|segment| segment.1.len())
        .max()
        .unwrap_or(0);
    let mut sum = vec![0; longest];
    let mut end = SimTime::ZERO;
    for (segment_end, counts) in segments {
        end = *segment_end;
        for (total, count) in sum.iter_mut().zip(counts) {
            *total += count;
        }
    }
    (end, sum)
}

/// Return the bin of a value.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the shifted value has eight bits"
)]
pub fn bin_of(ticks: u64) -> usize {
    // With the leading bit of a bin's number set, small values are no case of their own.
    let leading = ticks | (1 << (SIGNIFICANT_BITS - 1));
    let shift = leading.ilog2() - (SIGNIFICANT_BITS - 1);
    shift as usize * BINS_PER_OCTAVE + (ticks >> shift) as usize
}

/// Return the lowest value of a bin.
pub fn low_of(bin: usize) -> u64 {
    let shift = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    ((bin - shift * BINS_PER_OCTAVE) as u64) << shift
}

/// Return the number of values in a bin.
pub fn width_of(bin: usize) -> u64 {
    1 << (bin / BINS_PER_OCTAVE).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every value lies in its bin, and the bin is narrow.
        #[test]
        fn a_bin_holds_its_values(bits in 0_u32..64, noise in any::<u64>()) {
            let ticks = (1_u64 << bits) | (noise & ((1_u64 << bits) - 1));
            let bin = bin_of(ticks);
            prop_assert!(low_of(bin) <= ticks && ticks - low_of(bin) < width_of(bin));
            prop_assert!(width_of(bin) == 1 || width_of(bin) <= low_of(bin) / 128);
        }

        /// Oracle: one by one.
        #[test]
        fn many_at_once_are_counted_as_one_by_one(
            groups in prop::collection::vec((0_u64..1000, 1_u64..300), 1..60)
        ) {
            let (mut at_once, mut one_by_one) = (SegmentedHistogram::new(), SegmentedHistogram::new());
            for (time, &(value, count)) in (1_u64..).zip(&groups) {
                let now = SimTime::from_ticks(time);
                at_once.record_many(value, now, count);
                for _ in 0..count {
                    one_by_one.record(value, now);
                }
            }
            let end = SimTime::from_ticks(100);
            prop_assert_eq!(at_once.finish(end), one_by_one.finish(end));
        }

        /// No observation is lost, in whichever segment it was counted.
        #[test]
        fn joining_segments_keeps_every_observation(
            values in prop::collection::vec(0_u64..100_000, 1..3000)
        ) {
            let mut histogram = SegmentedHistogram::new();
            for (time, &value) in (1_u64..).zip(&values) {
                histogram.record(value, SimTime::from_ticks(time));
            }
            let end = SimTime::from_ticks(values.len() as u64 + 1);
            prop_assert_eq!(histogram.totals().iter().sum::<u64>(), values.len() as u64);
            let bins = histogram.finish(end);
            let mut expected: Vec<usize> = values.iter().map(|&value| bin_of(value)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            for (index, &low) in bins.low.iter().enumerate() {
                let count: u64 = bins.counts.iter().map(|counts| counts[index]).sum();
                found.extend(std::iter::repeat_n(bin_of(low), usize::try_from(count).unwrap_or(0)));
            }
            prop_assert_eq!(found, expected);
            prop_assert!(bins.ends.len() <= SEGMENT_LIMIT);
            let sizes: Vec<u64> = bins.counts.iter().map(|counts| counts.iter().sum()).collect();
            let (last, others) = sizes.split_last().expect("one segment or more");
            prop_assert!(others.iter().all(|size| size == &others[0] && size >= last));
            prop_assert!(bins.ends.is_sorted());
            prop_assert_eq!(bins.ends.last(), Some(&end));
        }
    }

    #[test]
    fn bins_follow_each_other_without_gap() {
        for bin in 0..7000 {
            assert_eq!(low_of(bin) + width_of(bin), low_of(bin + 1));
        }
    }
}
