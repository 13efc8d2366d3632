//! Cumulative statistics over the run: a few dozen snapshots, and samples on request.
//!
//! Invariant: a row gives the state at its very moment; at each, the time that operations spent here
//! is that of the finished ones plus that of those still present, to the nanosecond.

use super::Load;
use super::operation::Source;
use crate::recording::tally::Tally;
use crate::simulation::kernel::statistics::snapshots::{Row, Samples, Snapshots};
use crate::simulation::kernel::time::SimTime;

/// Distance (ns) of the first snapshots; it doubles whenever there are too many.
const FIRST_INTERVAL_NS: u64 = 1_000_000;

/// Columns of a class, in the order of its cells; those whose name has `_s` are times.
pub const CLASS_COLUMNS: [&str; 12] = [
    "arrival_count",
    "begin_count",
    "completion_count",
    "lost_count",
    "bytes",
    "response_s_sum",
    "service_s_sum",
    "wait_s_sum",
    "lost_s_sum",
    "jobs_s",
    "busy_s",
    "queue_s",
];

/// Columns that are states at the moment, after the cumulative ones.
pub const AGE_COLUMNS: [&str; 2] = ["age_s", "queue_age_s"];

/// Cells of a class in a row.
pub const CELL_COUNT: usize = CLASS_COLUMNS.len() + AGE_COLUMNS.len();

/// The measurements so far.
#[derive(Debug)]
pub struct Record {
    snapshots: Snapshots,
    samples: Samples,
    next_ns: u64,
    /// The moment (ns) of the latest row.
    last_ns: u64,
}

/// Rows by moment.
pub type Rows = Vec<(SimTime, Row)>;

impl Record {
    /// Return an empty record with samples every `sample_ns`, if given.
    pub fn new(sample_ns: Option<u64>) -> Self {
        let mut record = Self {
            snapshots: Snapshots::new(FIRST_INTERVAL_NS),
            samples: Samples::new(sample_ns),
            next_ns: 0,
            last_ns: 0,
        };
        record.next_ns = record.next_moment();
        record
    }

    /// Record the moments up to `now_ns` at which a row is due; nothing that ended later than
    /// those moments may be counted yet.
    #[inline]
    pub fn observe<S: Source>(&mut self, now_ns: u64, load: &mut Load<S>) {
        while self.next_ns <= now_ns {
            self.take(load);
        }
    }

    fn take<S: Source>(&mut self, load: &mut Load<S>) {
        let at_ns = self.next_ns;
        load.advance(at_ns);
        load.settle();
        if self.snapshots.is_due(at_ns) {
            let mut row = self.snapshots.blank();
            fill(&mut row, load, at_ns);
            self.snapshots.take(SimTime::from_ticks(at_ns), at_ns, row);
        }
        if self.samples.next().ticks() == at_ns {
            let mut row = Row::default();
            fill(&mut row, load, at_ns);
            self.samples.take(row);
        }
        self.last_ns = at_ns;
        self.next_ns = self.next_moment();
    }

    /// Return `at_ns` or, if a row was already taken at a later moment, the moment of that row: it
    /// showed that this had not happened yet.
    #[inline]
    pub fn not_before_a_row(&self, at_ns: u64) -> u64 {
        at_ns.max(self.last_ns)
    }

    fn next_moment(&self) -> u64 {
        self.snapshots.next().min(self.samples.next().ticks())
    }

    /// Return all snapshots, the last at `end_ns`, and all samples.
    pub fn finish<S: Source>(self, end_ns: u64, load: &mut Load<S>) -> (Rows, Rows) {
        let mut row = Row::default();
        load.settle();
        fill(&mut row, load, end_ns);
        let snapshots = self.snapshots.finish(SimTime::from_ticks(end_ns), row);
        (snapshots, self.samples.finish())
    }
}

/// Time (ns) that operations have been here, and have been waiting, so far.
#[derive(Clone, Copy, Default)]
struct Ages {
    age_ns: u128,
    queue_age_ns: u128,
}

fn fill<S: Source>(row: &mut Row, load: &Load<S>, at_ns: u64) {
    let ages = ages(load, at_ns);
    for (tally, ages) in load.tallies().iter().zip(ages) {
        row.extend(cells(tally, ages, at_ns));
    }
}

fn ages<S: Source>(load: &Load<S>, at_ns: u64) -> Vec<Ages> {
    let mut ages = vec![Ages::default(); load.tallies().len()];
    let mut waiting = Vec::new();
    load.visit_present(
        |class, arrived_ns| waiting.push((class, at_ns.saturating_sub(arrived_ns))),
        |class, arrived_ns, _| {
            ages[class as usize].age_ns += u128::from(at_ns.saturating_sub(arrived_ns));
        },
    );
    for (class, waited_ns) in waiting {
        ages[class as usize].age_ns += u128::from(waited_ns);
        ages[class as usize].queue_age_ns += u128::from(waited_ns);
    }
    ages
}

fn cells(tally: &Tally, ages: Ages, at_ns: u64) -> [u128; CELL_COUNT] {
    let (arrived, begun, ended) = (
        tally.arrived.since(at_ns),
        tally.begun.since(at_ns),
        tally.ended.since(at_ns),
    );
    [
        u128::from(tally.arrived.count),
        u128::from(tally.begun.count),
        u128::from(tally.completed_count()),
        u128::from(tally.failed_count),
        tally.bytes,
        tally.response.sum_ns(),
        tally.service.sum_ns(),
        tally.wait_ns,
        tally.lost_ns,
        area(arrived - ended),
        area(begun - ended),
        area(arrived - begun),
        ages.age_ns,
        ages.queue_age_ns,
    ]
}

/// Return an area under a curve that is never below zero.
fn area(ns: i128) -> u128 {
    u128::try_from(ns).expect("nothing begins before it arrives or ends before it begins")
}
