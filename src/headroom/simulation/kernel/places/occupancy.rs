//! The time that each number of jobs was present at a station, for a few segments of the run.
//!
//! Numbers below 128 have a bin each; larger ones share 64 bins for each factor of two. Segments
//! are joined in pairs whenever there are too many, so memory does not grow with the run.

use crate::simulation::kernel::time::SimTime;

/// Maximum segments of a run.
const SEGMENT_LIMIT: usize = 16;
/// Completions of the first segments, before any are joined.
const FIRST_WIDTH: u64 = 32;
/// Numbers with a bin of their own.
pub const EXACT: u32 = 128;
/// Bins for each factor of two beyond.
const BINS_PER_OCTAVE: u32 = EXACT / 2;

/// Time (ticks) by bin of all rows of stations, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Times {
    ticks: Vec<u64>,
    /// Where each row ends; its bins beyond are empty.
    ends: Vec<usize>,
}

impl Times {
    /// Add the bins of a station, in two parts, to the last row, which has not ended.
    pub fn add(&mut self, near: &[u64], far: &[u64]) {
        let first = self.ends.last().copied().unwrap_or(0);
        let held = self.ticks.len() - first;
        if held == 0 {
            self.ticks.extend_from_slice(near);
            self.ticks.extend_from_slice(far);
            return;
        }
        if held < near.len() + far.len() {
            self.ticks.resize(first + near.len() + far.len(), 0);
        }
        let bins = self.ticks[first..].iter_mut();
        for (ticks, more) in bins.zip(near.iter().chain(far)) {
            *ticks += more;
        }
    }

    /// End the last row.
    pub fn end_row(&mut self) {
        let first = self.ends.last().copied().unwrap_or(0);
        // In a large model, most stations never have as many jobs as there are bins.
        let used = self.ticks[first..].iter().rposition(|&ticks| ticks > 0);
        self.ticks.truncate(first + used.map_or(0, |last| last + 1));
        self.ends.push(self.ticks.len());
    }

    fn row(&self, row: usize) -> &[u64] {
        let first = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.ticks[first..self.ends[row]]
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = Self::default();
        for row in 0..self.ends.len() {
            sum.add(self.row(row), &[]);
            sum.add(other.row(row), &[]);
            sum.end_row();
        }
        sum
    }
}

/// The closed segments of all rows of stations.
#[derive(Clone, Debug)]
pub struct Segments {
    closed: Vec<(SimTime, Times)>,
    width: u64,
    next: u64,
}

/// Time by number of jobs present at the stations of one row, as reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Lowest number of each bin in use.
    pub low: Vec<u32>,
    /// First number beyond each bin.
    pub high: Vec<u32>,
    /// Ticks: segments, then bins.
    pub ticks: Vec<Vec<u64>>,
}

impl Segments {
    /// Return no segments; the first ones are `scale` times as wide as usual.
    pub const fn new(scale: u64) -> Self {
        Self {
            closed: Vec::new(),
            width: FIRST_WIDTH * scale,
            next: FIRST_WIDTH * scale,
        }
    }

    /// Return after how many completions the current segment ends.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Close the current segment, which has spent `times` at the stations.
    pub fn close(&mut self, now: SimTime, completion_count: u64, mut times: Times) {
        times.ticks.shrink_to_fit();
        self.closed.push((now, times));
        if self.closed.len() == SEGMENT_LIMIT {
            self.closed = self.closed.chunks(2).map(joined).collect();
            self.width *= 2;
        }
        self.next = completion_count + self.width;
    }

    /// Return when the segments ended.
    pub fn ends(&self) -> impl Iterator<Item = SimTime> {
        self.closed.iter().map(|segment| segment.0)
    }

    /// Return the bins in use in `row`.
    pub fn bins(&self, row: usize) -> Bins {
        let rows = || self.closed.iter().map(|segment| segment.1.row(row));
        let longest = rows().map(<[u64]>::len).max().unwrap_or(0);
        let ticks_of = |times: &[u64], bin: usize| times.get(bin).copied().unwrap_or(0);
        let used: Vec<usize> = (0..longest)
            .filter(|&bin| rows().any(|times| ticks_of(times, bin) > 0))
            .collect();
        Bins {
            low: used.iter().map(|&bin| low_of(bin)).collect(),
            high: used.iter().map(|&bin| low_of(bin + 1)).collect(),
            ticks: rows()
                .map(|times| used.iter().map(|&bin| ticks_of(times, bin)).collect())
                .collect(),
        }
    }
}

fn joined(pair: &[(SimTime, Times)]) -> (SimTime, Times) {
    match pair {
        [(_, one), (end, other)] => (*end, one.plus(other)),
        _ => pair[0].clone(),
    }
}

/// Return the bin of a number of jobs.
#[inline]
pub const fn bin_of(jobs: u32) -> usize {
    if jobs < EXACT {
        return jobs as usize;
    }
    let octave = jobs.ilog2() - EXACT.ilog2();
    let within = (jobs >> (octave + 1)) - BINS_PER_OCTAVE;
    (EXACT + octave * BINS_PER_OCTAVE + within) as usize
}

/// Return the lowest number of jobs in `bin`.
const fn low_of(bin: usize) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 2^11 bins"
    )]
    let bin = bin as u32;
    if bin < EXACT {
        return bin;
    }
    let (octave, within) = (
        (bin - EXACT) / BINS_PER_OCTAVE,
        (bin - EXACT) % BINS_PER_OCTAVE,
    );
    (BINS_PER_OCTAVE + within) << (octave + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_touch_and_hold_what_is_counted_in_them() {
        for jobs in (0..5000).chain((1 << 24) - 3..1 << 24) {
            let bin = bin_of(jobs);
            assert!((low_of(bin)..low_of(bin + 1)).contains(&jobs), "{jobs}");
        }
    }

    #[test]
    fn a_row_sums_its_stations_and_ends_with_its_last_time() {
        let mut times = Times::default();
        times.add(&[1, 2], &[0]);
        times.add(&[10, 20], &[30, 0]);
        times.end_row();
        times.add(&[0, 0], &[0]);
        times.end_row();
        times.add(&[5], &[]);
        times.end_row();
        assert_eq!(
            [0, 1, 2].map(|row| times.row(row)),
            [&[11, 22, 30][..], &[], &[5]]
        );
    }

    #[test]
    fn segments_are_twice_as_wide_once_there_are_too_many() {
        let mut segments = Segments::new(3);
        for end in 1..=16 {
            assert_eq!(segments.next(), 96 * end);
            segments.close(SimTime::from_ticks(end), 96 * end, Times::default());
        }
        assert_eq!(segments.next(), 96 * 16 + 192);
        let ends = segments.ends().map(SimTime::ticks);
        assert!(ends.eq([2, 4, 6, 8, 10, 12, 14, 16]));
    }

    #[test]
    fn only_bins_in_use_are_reported_each_with_its_numbers_of_jobs() {
        let mut segments = Segments::new(1);
        for (end, near, far) in [
            (1, [0, 4], vec![]),
            (2, [0; 2], vec![]),
            (3, [7, 0], vec![5]),
        ] {
            let mut times = Times::default();
            let mut all = [0; EXACT as usize];
            all[2..4].copy_from_slice(&near);
            times.add(&all, &far);
            times.end_row();
            segments.close(SimTime::from_ticks(end), 0, times);
        }
        let bins = segments.bins(0);
        assert_eq!((bins.low, bins.high), (vec![2, 3, 128], vec![3, 4, 130]));
        assert_eq!(bins.ticks, [[0, 4, 0], [0; 3], [7, 0, 5]]);
    }

    #[test]
    fn joined_segments_keep_the_time() {
        let mut segments = Segments::new(1);
        let mut completion_count = 0;
        for segment in 1..=100_u64 {
            completion_count = segments.next();
            segments.close(SimTime::from_ticks(segment), completion_count, {
                let mut times = Times::default();
                times.add(&[1, segment], &[]);
                times.end_row();
                times
            });
        }
        let bins = segments.bins(0);
        assert_eq!(bins.low, [0, 1]);
        assert_eq!(bins.ticks.iter().map(|row| row[0]).sum::<u64>(), 100);
        assert_eq!(bins.ticks.iter().map(|row| row[1]).sum::<u64>(), 5050);
        assert!(segments.ends().is_sorted());
        assert!(completion_count > 100 * FIRST_WIDTH);
    }
}
