//! What a run returns: tables of cumulative statistics, series and histograms, in seconds.

use super::classes::ClassState;
use super::engine::State;
use super::program::Plan;
use super::resources::{Pool, Station};
use super::snapshots::{Row, Snapshots};
use super::time::{SimTime, TimeUnit};

/// How an accumulator is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// A count, as it is.
    Count,
    /// Ticks, in seconds.
    Time,
}

/// Columns of a table, in the order in which [`row`] lists the accumulators.
type Columns = &'static [(&'static str, Measure)];

const STATION_COLUMNS: Columns = &[
    ("arrival_count", Measure::Count),
    ("completion_count", Measure::Count),
    ("wait_s_sum", Measure::Time),
    ("response_s_sum", Measure::Time),
    ("busy_s", Measure::Time),
    ("jobs_s", Measure::Time),
    ("queue_s", Measure::Time),
    ("age_s", Measure::Time),
    ("queue_age_s", Measure::Time),
];

const POOL_COLUMNS: Columns = &[
    ("grant_count", Measure::Count),
    ("wait_s_sum", Measure::Time),
    ("held_s", Measure::Time),
    ("queue_s", Measure::Time),
    ("queue_age_s", Measure::Time),
];

const CLASS_COLUMNS: Columns = &[
    ("arrival_count", Measure::Count),
    ("completion_count", Measure::Count),
    ("response_s_sum", Measure::Time),
    ("jobs_s", Measure::Time),
    ("age_s", Measure::Time),
];

/// Return all accumulators as they stand: stations, then pools, then classes.
pub fn row(state: &State) -> Row {
    let mut row = Row::new();
    for station in &state.stations {
        let totals = station.totals_at(state.now);
        row.extend([
            u128::from(totals.arrival_count),
            u128::from(totals.completion_count),
            totals.wait_sum,
            totals.response_sum,
            totals.busy_area,
            totals.jobs_area,
            totals.jobs_area - totals.busy_area,
            station.age(state.now),
            station.waiting().age(state.now),
        ]);
    }
    for pool in &state.pools {
        let totals = pool.totals_at(state.now);
        row.extend([
            u128::from(totals.grant_count),
            totals.wait_sum,
            totals.held_area,
            totals.queue_area,
            pool.waiting().age(state.now),
        ]);
    }
    for class in &state.classes {
        let totals = class.totals_at(state.now);
        row.extend([
            u128::from(totals.arrival_count),
            u128::from(totals.completion_count),
            totals.response_sum,
            totals.jobs_area,
            class.age(state.now),
        ]);
    }
    row
}

/// Statistics of all resources of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// One name for each resource.
    pub names: Vec<String>,
    /// Servers, tokens or population; infinity for an open class.
    pub capacity: Vec<f64>,
    /// Columns, all cumulative but the ages: snapshots, then resources.
    pub columns: Vec<(&'static str, Vec<f64>)>,
    /// Largest values over the run.
    pub maxima: Vec<(&'static str, Vec<f64>)>,
}

/// Response times of one class in completion order.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesTable {
    /// Mean (s) of each batch.
    pub values: Vec<f64>,
    /// Observations in each batch.
    pub batch_size: u64,
    /// When (s) each batch was complete.
    pub end_times_s: Vec<f64>,
}

/// Response times of one class by size.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramTable {
    /// Lowest value (s) of each bin in use.
    pub bin_low: Vec<f64>,
    /// Upper bound (s) of each bin in use.
    pub bin_high: Vec<f64>,
    /// Observations: segments, then bins.
    pub counts: Vec<u64>,
    /// When (s) each segment ended.
    pub segment_end_times_s: Vec<f64>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When (s) the snapshots were taken; the last one is the end.
    pub snapshot_times_s: Vec<f64>,
    /// Stations.
    pub stations: Table,
    /// Pools.
    pub pools: Table,
    /// Classes.
    pub classes: Table,
    /// One for each class.
    pub series: Vec<SeriesTable>,
    /// One for each class.
    pub histograms: Vec<HistogramTable>,
    /// Events taken.
    pub event_count: u64,
    /// Station visits completed.
    pub visit_count: u64,
    /// Length (s) of the run in simulated time.
    pub simulated_s: f64,
}

impl Outcome {
    /// Report `state`, the end of a run, and the snapshots before it.
    pub fn new(plan: &Plan, state: State, snapshots: Snapshots) -> Self {
        let unit = plan.unit;
        let taken = snapshots.finish(state.now, row(&state));
        let mut tables = Tables {
            taken: &taken,
            unit,
            first: 0,
        };
        let capacities = plan
            .stations
            .iter()
            .map(|s| (s.name.clone(), f64::from(s.capacity)));
        let stations = tables.next(capacities, STATION_COLUMNS, station_maxima(&state.stations));
        let capacities = plan
            .pools
            .iter()
            .map(|p| (p.name.clone(), f64::from(p.capacity)));
        let pools = tables.next(capacities, POOL_COLUMNS, pool_maxima(&state.pools));
        let capacities = plan.classes.iter().map(|c| {
            (
                c.name.clone(),
                c.population.map_or(f64::INFINITY, f64::from),
            )
        });
        let classes = tables.next(capacities, CLASS_COLUMNS, class_maxima(&state.classes));
        Self {
            snapshot_times_s: seconds(unit, taken.iter().map(|snapshot| snapshot.0)),
            stations,
            pools,
            classes,
            series: state
                .classes
                .iter()
                .map(|class| series(unit, class))
                .collect(),
            event_count: state.event_count,
            visit_count: state.visit_count,
            simulated_s: unit.seconds(u128::from(state.now.ticks())),
            histograms: histograms(unit, state),
        }
    }
}

/// Cuts the rows of the snapshots into tables, from left to right.
struct Tables<'run> {
    taken: &'run [(SimTime, Row)],
    unit: TimeUnit,
    first: usize,
}

impl Tables<'_> {
    fn next(
        &mut self,
        capacities: impl Iterator<Item = (String, f64)>,
        columns: Columns,
        maxima: Vec<(&'static str, Vec<f64>)>,
    ) -> Table {
        let (names, capacity): (Vec<String>, Vec<f64>) = capacities.unzip();
        let cells = self.first..self.first + names.len() * columns.len();
        self.first = cells.end;
        let column = |index: usize, measure: Measure| -> Vec<f64> {
            let rows = self.taken.iter().map(|snapshot| &snapshot.1[cells.clone()]);
            rows.flat_map(|row| row.iter().skip(index).step_by(columns.len()))
                .map(|&value| self.report(value, measure))
                .collect()
        };
        let columns = columns
            .iter()
            .enumerate()
            .map(|(index, &(name, measure))| (name, column(index, measure)))
            .collect();
        Table {
            names,
            capacity,
            columns,
            maxima,
        }
    }

    fn report(&self, value: u128, measure: Measure) -> f64 {
        match measure {
            Measure::Count => value as f64,
            Measure::Time => self.unit.seconds(value),
        }
    }
}

fn station_maxima(stations: &[Station]) -> Vec<(&'static str, Vec<f64>)> {
    vec![
        (
            "queue_len",
            stations
                .iter()
                .map(|s| f64::from(s.queue_len_max))
                .collect(),
        ),
        (
            "jobs",
            stations.iter().map(|s| f64::from(s.jobs_max)).collect(),
        ),
    ]
}

fn pool_maxima(pools: &[Pool]) -> Vec<(&'static str, Vec<f64>)> {
    vec![
        (
            "queue_len",
            pools.iter().map(|p| f64::from(p.queue_len_max)).collect(),
        ),
        (
            "held",
            pools.iter().map(|p| f64::from(p.held_max)).collect(),
        ),
    ]
}

fn class_maxima(classes: &[ClassState]) -> Vec<(&'static str, Vec<f64>)> {
    vec![(
        "jobs",
        classes.iter().map(|c| f64::from(c.jobs_max)).collect(),
    )]
}

fn series(unit: TimeUnit, class: &ClassState) -> SeriesTable {
    let batches = class.series.clone().finish();
    let size = batches.batch_size as f64;
    SeriesTable {
        values: batches
            .sums
            .iter()
            .map(|&sum| unit.seconds(sum) / size)
            .collect(),
        batch_size: batches.batch_size,
        end_times_s: seconds(unit, batches.ends.into_iter()),
    }
}

fn histograms(unit: TimeUnit, state: State) -> Vec<HistogramTable> {
    let now = state.now;
    let bins = state
        .classes
        .into_iter()
        .map(|class| class.histogram.finish(now));
    bins.map(|bins| HistogramTable {
        bin_low: bins
            .low
            .iter()
            .map(|&ticks| unit.seconds(u128::from(ticks)))
            .collect(),
        bin_high: bins
            .high
            .iter()
            .map(|&ticks| unit.seconds(u128::from(ticks)))
            .collect(),
        counts: bins.counts.into_iter().flatten().collect(),
        segment_end_times_s: seconds(unit, bins.ends.into_iter()),
    })
    .collect()
}

fn seconds(unit: TimeUnit, times: impl Iterator<Item = SimTime>) -> Vec<f64> {
    times
        .map(|time| unit.seconds(u128::from(time.ticks())))
        .collect()
}
