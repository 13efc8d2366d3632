//! Waits at the stations and pools that the caller names, by size: most runs name none.
//!
//! The wait of a visit is all its time in the line, those after interruptions included, and it is
//! counted when the service ends; that of a request is counted when it is granted. What is given up
//! is not counted.

use crate::simulation::kernel::plan::program::Plan;
use crate::simulation::kernel::plan::rows::Rows;
use crate::simulation::kernel::statistics::histogram::{Bins, SegmentedHistogram};
use crate::simulation::kernel::time::SimTime;

/// The row of stations, or of pools, whose waits are kept, of one class or of all.
#[derive(Clone, Debug)]
pub struct WaitsOf {
    /// Whether it is a row of pools.
    pub is_pool: bool,
    /// Its name in the tables.
    pub row: String,
    /// Name of the class; all classes together if None.
    pub class: Option<String>,
}

/// One histogram, of whom it is, and where.
#[derive(Clone, Debug)]
struct Watch {
    members: Vec<u32>,
    is_pool: bool,
    class: Option<u32>,
    histogram: SegmentedHistogram,
    /// Longest time (ticks) in the line without a break, of those who gave up or wait still too.
    longest: u64,
}

/// All histograms of waits of a run.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    watches: Vec<Watch>,
    /// Time (ticks) in the present line so far, by job.
    waited: Vec<u64>,
}

impl Waits {
    /// Keep the waits `wanted`, and let `plan` know at which stations.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row or class: a bug of the caller.
    pub fn new(wanted: &[WaitsOf], plan: &mut Plan) -> Self {
        let watches: Vec<Watch> = wanted.iter().map(|one| Watch::new(one, plan)).collect();
        for watch in watches.iter().filter(|watch| !watch.is_pool) {
            for &station in &watch.members {
                plan.stations[station as usize].is_watched = true;
            }
        }
        Self {
            watches,
            waited: Vec::new(),
        }
    }

    /// Return whether no waits are kept.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// `job` comes to a station.
    pub fn begin(&mut self, job: u32) {
        if self.waited.len() <= job as usize {
            self.waited.resize(job as usize + 1, 0);
        }
        self.waited[job as usize] = 0;
    }

    /// `job` has waited for `ticks`, maybe not for the first time in this visit.
    pub fn add(&mut self, job: u32, ticks: u64) {
        self.waited[job as usize] += ticks;
    }

    /// The service of `job`, of `class`, has ended at `station`.
    pub fn serve(&mut self, job: u32, station: u32, class: u32, now: SimTime) {
        // A job may only have been at bounded stations, which are not watched.
        if let Some(&ticks) = self.waited.get(job as usize) {
            self.record((false, station), class, ticks, now);
        }
    }

    /// A request of `class` to `pool` is granted after `ticks`.
    pub fn grant(&mut self, pool: u32, class: u32, ticks: u64, now: SimTime) {
        self.record((true, pool), class, ticks, now);
    }

    /// A job of `class` was in the line of a station, or of a pool, for `ticks`.
    pub fn leave(&mut self, (is_pool, place): (bool, u32), class: u32, ticks: u64) {
        for watch in self.watches_of((is_pool, place), class) {
            watch.longest = watch.longest.max(ticks);
        }
    }

    fn record(&mut self, place: (bool, u32), class: u32, ticks: u64, now: SimTime) {
        for watch in self.watches_of(place, class) {
            watch.histogram.record(ticks, now);
        }
    }

    fn watches_of(
        &mut self,
        (is_pool, place): (bool, u32),
        class: u32,
    ) -> impl Iterator<Item = &mut Watch> {
        self.watches.iter_mut().filter(move |watch| {
            let is_there = watch.is_pool == is_pool && watch.members.binary_search(&place).is_ok();
            is_there && watch.class.is_none_or(|one| one == class)
        })
    }

    /// Return the longest time (ticks) in the line of each row of `is_pool`, of those that are kept
    /// for all classes.
    pub fn longest(&self, is_pool: bool, rows: &Rows) -> Vec<Option<u64>> {
        let kept = |members: &Vec<u32>| {
            let mut watches = self.watches.iter();
            let same = |one: &&Watch| one.is_pool == is_pool && one.members == *members;
            watches.find(|one| same(one) && one.class.is_none())
        };
        let members = rows.members.iter();
        members
            .map(|members| kept(members).map(|one| one.longest))
            .collect()
    }

    /// Return the bins of each histogram, in the order in which they were asked for.
    pub fn finish(self, now: SimTime) -> impl Iterator<Item = Bins> {
        self.watches
            .into_iter()
            .map(move |watch| exact_zero(watch.histogram.finish(now)))
    }
}

impl Watch {
    fn new(wanted: &WaitsOf, plan: &Plan) -> Self {
        let rows = if wanted.is_pool {
            &plan.pool_rows
        } else {
            &plan.station_rows
        };
        let row = rows.names.iter().position(|name| *name == wanted.row);
        let class_of = |name: &String| {
            let mut classes = (0..).zip(&plan.classes);
            let found = classes.find(|(_, class)| class.name == *name);
            found.expect("the class is one of the model").0
        };
        Self {
            members: rows.members[row.expect("the row is one of the model")].clone(),
            is_pool: wanted.is_pool,
            class: wanted.class.as_ref().map(class_of),
            histogram: SegmentedHistogram::new(),
            longest: 0,
        }
    }
}

/// Let the bin of those who did not wait hold nothing else: it has no width.
fn exact_zero(mut bins: Bins) -> Bins {
    if bins.low.first() == Some(&0) {
        bins.high[0] = 0;
    }
    bins
}
