//! Pools during a run: counted tokens, granted from the head of a line.
//!
//! A request that does not fit blocks those behind it, so that large requests do not starve.
//!
//! Invariant: an area is brought up to the present before the number that it integrates changes.

use crate::simulation::kernel::places::jobs::{Jobs, Phase};
use crate::simulation::kernel::places::line::Line;
use crate::simulation::kernel::places::stations::area;
use crate::simulation::kernel::places::tally::{Grid, Requests};
use crate::simulation::kernel::plan::program::PoolPlan;
use crate::simulation::kernel::time::SimTime;

/// Counted tokens.
#[derive(Clone, Debug)]
pub struct Pool {
    tokens: u32,
    held: u32,
    line: Line,
    can_change: bool,
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
    /// Integral of the number of tokens held.
    pub held_area: u128,
    /// Integral of the number of jobs waiting.
    pub queue_area: u128,
    /// Integral of the number of tokens that there are, held ones that are too many included.
    pub capacity_area: u128,
}

impl Pool {
    /// Return a pool with all tokens free.
    pub fn new(plan: &PoolPlan) -> Self {
        Self {
            tokens: plan.tokens,
            held: 0,
            can_change: plan.can_change,
            line: if plan.is_by_priority {
                Line::priority()
            } else {
                Line::fifo()
            },
            changed: SimTime::ZERO,
            totals: PoolTotals::default(),
            queue_len_max: 0,
            held_max: 0,
        }
    }

    /// Let `job` request `tokens`; return whether it gets them at once.
    #[inline]
    pub fn acquire(
        &mut self,
        now: SimTime,
        job: u32,
        tokens: u32,
        jobs: &mut Jobs,
        cell: &mut Requests,
    ) -> bool {
        self.advance(now);
        let is_granted = self.line.is_empty() && tokens <= self.free();
        if is_granted {
            self.grant(tokens, cell);
        } else {
            jobs[job].phase = Phase::Asking;
            jobs[job].since = now;
            cell.queue(now);
            self.line.push(jobs, job);
            self.queue_len_max = self.queue_len_max.max(self.line.len());
        }
        is_granted
    }

    /// Take `tokens` back.
    ///
    /// # Panics
    ///
    /// Panics if more come back than were granted: a bug.
    #[inline]
    pub fn release(&mut self, now: SimTime, tokens: u32) {
        self.advance(now);
        assert!(
            tokens <= self.held,
            "{tokens} of {} held tokens come back to a pool",
            self.held
        );
        self.held -= tokens;
    }

    /// Grant the request of the job at the head of the line of the pool `index`, which needs
    /// `tokens`, if they are free.
    pub fn grant_first(
        &mut self,
        now: SimTime,
        index: u32,
        tokens: u32,
        jobs: &mut Jobs,
        requests: &mut Grid<Requests>,
    ) -> bool {
        if tokens > self.free() {
            return false;
        }
        self.advance(now);
        if let Some(job) = self.line.pop(jobs) {
            let cell = requests.cell(index, jobs[job].class);
            cell.leave_queue(now, jobs[job].since);
            self.grant(tokens, cell);
        }
        true
    }

    /// Let `job`, which waits here, wait no longer.
    pub fn give_up(&mut self, now: SimTime, job: u32, jobs: &mut Jobs, cell: &mut Requests) {
        self.advance(now);
        self.line.remove(jobs, job);
        cell.give_up(now, jobs[job].since);
    }

    /// Change the number of tokens; those that are held stay held until they come back.
    pub fn set_tokens(&mut self, now: SimTime, tokens: u32) {
        self.advance(now);
        self.tokens = tokens;
    }

    /// Return the number of tokens.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Return the number of tokens held.
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// Return the number of tokens free.
    pub const fn free(&self) -> u32 {
        self.tokens.saturating_sub(self.held)
    }

    /// Return the jobs waiting.
    #[inline]
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// Return the totals at `now`.
    pub fn totals_at(&self, now: SimTime) -> PoolTotals {
        let ticks = now.since(self.changed);
        PoolTotals {
            held_area: self.totals.held_area + area(self.held(), ticks),
            queue_area: self.totals.queue_area + area(self.line.len(), ticks),
            capacity_area: if self.can_change {
                self.totals.capacity_area + area(self.capacity(), ticks)
            } else {
                area(self.tokens, now.ticks())
            },
        }
    }

    #[inline]
    fn grant(&mut self, tokens: u32, cell: &mut Requests) {
        self.held += tokens;
        self.held_max = self.held_max.max(self.held);
        cell.grant_count += 1;
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        let ticks = now.since(self.changed);
        self.changed = now;
        self.totals.held_area += area(self.held, ticks);
        self.totals.queue_area += area(self.line.len(), ticks);
        if self.can_change {
            self.totals.capacity_area += area(self.capacity(), ticks);
        }
    }

    /// Return the tokens that there are; those that are too many count as long as they are held.
    const fn capacity(&self) -> u32 {
        if self.tokens > self.held {
            self.tokens
        } else {
            self.held
        }
    }
}
