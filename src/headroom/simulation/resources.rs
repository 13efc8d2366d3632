//! Stations and pools at work, with their exact accumulators.
//!
//! All accumulators are integers (counts and ticks), so the conservation laws that
//! `invariants` checks hold to the last digit, however long the run.
//!
//! Invariant: an area is brought up to the present before the number that it integrates changes.

use super::jobs::{Fifo, Jobs, age};
use super::time::SimTime;

/// Servers with one first-come-first-served queue.
#[derive(Clone, Debug)]
pub struct Station {
    servers: u32,
    busy: u32,
    waiting: Fifo,
    entered_sum: u128,
    changed: SimTime,
    totals: StationTotals,
    /// Largest number of jobs that waited at the same time.
    pub queue_len_max: u32,
    /// Largest number of jobs present at the same time.
    pub jobs_max: u32,
}

/// Sums since the start of the run; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationTotals {
    /// Visits that began.
    pub arrival_count: u64,
    /// Visits that ended.
    pub completion_count: u64,
    /// Waiting times of the visits whose service has begun.
    pub wait_sum: u128,
    /// Response times of the visits that ended.
    pub response_sum: u128,
    /// Integral of the number of busy servers.
    pub busy_area: u128,
    /// Integral of the number of jobs present.
    pub jobs_area: u128,
}

impl Station {
    /// Return an idle station.
    pub const fn new(servers: u32) -> Self {
        Self {
            servers,
            busy: 0,
            waiting: Fifo::new(),
            entered_sum: 0,
            changed: SimTime::ZERO,
            totals: StationTotals {
                arrival_count: 0,
                completion_count: 0,
                wait_sum: 0,
                response_sum: 0,
                busy_area: 0,
                jobs_area: 0,
            },
            queue_len_max: 0,
            jobs_max: 0,
        }
    }

    /// Let `job` arrive; return whether its service begins at once.
    #[inline]
    pub fn arrive(&mut self, now: SimTime, job: u32, jobs: &mut Jobs) -> bool {
        self.advance(now);
        self.totals.arrival_count += 1;
        self.entered_sum += u128::from(now.ticks());
        jobs[job].entered = now;
        let is_served = self.busy < self.servers;
        if is_served {
            self.busy += 1;
        } else {
            self.waiting.push(jobs, job);
            self.queue_len_max = self.queue_len_max.max(self.waiting.len());
        }
        self.jobs_max = self.jobs_max.max(self.present());
        is_served
    }

    /// End the service of `job`; return the job whose service begins.
    #[inline]
    pub fn complete(&mut self, now: SimTime, job: u32, jobs: &Jobs) -> Option<u32> {
        self.advance(now);
        self.totals.completion_count += 1;
        let entered = jobs[job].entered;
        self.totals.response_sum += u128::from(now.since(entered));
        self.entered_sum -= u128::from(entered.ticks());
        let next = self.waiting.pop(jobs);
        match next {
            Some(next) => self.totals.wait_sum += u128::from(now.since(jobs[next].entered)),
            None => self.busy -= 1,
        }
        next
    }

    /// Return the jobs present, waiting or in service.
    #[inline]
    pub const fn present(&self) -> u32 {
        self.busy + self.waiting.len()
    }

    /// Return the jobs waiting.
    pub const fn waiting(&self) -> &Fifo {
        &self.waiting
    }

    /// Return how long (ticks) the jobs present have been here so far, all together.
    pub const fn age(&self, now: SimTime) -> u128 {
        age(self.present(), self.entered_sum, now)
    }

    /// Return the totals as they stand at `now`.
    pub fn totals_at(&self, now: SimTime) -> StationTotals {
        let mut station = self.clone();
        station.advance(now);
        station.totals
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.changed = now;
        self.totals.busy_area += area(self.busy, ticks);
        self.totals.jobs_area += area(self.present(), ticks);
    }
}

/// Counted tokens, granted first come first served.
#[derive(Clone, Debug)]
pub struct Pool {
    tokens: u32,
    free: u32,
    waiting: Fifo,
    changed: SimTime,
    totals: PoolTotals,
    /// Largest number of jobs that waited at the same time.
    pub queue_len_max: u32,
    /// Largest number of tokens held at the same time.
    pub held_max: u32,
}

/// Sums since the start of the run; times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolTotals {
    /// Requests granted.
    pub grant_count: u64,
    /// Waiting times of the requests granted.
    pub wait_sum: u128,
    /// Integral of the number of tokens held.
    pub held_area: u128,
    /// Integral of the number of jobs waiting.
    pub queue_area: u128,
}

impl Pool {
    /// Return a pool with all tokens free.
    pub const fn new(tokens: u32) -> Self {
        Self {
            tokens,
            free: tokens,
            waiting: Fifo::new(),
            changed: SimTime::ZERO,
            totals: PoolTotals {
                grant_count: 0,
                wait_sum: 0,
                held_area: 0,
                queue_area: 0,
            },
            queue_len_max: 0,
            held_max: 0,
        }
    }

    /// Let `job` ask for `tokens`; return whether it gets them at once.
    #[inline]
    pub fn acquire(&mut self, now: SimTime, job: u32, tokens: u32, jobs: &mut Jobs) -> bool {
        self.advance(now);
        let is_granted = self.waiting.is_empty() && tokens <= self.free;
        if is_granted {
            self.grant(tokens);
        } else {
            jobs[job].entered = now;
            self.waiting.push(jobs, job);
            self.queue_len_max = self.queue_len_max.max(self.waiting.len());
        }
        is_granted
    }

    /// Take `tokens` back.
    ///
    /// # Panics
    ///
    /// Panics where more come back than were granted: a bug.
    #[inline]
    pub fn release(&mut self, now: SimTime, tokens: u32) {
        self.advance(now);
        self.free += tokens;
        assert!(
            self.free <= self.tokens,
            "a pool has {} of {} tokens",
            self.free,
            self.tokens
        );
    }

    /// Grant the request of the job at the head of the queue, which asks for `tokens`, if they
    /// are free.
    pub fn grant_first(&mut self, now: SimTime, tokens: u32, jobs: &Jobs) -> bool {
        if tokens > self.free {
            return false;
        }
        if let Some(job) = self.waiting.pop(jobs) {
            self.totals.wait_sum += u128::from(now.since(jobs[job].entered));
            self.grant(tokens);
        }
        true
    }

    /// Return the number of tokens held.
    pub const fn held(&self) -> u32 {
        self.tokens - self.free
    }

    /// Return the jobs waiting.
    #[inline]
    pub const fn waiting(&self) -> &Fifo {
        &self.waiting
    }

    /// Return the totals as they stand at `now`.
    pub fn totals_at(&self, now: SimTime) -> PoolTotals {
        let mut pool = self.clone();
        pool.advance(now);
        pool.totals
    }

    #[inline]
    fn grant(&mut self, tokens: u32) {
        self.free -= tokens;
        self.held_max = self.held_max.max(self.held());
        self.totals.grant_count += 1;
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.changed = now;
        self.totals.held_area += area(self.held(), ticks);
        self.totals.queue_area += area(self.waiting.len(), ticks);
    }
}

/// Return `count` times `ticks`.
#[inline]
pub fn area(count: u32, ticks: u64) -> u128 {
    u128::from(count) * u128::from(ticks)
}
