//! The observations of one thread: counters, histograms, sums over time, and times in order.
//!
//! Memory does not grow with the run; the observations of several threads merge by addition.

use serde::Serialize;

use super::operations::{Kind, Operation, Phase};
use crate::recording::lanes::{Bins, Lane, histogram};
use crate::recording::slices::Add;
use crate::recording::spans::SpansTable;
use crate::simulation::kernel::run::result::{SeriesTable, Table};

/// Times of operations in the transactions, kept over time.
pub const TIMED: [&str; 6] = ["transaction", "create", "read", "append", "delete", "sync"];
/// Times of the phases before and after, kept as one.
pub const ALONE: [&str; 2] = ["creation", "deletion"];

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

/// The measurements of one thread, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Operations done.
    pub counters: Counters,
    timed: Lane<{ TIMED.len() }>,
    alone: [Bins; ALONE.len()],
}

impl Recorder {
    /// Record a time of the transactions that ended at `now_ns` after they began.
    #[inline]
    pub fn record(&mut self, timed: Timed, time_ns: u64, now_ns: u64) {
        self.timed.record(timed as usize, time_ns, now_ns);
    }

    /// Record a time of the phase before or after the transactions.
    pub fn record_alone(&mut self, phase: Phase, time_ns: u64) {
        let place = usize::from(phase == Phase::Deletion);
        self.alone[place].count(time_ns);
    }

    /// Add the measurements of another thread.
    pub fn merge(&mut self, other: Self) {
        self.counters.add(&other.counters);
        self.timed.merge(other.timed);
        for (to, from) in self.alone.iter_mut().zip(&other.alone) {
            to.add(from);
        }
    }

    /// Return the tables; the transactions of `threads` threads took `length_ns`.
    pub fn finish(self, length_ns: u64, threads: u64) -> Tables {
        let tables = self.timed.finish(length_ns);
        let named = |(kind, table)| (TIMED[kind], table);
        let mut histograms: Vec<_> = tables.histograms.into_iter().map(named).collect();
        for (name, bins) in ALONE.iter().zip(&self.alone) {
            let table = histogram(&[bins], &[length_ns]);
            if !table.histogram.counts.is_empty() {
                histograms.push((*name, table));
            }
        }
        let mut kinds = tables.cumulative.kinds;
        let transactions = std::mem::take(&mut kinds[Timed::Transaction as usize]);
        Tables {
            histograms,
            series: tables
                .series
                .into_iter()
                .map(|(kind, table)| (TIMED[kind], table))
                .collect(),
            snapshot_times_s: tables.cumulative.times_s,
            classes: transaction_table(transactions, threads),
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

/// Return the cumulative table of the transactions.
fn transaction_table((counts, sums_s): (Vec<f64>, Vec<f64>), threads: u64) -> Table {
    Table {
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
    }
}
