//! Times of `N` kinds as one thread records them: sums over time, histograms, and times in order.
//!
//! A lane belongs to one thread, so recording takes no lock. Memory does not grow with the run, and
//! the lanes of several threads merge by addition.
//!
//! Invariant: every recorded time is in every table, from any thread.

use super::slices::{Add, Slices};
use super::spans::{SpansTable, Totals};
use crate::simulation::kernel::run::result::{HistogramTable, SeriesTable};
use crate::simulation::kernel::statistics::histogram::{bin_of, low_of, width_of};
use crate::simulation::kernel::statistics::series::{Batches, Series};
use crate::simulation::kernel::time::SimTime;

/// Maximum snapshots of the sums.
const SNAPSHOT_LIMIT: usize = 64;
/// Maximum segments of the histograms.
const SEGMENT_LIMIT: usize = 16;
const NANO: f64 = 1e-9;

/// Counts by bin, and what bins round away.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    counts: Vec<u64>,
    totals: Totals,
}

impl Bins {
    /// Count one time (ns).
    #[inline]
    pub fn count(&mut self, time_ns: u64) {
        let bin = bin_of(time_ns);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.totals.add(time_ns, 1);
    }

    fn at(&self, bin: usize) -> u64 {
        self.counts.get(bin).copied().unwrap_or(0)
    }
}

impl Add for Bins {
    fn add(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (to, from) in self.counts.iter_mut().zip(&other.counts) {
            *to += from;
        }
        self.totals = self.totals.with(&other.totals);
    }
}

/// Number and sum of times of each kind.
#[derive(Clone, Copy, Debug)]
struct Sums<const N: usize> {
    counts: [u64; N],
    sums_ns: [u64; N],
}

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Self {
            counts: [0; N],
            sums_ns: [0; N],
        }
    }
}

impl<const N: usize> Add for Sums<N> {
    fn add(&mut self, other: &Self) {
        for kind in 0..N {
            self.counts[kind] += other.counts[kind];
            self.sums_ns[kind] += other.sums_ns[kind];
        }
    }
}

#[derive(Clone, Debug)]
struct AllBins<const N: usize>([Bins; N]);

impl<const N: usize> Default for AllBins<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Bins::default()))
    }
}

impl<const N: usize> Add for AllBins<N> {
    fn add(&mut self, other: &Self) {
        for (to, from) in self.0.iter_mut().zip(&other.0) {
            to.add(from);
        }
    }
}

/// The times of one thread, or of several together.
#[derive(Clone, Debug)]
pub struct Lane<const N: usize> {
    sums: Slices<Sums<N>>,
    bins: Slices<AllBins<N>>,
    series: Vec<[Series; N]>,
}

/// Cumulative number and sum (s) of the times of each kind at moments (s).
#[derive(Clone, Debug)]
pub struct Cumulative<const N: usize> {
    /// The moments (s).
    pub times_s: Vec<f64>,
    /// Number and sum (s) up to each moment, by kind.
    pub kinds: [(Vec<f64>, Vec<f64>); N],
}

/// The times of a run by kind, those without any left out.
#[derive(Clone, Debug)]
pub struct LaneTables<const N: usize> {
    /// Histograms by index of the kind.
    pub histograms: Vec<(usize, SpansTable)>,
    /// Times in order of completion by index of the kind.
    pub series: Vec<(usize, SeriesTable)>,
    /// Sums over time.
    pub cumulative: Cumulative<N>,
}

impl<const N: usize> Default for Lane<N> {
    fn default() -> Self {
        Self {
            sums: Slices::new(SNAPSHOT_LIMIT),
            bins: Slices::new(SEGMENT_LIMIT),
            series: vec![[const { Series::new() }; N]],
        }
    }
}

impl<const N: usize> Lane<N> {
    /// Record that something of `kind`, below `N`, took `time_ns` up to `now_ns`.
    #[inline]
    pub fn record(&mut self, kind: usize, time_ns: u64, now_ns: u64) {
        let sums = self.sums.at(now_ns);
        sums.counts[kind] += 1;
        sums.sums_ns[kind] += time_ns;
        self.bins.at(now_ns).0[kind].count(time_ns);
        self.series[0][kind].record(time_ns, SimTime::from_ticks(now_ns));
    }

    /// Add the times of another thread.
    pub fn merge(&mut self, other: Self) {
        self.sums.merge(other.sums);
        self.bins.merge(other.bins);
        self.series.extend(other.series);
    }

    /// Return the tables of a run of `length_ns`.
    pub fn finish(self, length_ns: u64) -> LaneTables<N> {
        let (slices, ends_ns) = self.bins.finish(length_ns);
        let of_kind = |kind: usize| {
            let bins: Vec<&Bins> = slices.iter().map(|slice| &slice.0[kind]).collect();
            (kind, histogram(&bins, &ends_ns))
        };
        let is_used = |(_, table): &(usize, SpansTable)| !table.histogram.counts.is_empty();
        LaneTables {
            histograms: (0..N).map(of_kind).filter(is_used).collect(),
            series: series(self.series),
            cumulative: cumulative(self.sums, length_ns),
        }
    }
}

/// Return the times in `segments` that end at `ends_ns`.
pub fn histogram(segments: &[&Bins], ends_ns: &[u64]) -> SpansTable {
    let longest = segments
        .iter()
        .map(|bins| bins.counts.len())
        .max()
        .unwrap_or(0);
    let is_used = |bin: &usize| segments.iter().any(|bins| bins.at(*bin) > 0);
    let used: Vec<usize> = (0..longest).filter(is_used).collect();
    let seconds = |ns: u64| ns as f64 * NANO;
    let histogram = HistogramTable {
        bin_low: used.iter().map(|&bin| seconds(low_of(bin))).collect(),
        bin_high: used
            .iter()
            .map(|&bin| seconds(low_of(bin).saturating_add(width_of(bin))))
            .collect(),
        counts: segments
            .iter()
            .flat_map(|bins| used.iter().map(|&bin| bins.at(bin)))
            .collect(),
        segment_end_times_s: ends_ns.iter().map(|&end| seconds(end)).collect(),
    };
    let totals: Vec<Totals> = segments.iter().map(|bins| bins.totals).collect();
    SpansTable::new(histogram, &totals)
}

fn cumulative<const N: usize>(sums: Slices<Sums<N>>, length_ns: u64) -> Cumulative<N> {
    let (slices, ends_ns) = sums.finish(length_ns);
    let mut totals = Vec::with_capacity(slices.len());
    let mut total = Sums::default();
    for slice in &slices {
        total.add(slice);
        totals.push(total);
    }
    let of_kind = |kind: usize| {
        totals
            .iter()
            .map(|sums| (sums.counts[kind] as f64, sums.sums_ns[kind] as f64 * NANO))
            .unzip()
    };
    Cumulative {
        times_s: ends_ns.iter().map(|&end| end as f64 * NANO).collect(),
        kinds: std::array::from_fn(of_kind),
    }
}

/// Put the series of the threads together, in order of completion.
fn series<const N: usize>(threads: Vec<[Series; N]>) -> Vec<(usize, SeriesTable)> {
    let mut by_kind: Vec<Vec<Batches>> = vec![Vec::new(); N];
    for thread in threads {
        for (batches, one) in by_kind.iter_mut().zip(thread) {
            batches.push(one.finish());
        }
    }
    let tables = by_kind.into_iter().map(joined).enumerate();
    tables
        .filter(|(_, table)| !table.values.is_empty())
        .collect()
}

/// Join the batches of threads, all made as large as the largest.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a factor between two sizes of batches is small"
)]
fn joined(threads: Vec<Batches>) -> SeriesTable {
    let batch_size = threads.iter().map(|one| one.batch_size).max().unwrap_or(1);
    let mut all: Vec<(SimTime, u128)> = Vec::new();
    for one in threads {
        let factor = (batch_size / one.batch_size) as usize;
        let ends = one.ends.chunks_exact(factor).map(|ends| ends[factor - 1]);
        let sums = one.sums.chunks_exact(factor).map(|sums| sums.iter().sum());
        all.extend(ends.zip(sums));
    }
    all.sort_by_key(|batch| batch.0);
    SeriesTable {
        values: all
            .iter()
            .map(|batch| batch.1 as f64 * NANO / batch_size as f64)
            .collect(),
        batch_size,
        end_times_s: all
            .iter()
            .map(|batch| batch.0.ticks() as f64 * NANO)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Conservation.
        #[test]
        fn threads_merge_without_loss(
            times in prop::collection::vec((0_u64..3, 1_u64..1_000_000), 0..2000)
        ) {
            let mut threads = [Lane::<1>::default(), Lane::<1>::default(), Lane::<1>::default()];
            let (mut now, mut sum) = (0, 0);
            for &(thread, time_ns) in &times {
                now += time_ns;
                sum += time_ns;
                threads[usize::try_from(thread).expect("small")].record(0, time_ns, now);
            }
            let mut all = Lane::<1>::default();
            for one in threads {
                all.merge(one);
            }
            let tables = all.finish(now);
            let counted: u64 = tables.histograms.iter().flat_map(|one| &one.1.histogram.counts).sum();
            prop_assert_eq!(counted, times.len() as u64);
            for (_, table) in &tables.histograms {
                let exact = |of: fn(f64, f64) -> f64, to: f64| times.iter().map(|one| one.1 as f64 * NANO).fold(to, of);
                let found = |of: fn(f64, f64) -> f64, place: usize, to: f64| table.totals[place].iter().copied().fold(to, of);
                prop_assert!((found(|a, b| a + b, 0, 0.0) - sum as f64 * NANO).abs() < 1e-9);
                prop_assert!((found(f64::min, 2, f64::INFINITY) - exact(f64::min, f64::INFINITY)).abs() < 1e-15);
                prop_assert!((found(f64::max, 3, 0.0) - exact(f64::max, 0.0)).abs() < 1e-15);
            }
            let (counts, sums_s) = &tables.cumulative.kinds[0];
            let last = |column: &Vec<f64>| column.last().copied().unwrap_or(0.0);
            prop_assert_eq!(last(counts).to_bits(), (times.len() as f64).to_bits());
            prop_assert!((last(sums_s) - sum as f64 * NANO).abs() < 1e-9);
            for (_, table) in &tables.series {
                prop_assert!(table.end_times_s.is_sorted());
                let kept = table.values.len() as u64 * table.batch_size;
                prop_assert!(kept <= times.len() as u64 && times.len() as u64 - kept < 4 * table.batch_size);
            }
        }
    }
}
