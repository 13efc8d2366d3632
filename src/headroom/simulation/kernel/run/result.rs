//! The result of a run: cumulative statistics, series and histograms, in seconds.

use crate::simulation::kernel::places::occupancy::Segments;
use crate::simulation::kernel::places::pools::Pool;
use crate::simulation::kernel::places::stations::Station;
use crate::simulation::kernel::places::tally::{Requests, VisitTotals};
use crate::simulation::kernel::plan::program::Plan;
use crate::simulation::kernel::plan::rows::Rows;
use crate::simulation::kernel::run::engine::State;
use crate::simulation::kernel::run::recorder::Recorder;
use crate::simulation::kernel::statistics::classes::ClassState;
use crate::simulation::kernel::statistics::histogram::{self, Counts};
use crate::simulation::kernel::statistics::intervals::{Interval, Intervals};
use crate::simulation::kernel::statistics::snapshots::{Row, Samples, Snapshots};
use crate::simulation::kernel::time::{SimTime, TimeUnit, nearest};

/// How an accumulator is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// A count, unscaled.
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

/// Further columns of stations: zero unless [`Plan::has_losses`], and only then kept.
const STATION_LOSSES: Columns = &[
    ("abandon_count", Measure::Count),
    ("abandon_s_sum", Measure::Time),
    ("blocked_s", Measure::Time),
    ("down_s", Measure::Time),
    ("reject_count", Measure::Count),
];

const POOL_COLUMNS: Columns = &[
    ("grant_count", Measure::Count),
    ("wait_s_sum", Measure::Time),
    ("held_s", Measure::Time),
    ("queue_s", Measure::Time),
    ("queue_age_s", Measure::Time),
    ("abandon_count", Measure::Count),
];

const CLASS_COLUMNS: Columns = &[
    ("arrival_count", Measure::Count),
    ("completion_count", Measure::Count),
    ("response_s_sum", Measure::Time),
    ("jobs_s", Measure::Time),
    ("age_s", Measure::Time),
    ("lost_count", Measure::Count),
    ("lost_s_sum", Measure::Time),
    ("failed_try_count", Measure::Count),
    ("delay_s", Measure::Time),
    ("join_s", Measure::Time),
    ("outside_s", Measure::Time),
];

/// Further columns of classes, only if a job may be lost or late.
const CLASS_OUTCOMES: Columns = &[
    ("reject_count", Measure::Count),
    ("abandon_count", Measure::Count),
    ("fail_count", Measure::Count),
    ("late_count", Measure::Count),
];

const VISIT_COLUMNS: Columns = &[
    ("arrival_count", Measure::Count),
    ("completion_count", Measure::Count),
    ("wait_s_sum", Measure::Time),
    ("response_s_sum", Measure::Time),
    ("age_s", Measure::Time),
    ("queue_age_s", Measure::Time),
    ("abandon_count", Measure::Count),
    ("abandon_s_sum", Measure::Time),
    ("blocked_s_sum", Measure::Time),
];

const REQUEST_COLUMNS: Columns = &[
    ("grant_count", Measure::Count),
    ("wait_s_sum", Measure::Time),
    ("queue_age_s", Measure::Time),
    ("abandon_count", Measure::Count),
];

/// Additional columns of stations if jobs leave lines unserved or capacities change.
const STATION_EXTRAS: Columns = &[
    ("left_count", Measure::Count),
    ("left_wait_s_sum", Measure::Time),
    ("served_wait_s_sum", Measure::Time),
    ("capacity_s", Measure::Time),
];

/// Additional columns of pools in such models.
const POOL_EXTRAS: Columns = &[
    ("request_count", Measure::Count),
    ("left_wait_s_sum", Measure::Time),
    ("served_wait_s_sum", Measure::Time),
    ("capacity_s", Measure::Time),
];

/// Return all accumulators in their present state: stations, pools, classes, and, if there are
/// several classes, the share of each in each station and pool.
pub fn row(plan: &Plan, state: &State) -> Row {
    let mut row = Row::default();
    fill(&mut row, plan, state);
    row
}

/// Put all accumulators as they stand into the empty `row`.
pub fn fill(row: &mut Row, plan: &Plan, state: &State) {
    for members in plan.station_rows.iter() {
        let stations = members.map(|index| &state.stations[index]);
        row.extend(sum(stations.map(|station| station_cells(state, station))));
    }
    if plan.has_losses {
        for members in plan.station_rows.iter() {
            let stations = members.map(|index| &state.stations[index]);
            row.extend(sum(stations.map(|station| loss_cells(state, station))));
        }
    }
    for members in plan.pool_rows.iter() {
        row.extend(sum(members.map(|index| pool_cells(state, index))));
    }
    for class in &state.classes {
        row.extend(class_cells(state, class));
    }
    if plan.has_outcomes {
        for class in &state.classes {
            let totals = class.totals_at(state.progress.now);
            row.extend(totals.lost.map(u128::from));
            row.extend([u128::from(totals.late_count)]);
        }
    }
    if state.classes.len() > 1 {
        for members in plan.station_rows.iter() {
            let mut sums = vec![[0; VISIT_COLUMNS.len()]; state.classes.len()];
            for index in members {
                let visits = state.stations[index].all_visits_at(state.progress.now);
                for (to, totals) in sums.iter_mut().zip(visits) {
                    add(to, visit_cells(&totals));
                }
            }
            for cells in sums {
                row.extend(cells);
            }
        }
        for members in plan.pool_rows.iter() {
            for class in 0..state.classes.len() {
                let requests = members
                    .clone()
                    .map(|index| &state.requests.of(index)[class]);
                row.extend(sum(
                    requests.map(|cell| request_cells(cell, state.progress.now))
                ));
            }
        }
    }
    if plan.has_extras {
        for members in plan.station_rows.iter() {
            row.extend(sum(members.map(|index| station_extras(state, index))));
        }
        for members in plan.pool_rows.iter() {
            row.extend(sum(members.map(|index| pool_extras(state, index))));
        }
    }
}

fn station_extras(state: &State, index: usize) -> [u128; STATION_EXTRAS.len()] {
    let station = &state.stations[index];
    let totals = station.visits_at(state.progress.now);
    let capacity = match station.servers {
        u32::MAX => 0,
        _ => station.capacity_area(state.progress.now),
    };
    [
        u128::from(totals.left_count),
        totals.left_sum,
        totals.wait_sum - totals.left_sum,
        capacity,
    ]
}

fn pool_extras(state: &State, index: usize) -> [u128; POOL_EXTRAS.len()] {
    let total = state.requests.total(index);
    [
        u128::from(total.grant_count + total.abandon_count),
        total.left_sum,
        total.wait_sum - total.left_sum,
        state.pools[index]
            .totals_at(state.progress.now)
            .capacity_area,
    ]
}

/// Add up the cells of the members of a row.
#[inline]
fn sum<const COUNT: usize>(members: impl Iterator<Item = [u128; COUNT]>) -> [u128; COUNT] {
    let mut sums = [0; COUNT];
    members.for_each(|cells| add(&mut sums, cells));
    sums
}

#[inline]
fn add<const COUNT: usize>(sums: &mut [u128; COUNT], cells: [u128; COUNT]) {
    for (to, cell) in sums.iter_mut().zip(cells) {
        *to += cell;
    }
}

fn pool_cells(state: &State, index: usize) -> [u128; POOL_COLUMNS.len()] {
    let totals = state.pools[index].totals_at(state.progress.now);
    let requests = state.requests.total(index);
    [
        u128::from(requests.grant_count),
        requests.wait_sum,
        totals.held_area,
        totals.queue_area,
        requests.queue_age(state.progress.now),
        u128::from(requests.abandon_count),
    ]
}

fn station_cells(state: &State, station: &Station) -> [u128; STATION_COLUMNS.len()] {
    let (totals, sum) = (
        station.totals_at(state.progress.now),
        station.visits_at(state.progress.now),
    );
    [
        u128::from(sum.arrival_count),
        u128::from(sum.completion_count),
        sum.wait_sum,
        sum.response_sum,
        totals.busy_area,
        totals.jobs_area,
        totals.queue_area,
        sum.age,
        sum.queue_age,
    ]
}

fn loss_cells(state: &State, station: &Station) -> [u128; STATION_LOSSES.len()] {
    let (totals, sum) = (
        station.totals_at(state.progress.now),
        station.visits_at(state.progress.now),
    );
    let reject_count = station.special.as_ref().map_or(0, |s| s.reject_count);
    [
        u128::from(sum.abandon_count),
        sum.abandon_sum,
        totals.blocked_area,
        totals.down_area,
        u128::from(reject_count),
    ]
}

fn class_cells(state: &State, class: &ClassState) -> [u128; CLASS_COLUMNS.len()] {
    let totals = class.totals_at(state.progress.now);
    [
        u128::from(totals.arrival_count),
        u128::from(totals.completion_count),
        totals.response_sum,
        totals.jobs_area,
        class.age(state.progress.now),
        u128::from(totals.lost_count()),
        totals.lost_sum,
        u128::from(totals.failed_try_count),
        totals.delay_sum,
        totals.join_sum,
        totals.outside_sum,
    ]
}

fn visit_cells(cell: &VisitTotals) -> [u128; VISIT_COLUMNS.len()] {
    [
        u128::from(cell.arrival_count),
        u128::from(cell.completion_count),
        cell.wait_sum,
        cell.response_sum,
        cell.age,
        cell.queue_age,
        u128::from(cell.abandon_count),
        cell.abandon_sum,
        cell.blocked_sum,
    ]
}

fn request_cells(cell: &Requests, now: SimTime) -> [u128; REQUEST_COLUMNS.len()] {
    [
        u128::from(cell.grant_count),
        cell.wait_sum,
        cell.queue_age(now),
        u128::from(cell.abandon_count),
    ]
}

/// Statistics of all resources of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
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

/// Largest values, name by name.
type Maxima = Vec<(&'static str, Vec<f64>)>;

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

/// Time (s) by the number of jobs present at one station.
#[derive(Clone, Debug, PartialEq)]
pub struct OccupancyTable {
    /// Lowest number of each bin in use.
    pub bin_low: Vec<f64>,
    /// First number beyond each bin.
    pub bin_high: Vec<f64>,
    /// Ticks: segments, then bins.
    pub counts: Vec<u64>,
    /// When (s) each segment ended.
    pub segment_end_times_s: Vec<f64>,
}

/// All tables of cumulative statistics at the same moments.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSet {
    /// When (s) they were taken.
    pub times_s: Vec<f64>,
    /// Stations.
    pub stations: Table,
    /// Pools.
    pub pools: Table,
    /// Classes.
    pub classes: Table,
    /// Visits of each class to each station; empty if there is one class.
    pub visits: Table,
    /// Requests of each class to each pool; empty if there is one class.
    pub requests: Table,
}

/// Statistics of intervals whose ends were given.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalTables {
    /// Cumulative statistics at the ends of the intervals.
    pub tables: TableSet,
    /// Response times within each interval by size, one for each class.
    pub histograms: Vec<HistogramTable>,
    /// Longest line within each interval: intervals, then stations.
    pub station_queue_max: Vec<f64>,
    /// Longest line within each interval: intervals, then pools.
    pub pool_queue_max: Vec<f64>,
}

/// The first events of the run, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// When (s).
    pub time_s: Vec<f64>,
    /// What, as in [`Kind`](crate::simulation::kernel::run::recorder::Kind).
    pub kind: Vec<u64>,
    /// Number of the job; numbers are used again when a job has left.
    pub job: Vec<u64>,
    /// Index of the class.
    pub class: Vec<u64>,
    /// Index of the station or pool; 0 if there is none.
    pub resource: Vec<u64>,
    /// Whether there were more events.
    pub is_truncated: bool,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Statistics at the snapshots; the last one is the end.
    pub snapshots: TableSet,
    /// Statistics at equal distances in time, if requested.
    pub samples: Option<TableSet>,
    /// Statistics of intervals, if requested.
    pub intervals: Option<IntervalTables>,
    /// Response times in completion order, one for each class.
    pub series: Vec<SeriesTable>,
    /// Response times by size, one for each class; after them the waits that were asked for.
    pub histograms: Vec<HistogramTable>,
    /// Jobs present, one for each station.
    pub occupancies: Vec<OccupancyTable>,
    /// First events, if requested.
    pub trace: Option<Trace>,
    /// Events taken.
    pub event_count: u64,
    /// Station visits completed.
    pub visit_count: u64,
    /// Length (s) of the run in simulated time.
    pub simulated_s: f64,
}

impl Outcome {
    /// Report `state`, the end of a run, and the statistics kept before it.
    pub fn new(
        plan: &Plan,
        state: State,
        snapshots: Snapshots,
        samples: Samples,
        intervals: &Intervals,
        segments: &Segments,
        recorder: &Recorder,
    ) -> Self {
        let unit = plan.unit;
        let taken = snapshots.finish(state.progress.now, row(plan, &state));
        let at_times = samples.finish();
        let mut snapshots = table_set(plan, &state, taken);
        add_lags(&mut snapshots, plan, &state);
        Self {
            snapshots,
            intervals: (!intervals.closed().is_empty())
                .then(|| interval_tables(plan, &state, intervals.closed())),
            samples: (!at_times.is_empty()).then(|| table_set(plan, &state, at_times)),
            series: state
                .classes
                .iter()
                .map(|class| series(unit, class))
                .collect(),
            occupancies: (0..plan.station_rows.names.len())
                .map(|row| occupancy(unit, segments, row))
                .collect(),
            trace: recorder.is_on().then(|| trace(unit, recorder)),
            event_count: state.progress.event_count,
            visit_count: state.progress.visit_count,
            simulated_s: unit.seconds(u128::from(state.progress.now.ticks())),
            histograms: histograms(unit, state),
        }
    }
}

fn table_set(plan: &Plan, state: &State, taken: Vec<(SimTime, Row)>) -> TableSet {
    let mut tables = Tables::new(plan.unit, taken.len());
    let servers = |servers: u32| {
        if servers == u32::MAX {
            f64::INFINITY
        } else {
            f64::from(servers)
        }
    };
    let rows = &plan.station_rows;
    let capacity = capacities(rows, |index| servers(plan.stations[index].servers));
    let mut maxima = station_maxima(rows, &state.stations);
    if rows.has_groups() {
        maxima.push(("busy_share", busiest(plan, state)));
    }
    let stations = tables.add(capacity, STATION_COLUMNS, maxima);
    if plan.has_losses {
        tables.extend(stations, STATION_LOSSES);
    } else {
        tables.extend_by_zeros(stations, STATION_LOSSES);
    }
    let rows = &plan.pool_rows;
    let capacity = capacities(rows, |index| f64::from(plan.pools[index].tokens));
    let pools = tables.add(capacity, POOL_COLUMNS, pool_maxima(rows, &state.pools));
    let population = plan.classes.iter().map(|c| {
        let population = c.population.unwrap_or(f64::INFINITY);
        (c.name.clone(), population)
    });
    let classes = tables.add(population, CLASS_COLUMNS, class_maxima(&state.classes));
    if plan.has_outcomes {
        tables.extend(classes, CLASS_OUTCOMES);
    }
    let by_class = |table: &Table| {
        let mut pairs = Vec::new();
        if plan.classes.len() > 1 {
            for (resource, &capacity) in table.names.iter().zip(&table.capacity) {
                let names = plan
                    .classes
                    .iter()
                    .map(|c| format!("{resource}.class.{}", c.name));
                pairs.extend(names.map(|name| (name, capacity)));
            }
        }
        pairs.into_iter()
    };
    let visits = tables.add(by_class(&tables.made[stations]), VISIT_COLUMNS, vec![]);
    let requests = tables.add(by_class(&tables.made[pools]), REQUEST_COLUMNS, vec![]);
    if plan.has_extras {
        tables.extend(stations, STATION_EXTRAS);
        tables.extend(pools, POOL_EXTRAS);
    }
    let times_s = seconds(plan.unit, taken.iter().map(|snapshot| snapshot.0));
    let mut made = tables.fill(taken);
    let mut take = |index: usize| std::mem::take(&mut made[index]);
    TableSet {
        times_s,
        stations: take(stations),
        pools: take(pools),
        classes: take(classes),
        visits: take(visits),
        requests: take(requests),
    }
}

/// Add the longest waits of a run to its tables, if any waits are kept.
fn add_lags(tables: &mut TableSet, plan: &Plan, state: &State) {
    if state.waits.is_empty() {
        return;
    }
    let seconds =
        |found: Option<u64>| found.map_or(f64::NAN, |ticks| plan.unit.seconds(u128::from(ticks)));
    for (table, is_pool, rows) in [
        (&mut tables.stations, false, &plan.station_rows),
        (&mut tables.pools, true, &plan.pool_rows),
    ] {
        let longest = state.waits.longest(is_pool, rows);
        let lags = longest.into_iter().map(seconds).collect();
        table.maxima.push(("lag_s", lags));
    }
}

fn interval_tables(plan: &Plan, state: &State, closed: &[Interval]) -> IntervalTables {
    let taken: Vec<(SimTime, Row)> = closed
        .iter()
        .map(|one| (one.end, one.row.clone()))
        .collect();
    let queues = |rows: &Rows, lines: fn(&Interval) -> &Vec<u32>| {
        closed
            .iter()
            .flat_map(|one| largest(rows, |index| lines(one)[index]))
            .collect()
    };
    IntervalTables {
        tables: table_set(plan, state, taken),
        histograms: (0..state.classes.len())
            .map(|class| interval_histogram(plan.unit, closed, class))
            .collect(),
        station_queue_max: queues(&plan.station_rows, |one| &one.station_queues),
        pool_queue_max: queues(&plan.pool_rows, |one| &one.pool_queues),
    }
}

fn interval_histogram(unit: TimeUnit, closed: &[Interval], class: usize) -> HistogramTable {
    let counts: Vec<(SimTime, &Counts)> = closed
        .iter()
        .map(|one| (one.end, &one.counts[class]))
        .collect();
    histogram_table(unit, histogram::bins(&counts))
}

fn occupancy(unit: TimeUnit, segments: &Segments, row: usize) -> OccupancyTable {
    let bins = segments.bins(row);
    OccupancyTable {
        bin_low: bins.low.into_iter().map(f64::from).collect(),
        bin_high: bins.high.into_iter().map(f64::from).collect(),
        counts: bins.ticks.into_iter().flatten().collect(),
        segment_end_times_s: seconds(unit, segments.ends()),
    }
}

fn trace(unit: TimeUnit, recorder: &Recorder) -> Trace {
    let records = || recorder.records.iter();
    Trace {
        time_s: records()
            .map(|one| unit.seconds(u128::from(one.ticks)))
            .collect(),
        kind: records().map(|one| u64::from(one.kind as u8)).collect(),
        job: records().map(|one| u64::from(one.job)).collect(),
        class: records().map(|one| u64::from(one.class)).collect(),
        resource: records().map(|one| u64::from(one.resource)).collect(),
        is_truncated: recorder.is_truncated,
    }
}

/// Cuts the rows of the snapshots into tables, from left to right.
///
/// Rows and tables of a large model are the most of its memory, so each row goes as soon as it is
/// in the tables, and a column without values takes no memory at all.
struct Tables {
    unit: TimeUnit,
    row_count: usize,
    made: Vec<Table>,
    /// Parts of a row: the table that it belongs to, the first of its columns, and how they are
    /// reported.
    parts: Vec<(usize, usize, Columns)>,
}

impl Tables {
    const fn new(unit: TimeUnit, row_count: usize) -> Self {
        Self {
            unit,
            row_count,
            made: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Add a table of the next cells; return its index.
    fn add(
        &mut self,
        capacities: impl Iterator<Item = (String, f64)>,
        columns: Columns,
        maxima: Maxima,
    ) -> usize {
        let (names, capacity): (Vec<String>, Vec<f64>) = capacities.unzip();
        self.made.push(Table {
            names,
            capacity,
            columns: Vec::new(),
            maxima,
        });
        let table = self.made.len() - 1;
        self.extend(table, columns);
        table
    }

    /// Add the next cells to `table`, as further columns of its resources.
    fn extend(&mut self, table: usize, columns: Columns) {
        let first = self.made[table].columns.len();
        self.extend_by_zeros(table, columns);
        self.parts.push((table, first, columns));
    }

    /// Add columns to `table` of which no cells are kept.
    fn extend_by_zeros(&mut self, table: usize, columns: Columns) {
        let table = &mut self.made[table];
        let count = self.row_count * table.names.len();
        let empty = columns.iter().map(|column| (column.0, vec![0.0; count]));
        table.columns.extend(empty);
    }

    /// Put the rows into the tables.
    fn fill(mut self, taken: Vec<(SimTime, Row)>) -> Vec<Table> {
        for (index, (_, row)) in taken.into_iter().enumerate() {
            let mut first_cell = 0;
            for &(table, first_column, columns) in &self.parts {
                let table = &mut self.made[table];
                let count = table.names.len();
                let cells = first_cell..first_cell + count * columns.len();
                first_cell = cells.end;
                let mut values = row.cells(cells);
                let to = &mut table.columns[first_column..];
                for place in index * count..(index + 1) * count {
                    for ((column, measure), value) in to.iter_mut().zip(columns).zip(&mut values) {
                        // Zeros are there already.
                        if value > 0 {
                            column.1[place] = report(self.unit, value, measure.1);
                        }
                    }
                }
            }
        }
        self.made
    }
}

fn report(unit: TimeUnit, value: u128, measure: Measure) -> f64 {
    match measure {
        Measure::Count => nearest(value),
        Measure::Time => unit.seconds(value),
    }
}

/// Return the name of each row and the capacity of its members together.
fn capacities<'a>(
    rows: &'a Rows,
    capacity: impl Fn(usize) -> f64 + 'a,
) -> impl Iterator<Item = (String, f64)> + 'a {
    let names = rows.names.iter().cloned();
    names.zip(rows.iter().map(move |members| members.map(&capacity).sum()))
}

fn station_maxima(rows: &Rows, stations: &[Station]) -> Maxima {
    vec![
        (
            "queue_len",
            largest(rows, |index| stations[index].queue_len_max),
        ),
        ("jobs", largest(rows, |index| stations[index].jobs_max)),
    ]
}

/// Return the busy share of the busiest station of each group, over the whole run; 0 for a separate
/// station, and if each job has its own server.
fn busiest(plan: &Plan, state: &State) -> Vec<f64> {
    let elapsed = nearest(u128::from(state.progress.now.ticks())).max(1.0);
    let share = |index: usize| match plan.stations[index].servers {
        u32::MAX => 0.0,
        servers => {
            let station = &state.stations[index];
            let busy = nearest(station.totals_at(state.progress.now).busy_area);
            if plan.stations[index].can_change {
                busy / nearest(station.capacity_area(state.progress.now)).max(1.0)
            } else {
                busy / (elapsed * f64::from(servers))
            }
        }
    };
    let rows = plan.station_rows.iter();
    rows.map(|members| match members.clone().count() {
        1 => 0.0,
        _ => members.map(share).fold(0.0, f64::max),
    })
    .collect()
}

fn pool_maxima(rows: &Rows, pools: &[Pool]) -> Maxima {
    vec![
        (
            "queue_len",
            largest(rows, |index| pools[index].queue_len_max),
        ),
        ("held", largest(rows, |index| pools[index].held_max)),
    ]
}

/// Return the largest value among the members of each row.
fn largest(rows: &Rows, value: impl Fn(usize) -> u32) -> Vec<f64> {
    rows.iter()
        .map(|members| f64::from(members.map(&value).max().unwrap_or(0)))
        .collect()
}

fn class_maxima(classes: &[ClassState]) -> Maxima {
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
    let now = state.progress.now;
    let responses = state.classes.into_iter();
    responses
        .map(|class| class.histogram.finish(now))
        .chain(state.waits.finish(now))
        .map(|bins| histogram_table(unit, bins))
        .collect()
}

fn histogram_table(unit: TimeUnit, bins: histogram::Bins) -> HistogramTable {
    let bounds = |ticks: &[u64]| -> Vec<f64> {
        ticks
            .iter()
            .map(|&ticks| unit.seconds(u128::from(ticks)))
            .collect()
    };
    HistogramTable {
        bin_low: bounds(&bins.low),
        bin_high: bounds(&bins.high),
        counts: bins.counts.into_iter().flatten().collect(),
        segment_end_times_s: seconds(unit, bins.ends.into_iter()),
    }
}

fn seconds(unit: TimeUnit, times: impl Iterator<Item = SimTime>) -> Vec<f64> {
    times
        .map(|time| unit.seconds(u128::from(time.ticks())))
        .collect()
}
