//! The observations of one thread: counters, histograms, sums over time, and times in order.
//!
//! Memory does not grow with the run; the observations of several threads merge by addition.

use serde::Serialize;

use super::operations::{Kind, Operation, Phase};
use crate::simulation::kernel::run::result::{HistogramTable, SeriesTable, Table};
use crate::simulation::kernel::statistics::histogram::{bin_of, low_of, width_of};
use crate::simulation::kernel::statistics::series::{Batches, Series};
use crate::simulation::kernel::time::SimTime;
use crate::recording::slices::{Add, Slices};
use crate::recording::spans::{SpansTable, Totals};

/// Times of operations in the transactions, kept over time.
pub const TIMED: [&str; 6] = ["transaction", "create", "read", "append", "delete", "sync"];
/// Times of the phases before and after, kept as one.
pub const ALONE: [&str; 2] = ["creation", "deletion"];
/// Maximum snapshots of the sums.
const SNAPSHOT_LIMIT: usize = 64;
/// Maximum segments of the histograms.
const SEGMENT_LIMIT: usize = 16;
const NANO: f64 = 1e-9;

/// The operations timed in the transactions, an index of [`TIMED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// A whole transaction.
    Transaction,
    /// Making a file, written and closed.
    Create,
    /// Reading a file, opened and closed.
    Read,
    /// Appending to a file, opened and closed.
    Append,
    /// Deleting a file.
    Delete,
    /// Making a file durable, which is part of making it or appending to it.
    Sync,
}

impl Timed {
    /// Return the timer of an operation, None if it does nothing.
    pub const fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Create => Some(Self::Create),
            Kind::Read => Some(Self::Read),
            Kind::Append => Some(Self::Append),
            Kind::Delete => Some(Self::Delete),
            Kind::Nothing => None,
        }
    }
}

/// Operations that were done, as the original reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Files made before the transactions.
    pub created_alone_count: u64,
    /// Files made in transactions.
    pub created_mixed_count: u64,
    /// Files read.
    pub read_count: u64,
    /// Files appended to.
    pub appended_count: u64,
    /// Files deleted after the transactions.
    pub deleted_alone_count: u64,
    /// Files deleted in transactions.
    pub deleted_mixed_count: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, before the transactions and in them.
    pub written_bytes: u64,
    /// Bytes written before the transactions.
    pub written_alone_bytes: u64,
    /// Transactions done.
    pub transaction_count: u64,
    /// Files made durable.
    pub sync_count: u64,
    /// Appends that met a full file and did nothing.
    pub full_append_count: u64,
    /// Creates that met a full pool and did nothing.
    pub full_create_count: u64,
}

impl Counters {
    /// Count an operation that was done.
    pub fn count(&mut self, operation: &Operation) {
        let is_alone = operation.phase != Phase::Transactions;
        match operation.kind {
            Kind::Create if is_alone => {
                self.created_alone_count += 1;
                self.written_alone_bytes += operation.bytes;
                self.written_bytes += operation.bytes;
            }
            Kind::Create => {
                self.created_mixed_count += 1;
                self.written_bytes += operation.bytes;
            }
            Kind::Read => {
                self.read_count += 1;
                self.read_bytes += operation.bytes;
            }
            Kind::Append => {
                self.appended_count += 1;
                self.written_bytes += operation.bytes;
            }
            Kind::Delete if is_alone => self.deleted_alone_count += 1,
            Kind::Delete => self.deleted_mixed_count += 1,
            Kind::Nothing => {}
        }
    }

    fn add(&mut self, other: &Self) {
        self.created_alone_count += other.created_alone_count;
        self.created_mixed_count += other.created_mixed_count;
        self.read_count += other.read_count;
        self.appended_count += other.appended_count;
        self.deleted_alone_count += other.deleted_alone_count;
        self.deleted_mixed_count += other.deleted_mixed_count;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.written_alone_bytes += other.written_alone_bytes;
        self.transaction_count += other.transaction_count;
        self.sync_count += other.sync_count;
        self.full_append_count += other.full_append_count;
        self.full_create_count += other.full_create_count;
    }
}

/// Counts by bin, and what bins round away.
#[derive(Clone, Debug, Default)]
struct Bins {
    counts: Vec<u64>,
    totals: Totals,
}

impl Bins {
    #[inline]
    fn count(&mut self, time_ns: u64) {
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

/// Number and sum of times, for each of [`TIMED`].
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    counts: [u64; TIMED.len()],
    sums_ns: [u64; TIMED.len()],
}

impl Add for Sums {
    fn add(&mut self, other: &Self) {
        for timed in 0..TIMED.len() {
            self.counts[timed] += other.counts[timed];
            self.sums_ns[timed] += other.sums_ns[timed];
        }
    }
}

#[derive(Clone, Debug, Default)]
struct AllBins([Bins; TIMED.len()]);

impl Add for AllBins {
    fn add(&mut self, other: &Self) {
        for (to, from) in self.0.iter_mut().zip(&other.0) {
            to.add(from);
        }
    }
}

/// The measurements of one thread, or of several together.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Operations done.
    pub counters: Counters,
    sums: Slices<Sums>,
    bins: Slices<AllBins>,
    alone: [Bins; ALONE.len()],
    series: Vec<[Series; TIMED.len()]>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Return a recorder that saw nothing.
    pub fn new() -> Self {
        Self {
            counters: Counters::default(),
            sums: Slices::new(SNAPSHOT_LIMIT),
            bins: Slices::new(SEGMENT_LIMIT),
            alone: [Bins::default(), Bins::default()],
            series: vec![[const { Series::new() }; TIMED.len()]],
        }
    }

    /// Record a time of the transactions that ended at `now_ns` after they began.
    #[inline]
    pub fn record(&mut self, timed: Timed, time_ns: u64, now_ns: u64) {
        let sums = self.sums.at(now_ns);
        sums.counts[timed as usize] += 1;
        sums.sums_ns[timed as usize] += time_ns;
        self.bins.at(now_ns).0[timed as usize].count(time_ns);
        self.series[0][timed as usize].record(time_ns, SimTime::from_ticks(now_ns));
    }

    /// Record a time of the phase before or after the transactions.
    pub fn record_alone(&mut self, phase: Phase, time_ns: u64) {
        let place = usize::from(phase == Phase::Deletion);
        self.alone[place].count(time_ns);
    }

    /// Add the measurements of another thread.
    pub fn merge(&mut self, other: Self) {
        self.counters.add(&other.counters);
        self.sums.merge(other.sums);
        self.bins.merge(other.bins);
        for (to, from) in self.alone.iter_mut().zip(&other.alone) {
            to.add(from);
        }
        self.series.extend(other.series);
    }

    /// Return the tables; the transactions of `threads` threads took `length_ns`.
    pub fn finish(self, length_ns: u64, threads: u64) -> Tables {
        let [creation, deletion] = self.alone;
        let (slices, ends_ns) = self.bins.finish(length_ns);
        let mut histograms = Vec::new();
        for (timed, name) in TIMED.iter().enumerate() {
            let bins: Vec<&Bins> = slices.iter().map(|slice| &slice.0[timed]).collect();
            histograms.push((*name, histogram(&bins, &ends_ns)));
        }
        for (name, bins) in ALONE.iter().zip([creation, deletion]) {
            histograms.push((*name, histogram(&[&bins], &[length_ns])));
        }
        histograms.retain(|(_, table)| !table.histogram.counts.is_empty());
        let (snapshot_times_s, classes) = snapshots(self.sums, length_ns, threads);
        Tables {
            histograms,
            series: series(self.series),
            snapshot_times_s,
            classes,
        }
    }
}

/// The measurements, in seconds.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Histograms by name; those of [`ALONE`] have one segment, which ends with the transactions.
    pub histograms: Vec<(&'static str, SpansTable)>,
    /// Times in order of completion by name.
    pub series: Vec<(&'static str, SeriesTable)>,
    /// Moments (s) since the transactions began.
    pub snapshot_times_s: Vec<f64>,
    /// Counters up to each time; the only class is the transaction, whose parts are in the series.
    pub classes: Table,
}

fn histogram(segments: &[&Bins], ends_ns: &[u64]) -> SpansTable {
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

/// Return the moments (s) and the cumulative table of the transactions at them.
fn snapshots(sums: Slices<Sums>, length_ns: u64, threads: u64) -> (Vec<f64>, Table) {
    let (slices, ends_ns) = sums.finish(length_ns);
    let (mut counts, mut sums_s, mut total) = (Vec::new(), Vec::new(), Sums::default());
    for slice in &slices {
        total.add(slice);
        counts.push(total.counts[Timed::Transaction as usize] as f64);
        sums_s.push(total.sums_ns[Timed::Transaction as usize] as f64 * NANO);
    }
    let table = Table {
        names: vec![TIMED[Timed::Transaction as usize].to_owned()],
        capacity: vec![threads as f64],
        columns: vec![
            ("arrival_count", counts.clone()),
            ("completion_count", counts),
            // A thread begins its next transaction when the last has ended.
            ("jobs_s", sums_s.clone()),
            ("response_s_sum", sums_s),
        ],
        maxima: Vec::new(),
    };
    (
        ends_ns.iter().map(|&end| end as f64 * NANO).collect(),
        table,
    )
}

/// Put the series of the threads together, in order of completion.
fn series(threads: Vec<[Series; TIMED.len()]>) -> Vec<(&'static str, SeriesTable)> {
    let mut by_timed: Vec<Vec<Batches>> = vec![Vec::new(); TIMED.len()];
    for thread in threads {
        for (batches, one) in by_timed.iter_mut().zip(thread) {
            batches.push(one.finish());
        }
    }
    let named = TIMED.into_iter().zip(by_timed.into_iter().map(joined));
    named
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
        /// Conservation: what threads recorded is in every table, whoever recorded it.
        #[test]
        fn threads_merge_without_loss(
            times in prop::collection::vec((0_u64..3, 1_u64..1_000_000), 0..2000)
        ) {
            let mut threads = [Recorder::new(), Recorder::new(), Recorder::new()];
            let (mut now, mut sum) = (0, 0);
            for &(thread, time_ns) in &times {
                now += time_ns;
                sum += time_ns;
                threads[usize::try_from(thread).expect("small")].record(Timed::Transaction, time_ns, now);
            }
            let mut all = Recorder::new();
            for one in threads {
                all.merge(one);
            }
            let tables = all.finish(now, 3);
            let counted: u64 = tables.histograms.iter().flat_map(|one| &one.1.histogram.counts).sum();
            prop_assert_eq!(counted, times.len() as u64);
            for (_, table) in &tables.histograms {
                let exact = |of: fn(f64, f64) -> f64, to: f64| times.iter().map(|one| one.1 as f64 * NANO).fold(to, of);
                let found = |of: fn(f64, f64) -> f64, place: usize, to: f64| table.totals[place].iter().copied().fold(to, of);
                prop_assert!((found(|a, b| a + b, 0, 0.0) - sum as f64 * NANO).abs() < 1e-9);
                prop_assert!((found(f64::min, 2, f64::INFINITY) - exact(f64::min, f64::INFINITY)).abs() < 1e-15);
                prop_assert!((found(f64::max, 3, 0.0) - exact(f64::max, 0.0)).abs() < 1e-15);
            }
            let last = |name| {
                let column = tables.classes.columns.iter().find(|column| column.0 == name);
                column.and_then(|column| column.1.last().copied()).unwrap_or(0.0)
            };
            prop_assert_eq!(last("completion_count").to_bits(), (times.len() as f64).to_bits());
            prop_assert!((last("response_s_sum") - sum as f64 * NANO).abs() < 1e-9);
            for (_, table) in &tables.series {
                prop_assert!(table.end_times_s.is_sorted());
                let kept = table.values.len() as u64 * table.batch_size;
                prop_assert!(kept <= times.len() as u64 && times.len() as u64 - kept < 4 * table.batch_size);
            }
        }
    }
}
