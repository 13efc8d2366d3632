//! Job classes during a run: jobs in the system, and their response times.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use crate::simulation::kernel::places::jobs::age;
use crate::simulation::kernel::places::stations::area;
use crate::simulation::kernel::statistics::histogram::SegmentedHistogram;
use crate::simulation::kernel::statistics::series::Series;
use crate::simulation::kernel::time::SimTime;

/// One class of jobs.
#[derive(Clone, Debug)]
pub struct ClassState {
    present: u32,
    arrived_sum: u128,
    changed: SimTime,
    late_after: u64,
    totals: ClassTotals,
    /// Largest number of jobs in the system at the same time.
    pub jobs_max: u32,
    /// Response times in completion order.
    pub series: Series,
    /// Response times by size.
    pub histogram: SegmentedHistogram,
}

/// Sums since the start of the run; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Jobs that entered the system.
    pub arrival_count: u64,
    /// Jobs that have done their work.
    pub completion_count: u64,
    /// Response times of the jobs that have done their work.
    pub response_sum: u128,
    /// Jobs that were lost, by [`Loss`].
    pub lost: [u64; 3],
    /// Completed jobs whose response time was beyond the limit of the class.
    pub late_count: u64,
    /// Times in the system of the jobs that were lost.
    pub lost_sum: u128,
    /// Tries that failed.
    pub failed_try_count: u64,
    /// Times spent in delays.
    pub delay_sum: u128,
    /// Times spent waiting for other jobs: arms, or a reply.
    pub join_sum: u128,
    /// Times spent outside of full stations, holding no server.
    pub outside_sum: u128,
    /// Integral of the number of jobs in the system.
    pub jobs_area: u128,
}

/// Why a job is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A station had no room for it.
    Rejected,
    /// Its patience was over.
    Abandoned,
    /// The last try of an attempt failed.
    Failed,
}

impl ClassTotals {
    /// Return how many jobs were lost, whatever the reason.
    pub fn lost_count(&self) -> u64 {
        self.lost.iter().sum()
    }
}

impl ClassState {
    /// Return a class without jobs in the system, which are late after so many ticks.
    pub fn new(late_after: u64) -> Self {
        Self {
            present: 0,
            arrived_sum: 0,
            changed: SimTime::ZERO,
            late_after,
            totals: ClassTotals::default(),
            jobs_max: 0,
            series: Series::new(),
            histogram: SegmentedHistogram::new(),
        }
    }

    /// A job enters the system.
    #[inline(always)]
    pub fn begin(&mut self, now: SimTime) {
        self.advance(now);
        self.present += 1;
        self.arrived_sum += u128::from(now.ticks());
        self.totals.arrival_count += 1;
        self.jobs_max = self.jobs_max.max(self.present);
    }

    /// A job that arrived at `arrived` has done its work.
    #[inline(always)]
    pub fn complete(&mut self, now: SimTime, arrived: SimTime) {
        self.advance(now);
        self.present -= 1;
        self.arrived_sum -= u128::from(arrived.ticks());
        let response = now.since(arrived);
        self.totals.completion_count += 1;
        self.totals.response_sum += u128::from(response);
        self.totals.late_count += u64::from(response > self.late_after);
        self.series.record(response, now);
        self.histogram.record(response, now);
    }

    /// A job that arrived at `arrived` has done its work and enters the system once more.
    #[inline]
    pub fn again(&mut self, now: SimTime, arrived: SimTime) {
        self.advance(now);
        let response = now.since(arrived);
        self.arrived_sum += u128::from(response);
        self.totals.arrival_count += 1;
        self.totals.completion_count += 1;
        self.totals.response_sum += u128::from(response);
        self.totals.late_count += u64::from(response > self.late_after);
        self.series.record(response, now);
        self.histogram.record(response, now);
    }

    /// A job that arrived at `arrived` is lost.
    pub fn lose(&mut self, now: SimTime, arrived: SimTime, why: Loss) {
        self.advance(now);
        self.present -= 1;
        self.arrived_sum -= u128::from(arrived.ticks());
        self.totals.lost[why as usize] += 1;
        self.totals.lost_sum += u128::from(now.since(arrived));
    }

    /// A try has failed.
    pub fn count_failed_try(&mut self) {
        self.totals.failed_try_count += 1;
    }

    /// A delay of `ticks` is over.
    pub fn add_delay(&mut self, ticks: u64) {
        self.totals.delay_sum += u128::from(ticks);
    }

    /// A job has waited for others for `ticks`.
    pub fn add_join(&mut self, ticks: u64) {
        self.totals.join_sum += u128::from(ticks);
    }

    /// A job has waited outside a full station for `ticks`.
    pub fn add_outside(&mut self, ticks: u64) {
        self.totals.outside_sum += u128::from(ticks);
    }

    /// Return how many jobs were lost.
    pub fn lost_count(&self) -> u64 {
        self.totals.lost_count()
    }

    /// Return the jobs in the system.
    pub const fn present(&self) -> u32 {
        self.present
    }

    /// Return the total time (ticks) that the present jobs have been in the system so far.
    pub const fn age(&self, now: SimTime) -> u128 {
        age(self.present, self.arrived_sum, now)
    }

    /// Return the totals at `now`.
    pub fn totals_at(&self, now: SimTime) -> ClassTotals {
        let ticks = now.since(self.changed);
        ClassTotals {
            jobs_area: self.totals.jobs_area + area(self.present, ticks),
            ..self.totals
        }
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.changed = now;
        self.totals.jobs_area += area(self.present, ticks);
    }
}
