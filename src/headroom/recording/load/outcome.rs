//! The result of a run: tables, series and histograms like the kernel's, and facts about the run.

use super::failures::Failure;
use super::operation::{Operation, Source};
use super::record::{AGE_COLUMNS, CELL_COUNT, CLASS_COLUMNS, Record, Rows};
use super::{Load, StopReason};
use crate::recording::spans::{Spans, SpansTable, Totals};
use crate::recording::tally::Tally;
use crate::simulation::kernel::run::result::{HistogramTable, SeriesTable, Table};
use crate::simulation::kernel::statistics::series::Series;
use crate::simulation::kernel::statistics::snapshots::Row;
use crate::simulation::kernel::time::{SimTime, TimeUnit};

/// A quantity by class.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity<T> {
    /// Name of the class.
    pub class: String,
    /// Its values.
    pub values: T,
}

/// Tables at the same moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// When (s).
    pub times_s: Vec<f64>,
    /// Classes that had an operation.
    pub classes: Table,
    /// What carries them, as one station.
    pub stations: Table,
}

/// Totals of one class at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTotal {
    /// Name.
    pub name: String,
    /// Operations that arrived.
    pub arrival_count: u64,
    /// Operations that were begun.
    pub begin_count: u64,
    /// Operations that succeeded.
    pub completion_count: u64,
    /// Operations that failed.
    pub failure_count: u64,
    /// Operations that succeeded later than their stream allows.
    pub defect_count: u64,
    /// Operations that found no place when they were due.
    pub late_count: u64,
    /// Bytes moved (B).
    pub bytes: u64,
    /// Smallest and largest response time (s), NaN if there is none.
    pub response_s: (f64, f64),
    /// Smallest and largest service time (s).
    pub service_s: (f64, f64),
    /// Smallest and largest time (s) from due to begin.
    pub submit_error_s: (f64, f64),
    /// Sum (s) of the times from due to begin.
    pub submit_error_s_sum: f64,
}

/// A kind of failure.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureTotal<O> {
    /// Class.
    pub class: String,
    /// What, with its first operation.
    pub failure: Failure<O>,
}

/// All of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<O> {
    /// Why operations stopped arriving.
    pub stop_reason: StopReason,
    /// When (s) they stopped.
    pub load_s: f64,
    /// When (s) the last one had ended, or was given up.
    pub end_s: f64,
    /// Message to the user if something went wrong.
    pub problem: Option<String>,
    /// Statistics at a few dozen moments, the last the end.
    pub snapshots: Tables,
    /// Statistics at equal distances, if the load asks for them.
    pub samples: Option<Tables>,
    /// Response times in the order of the ends.
    pub series: Vec<Quantity<SeriesTable>>,
    /// Response times by size.
    pub response: Vec<Quantity<SpansTable>>,
    /// Service times by size.
    pub service: Vec<Quantity<SpansTable>>,
    /// Times from due to begin by size.
    pub submit_error: Vec<Quantity<SpansTable>>,
    /// Totals.
    pub classes: Vec<ClassTotal>,
    /// The failures.
    pub failures: Vec<FailureTotal<O>>,
    /// Operations that were begun and had no end when the run ended.
    pub outstanding_count: u64,
    /// Operations that arrived and were never begun.
    pub waiting_count: u64,
}

impl<O: Operation> Outcome<O> {
    /// Report `load`, which one `station` carried and whose end was at `end_ns`.
    pub fn new<S: Source<Operation = O>>(
        load: &mut Load<S>,
        station: &str,
        record: Record,
        end_ns: u64,
        problem: Option<String>,
    ) -> Self {
        let (snapshots, samples) = record.finish(end_ns, load);
        let load = &*load;
        let (stop_reason, stop_ns) = load.stopped().unwrap_or((StopReason::Interrupted, end_ns));
        let used: Vec<usize> = (0..load.tallies().len())
            .filter(|&class| load.tallies()[class].arrived.count > 0)
            .collect();
        let of_class = |pick: fn(&Tally) -> &Spans| {
            quantities(load, &used, |tally| spans(pick(tally), end_ns))
        };
        Self {
            stop_reason,
            load_s: seconds(u128::from(stop_ns.min(end_ns))),
            end_s: seconds(u128::from(end_ns)),
            problem,
            snapshots: tables(load, station, &used, &snapshots),
            samples: (!samples.is_empty()).then(|| tables(load, station, &used, &samples)),
            series: quantities(load, &used, |tally| series(&tally.series)),
            response: of_class(|tally| &tally.response),
            service: of_class(|tally| &tally.service),
            submit_error: of_class(|tally| &tally.lateness),
            classes: used.iter().map(|&class| total(load, class)).collect(),
            failures: failures(load),
            outstanding_count: load.outstanding_count() as u64,
            waiting_count: load.waiting_count() as u64,
        }
    }
}

fn quantities<S: Source, T>(
    load: &Load<S>,
    used: &[usize],
    value: impl Fn(&Tally) -> T,
) -> Vec<Quantity<T>> {
    let one = |&class: &usize| Quantity {
        class: load.classes().names()[class].clone(),
        values: value(&load.tallies()[class]),
    };
    used.iter().map(one).collect()
}

fn series(series: &Series) -> SeriesTable {
    let batches = series.clone().finish();
    SeriesTable {
        values: batches
            .sums
            .iter()
            .map(|&sum| seconds(sum) / batches.batch_size as f64)
            .collect(),
        batch_size: batches.batch_size,
        end_times_s: batches.ends.iter().map(|&end| moment(end)).collect(),
    }
}

fn spans(spans: &Spans, end_ns: u64) -> SpansTable {
    let bins = spans
        .histogram()
        .clone()
        .finish(SimTime::from_ticks(end_ns));
    let bounds = |values: &[u64]| values.iter().map(|&ns| seconds(u128::from(ns))).collect();
    let histogram = HistogramTable {
        bin_low: bounds(&bins.low),
        bin_high: bounds(&bins.high),
        counts: bins.counts.concat(),
        segment_end_times_s: bins.ends.iter().map(|&end| moment(end)).collect(),
    };
    SpansTable::new(histogram, &spans.segments())
}

fn total<S: Source>(load: &Load<S>, class: usize) -> ClassTotal {
    let tally = &load.tallies()[class];
    ClassTotal {
        name: load.classes().names()[class].clone(),
        arrival_count: tally.arrived.count,
        begin_count: tally.begun.count,
        completion_count: tally.completed_count(),
        failure_count: tally.failed_count,
        defect_count: tally.defect_count,
        late_count: tally.late_count,
        bytes: u64::try_from(tally.bytes).unwrap_or(u64::MAX),
        response_s: ends(tally.response.whole()),
        service_s: ends(tally.service.whole()),
        submit_error_s: ends(tally.lateness.whole()),
        submit_error_s_sum: seconds(tally.lateness.sum_ns()),
    }
}

fn ends(totals: Totals) -> (f64, f64) {
    if totals.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    (
        seconds(u128::from(totals.min_ns)),
        seconds(u128::from(totals.max_ns)),
    )
}

fn failures<S: Source>(load: &Load<S>) -> Vec<FailureTotal<S::Operation>> {
    let one = |failure: &Failure<S::Operation>| FailureTotal {
        class: load.classes().names()[failure.class as usize].clone(),
        failure: *failure,
    };
    load.failures().all().iter().map(one).collect()
}

fn tables<S: Source>(load: &Load<S>, station: &str, used: &[usize], rows: &Rows) -> Tables {
    let names = |class: &usize| load.classes().names()[*class].clone();
    let cells: Vec<Vec<[u128; CELL_COUNT]>> = rows.iter().map(|(_, row)| cells(row)).collect();
    let of_used = cells
        .iter()
        .flat_map(|row| used.iter().map(|&class| row[class]));
    let classes = Table {
        names: used.iter().map(names).collect(),
        capacity: vec![f64::INFINITY; used.len()],
        columns: columns(&of_used.collect::<Vec<_>>()),
        maxima: Vec::new(),
    };
    let sums: Vec<[u128; CELL_COUNT]> = cells.iter().map(|row| sum(row)).collect();
    let stations = Table {
        names: vec![station.into()],
        capacity: vec![load.place_count() as f64],
        columns: columns(&sums),
        maxima: Vec::new(),
    };
    Tables {
        times_s: rows.iter().map(|&(at, _)| moment(at)).collect(),
        classes,
        stations,
    }
}

fn cells(row: &Row) -> Vec<[u128; CELL_COUNT]> {
    let class_count = row.len() / CELL_COUNT;
    let one = |class: usize| {
        let mut cells = [0; CELL_COUNT];
        let values = row.cells(class * CELL_COUNT..(class + 1) * CELL_COUNT);
        cells
            .iter_mut()
            .zip(values)
            .for_each(|(cell, value)| *cell = value);
        cells
    };
    (0..class_count).map(one).collect()
}

fn sum(rows: &[[u128; CELL_COUNT]]) -> [u128; CELL_COUNT] {
    let mut sums = [0; CELL_COUNT];
    for row in rows {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, cell)| *sum += cell);
    }
    sums
}

fn columns(rows: &[[u128; CELL_COUNT]]) -> Vec<(&'static str, Vec<f64>)> {
    CLASS_COLUMNS
        .iter()
        .chain(&AGE_COLUMNS)
        .enumerate()
        .map(|(index, &name)| {
            let is_time = name.contains("_s");
            let value = |row: &[u128; CELL_COUNT]| {
                if is_time {
                    seconds(row[index])
                } else {
                    row[index] as f64
                }
            };
            (name, rows.iter().map(value).collect())
        })
        .collect()
}

fn moment(at: SimTime) -> f64 {
    seconds(u128::from(at.ticks()))
}

fn seconds(ns: u128) -> f64 {
    TimeUnit::Second.seconds(ns)
}
