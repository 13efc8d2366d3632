//! Cumulative statistics at a few dozen times of the run, and samples at equal intervals.
//!
//! Any warm-up can be removed afterwards: a window is the difference of two snapshots. Snapshots
//! are taken at job completions. When there are too many, every other one is dropped and the
//! interval doubles, so memory does not grow with the run.

use std::ops::Range;

use crate::simulation::kernel::time::SimTime;

/// Maximum snapshots.
pub const SNAPSHOT_LIMIT: usize = 64;

/// One snapshot: all accumulators of the run in one row.
///
/// Nearly all fit in 64 bits, so the upper halves are kept only if they are not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    low: Vec<u64>,
    /// Place and upper half, in the order of places.
    high: Vec<(usize, u64)>,
}

impl Row {
    /// Append `cells`.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "each cast keeps the half that is meant"
    )]
    pub fn extend<const COUNT: usize>(&mut self, cells: [u128; COUNT]) {
        let first = self.low.len();
        self.low.extend(cells.map(|cell| cell as u64));
        if cells.iter().fold(0, |all, cell| all | cell) >> 64 == 0 {
            return;
        }
        for (place, cell) in (first..).zip(cells) {
            let high = (cell >> 64) as u64;
            if high > 0 {
                self.high.push((place, high));
            }
        }
    }

    /// Return the number of cells.
    pub fn len(&self) -> usize {
        self.low.len()
    }

    /// Return whether there is none.
    pub fn is_empty(&self) -> bool {
        self.low.is_empty()
    }

    /// Iterate over the cells in `places`.
    pub fn cells(&self, places: Range<usize>) -> impl Iterator<Item = u128> {
        let skipped = self.high.partition_point(|one| one.0 < places.start);
        let mut high = self.high[skipped..].iter().peekable();
        places
            .clone()
            .zip(&self.low[places])
            .map(move |(place, &low)| {
                let upper = high.next_if(|one| one.0 == place).map_or(0, |one| one.1);
                (u128::from(upper) << 64) | u128::from(low)
            })
    }

    fn clear(&mut self) {
        self.low.clear();
        self.high.clear();
    }
}

/// The snapshots of a run.
#[derive(Clone, Debug)]
pub struct Snapshots {
    taken: Vec<(SimTime, Row)>,
    spare: Vec<Row>,
    interval: u64,
    next: u64,
}

impl Snapshots {
    /// Return no snapshots; the first is due after `interval` (at least 1) completions.
    pub const fn new(interval: u64) -> Self {
        Self {
            taken: Vec::new(),
            spare: Vec::new(),
            interval,
            next: interval,
        }
    }

    /// Return after how many completions one is due.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Return whether one is due after `completion_count` completions.
    #[inline]
    pub const fn is_due(&self, completion_count: u64) -> bool {
        completion_count >= self.next
    }

    /// Return an empty row, reusing a dropped one if there is any.
    pub fn blank(&mut self) -> Row {
        self.make_room();
        let mut row = self.spare.pop().unwrap_or_default();
        row.clear();
        row
    }

    /// Store `row`, the state at `now` after `completion_count` completions.
    pub fn take(&mut self, now: SimTime, completion_count: u64, row: Row) {
        self.make_room();
        self.taken.push((now, row));
        self.next = (completion_count / self.interval + 1) * self.interval;
    }

    /// Store the end of the run and return all snapshots.
    pub fn finish(mut self, now: SimTime, row: Row) -> Vec<(SimTime, Row)> {
        if self.taken.last().is_some_and(|last| last.0 == now) {
            self.taken.pop();
        }
        self.make_room();
        self.taken.push((now, row));
        self.taken
    }

    fn make_room(&mut self) {
        if self.taken.len() == SNAPSHOT_LIMIT {
            for (index, one) in std::mem::take(&mut self.taken).into_iter().enumerate() {
                if index % 2 == 0 {
                    self.spare.push(one.1);
                } else {
                    self.taken.push(one);
                }
            }
            self.interval *= 2;
        }
    }
}

/// Maximum samples.
const SAMPLE_LIMIT: usize = 4096;

/// Cumulative statistics at equal distances in time.
///
/// When there are too many, every other one is dropped and the distance doubles.
#[derive(Clone, Debug)]
pub struct Samples {
    interval: u64,
    next: SimTime,
    taken: Vec<(SimTime, Row)>,
}

impl Samples {
    /// Return no samples; one is due every `interval` ticks, if at all.
    pub fn new(interval: Option<u64>) -> Self {
        Self {
            interval: interval.unwrap_or(u64::MAX).max(1),
            next: interval.map_or(SimTime::MAX, |ticks| SimTime::from_ticks(ticks.max(1))),
            taken: Vec::new(),
        }
    }

    /// Return when the next one is due.
    #[inline]
    pub const fn next(&self) -> SimTime {
        self.next
    }

    /// Store `row`, the state when the next one is due.
    pub fn take(&mut self, row: Row) {
        self.taken.push((self.next, row));
        if self.taken.len() == SAMPLE_LIMIT {
            let mut is_kept = true;
            self.taken.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.interval = self.interval.saturating_mul(2);
        }
        self.next = self.next.after(self.interval).unwrap_or(SimTime::MAX);
    }

    /// Return all samples.
    pub fn finish(self) -> Vec<(SimTime, Row)> {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<const COUNT: usize>(cells: [u128; COUNT]) -> Row {
        let mut row = Row::default();
        row.extend(cells);
        row
    }

    #[test]
    fn a_row_keeps_all_bits_of_its_cells() {
        let cells = [1, u128::MAX, 0, 1 << 64, 5];
        let mut kept = row(cells);
        kept.extend(cells);
        for (first, expected) in [(0, &cells[..]), (3, &[1 << 64, 5, 1, u128::MAX, 0][..])] {
            let found: Vec<u128> = kept.cells(first..first + 5).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_blank_row_is_empty_though_it_was_used_before() {
        let mut snapshots = Snapshots::new(1);
        for completion_count in 1..200 {
            let mut next = snapshots.blank();
            assert_eq!(next, Row::default());
            next.extend([1 << 64]);
            snapshots.take(
                SimTime::from_ticks(completion_count),
                completion_count,
                next,
            );
        }
        assert!(!snapshots.spare.is_empty());
    }

    #[test]
    fn a_long_run_keeps_few_snapshots_and_its_end() {
        let mut snapshots = Snapshots::new(1);
        for completion_count in 1..=100_000 {
            if snapshots.is_due(completion_count) {
                snapshots.take(
                    SimTime::from_ticks(completion_count),
                    completion_count,
                    Row::default(),
                );
            }
        }
        let taken = snapshots.finish(SimTime::from_ticks(100_001), Row::default());
        let times: Vec<u64> = taken.iter().map(|snapshot| snapshot.0.ticks()).collect();
        assert!(
            (SNAPSHOT_LIMIT / 2..=SNAPSHOT_LIMIT).contains(&times.len()),
            "{times:?}"
        );
        assert!(times.is_sorted());
        assert_eq!(times.last(), Some(&100_001));
        assert!(times[0] <= 100_000 / 16);
    }

    #[test]
    fn two_snapshots_never_stand_at_the_end() {
        let mut snapshots = Snapshots::new(1);
        snapshots.take(SimTime::from_ticks(5), 1, row([1]));
        let taken = snapshots.finish(SimTime::from_ticks(5), row([2]));
        assert_eq!(taken, [(SimTime::from_ticks(5), row([2]))]);
    }

    #[test]
    fn too_many_samples_stand_twice_as_far_apart() {
        let mut samples = Samples::new(Some(10));
        for _ in 0..3 * SAMPLE_LIMIT {
            samples.take(Row::default());
        }
        let times: Vec<u64> = samples.finish().iter().map(|one| one.0.ticks()).collect();
        assert!(times.len() < SAMPLE_LIMIT);
        let steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    }
}
