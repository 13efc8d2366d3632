//! The waiting line for a server or for tokens: which job is served next.
//!
//! Invariant: an interrupted job comes before those of its own rank that were not served yet.

use std::collections::BTreeMap;

use rand::RngExt;

use crate::simulation::kernel::places::jobs::{Fifo, Jobs, Members};
use crate::simulation::kernel::places::position_line::PositionLine;
use crate::simulation::kernel::random::stream::Stream;

/// A line of waiting jobs.
#[derive(Clone, Debug)]
pub enum Line {
    /// First come, first served.
    Fifo(Fifo),
    /// Last come, first served.
    Lifo(Fifo),
    /// The largest priority first; first come, first served among equals.
    Priority(Box<PriorityLine>),
    /// Any job, all equally likely.
    Random(Box<RandomLine>),
    /// By position, as a head comes to it.
    Position(Box<PositionLine>),
}

/// Queues by rank.
#[derive(Clone, Debug, Default)]
pub struct PriorityLine {
    ranks: BTreeMap<Rank, Fifo>,
    len: u32,
}

/// A line from which any job may be taken.
#[derive(Clone, Debug)]
pub struct RandomLine {
    jobs: Vec<u32>,
    stream: Stream,
}

/// A number as an ordered key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// The smallest number first.
    pub fn ascending(number: f64) -> Self {
        let bits = (number + 0.0).to_bits();
        Self(if bits >> 63 == 1 {
            !bits
        } else {
            bits | (1 << 63)
        })
    }

    /// The largest number first.
    fn descending(number: f64) -> Self {
        Self(!Self::ascending(number).0)
    }

    /// Return the number of an ascending key.
    pub fn value(self) -> f64 {
        f64::from_bits(if self.0 >> 63 == 1 {
            self.0 & !(1 << 63)
        } else {
            !self.0
        })
    }
}

impl Line {
    /// Return an empty line, first come, first served.
    pub const fn fifo() -> Self {
        Self::Fifo(Fifo::new())
    }

    /// Return an empty line by priority.
    pub fn priority() -> Self {
        Self::Priority(Box::default())
    }

    /// Return an empty line in random order.
    pub fn random(stream: Stream) -> Self {
        Self::Random(Box::new(RandomLine {
            jobs: Vec::new(),
            stream,
        }))
    }

    /// Return the number of jobs in the line, fewer than 2^24.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.len(),
            Self::Priority(line) => line.len,
            Self::Random(line) => line.len(),
            Self::Position(line) => line.len(),
        }
    }

    /// Return whether the line is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Let `job` join the line.
    #[inline]
    pub fn push(&mut self, jobs: &mut impl Members, job: u32) {
        match self {
            Self::Fifo(queue) => queue.push(jobs, job),
            other => other.push_by_rule(jobs, job),
        }
    }

    fn push_by_rule(&mut self, jobs: &mut impl Members, job: u32) {
        match self {
            Self::Fifo(queue) => queue.push(jobs, job),
            Self::Lifo(queue) => queue.push_front(jobs, job),
            Self::Priority(line) => line.queue_of(jobs, job).push(jobs, job),
            Self::Random(line) => line.push(jobs, job),
            Self::Position(line) => line.push(jobs, job),
        }
    }

    /// Let `job`, whose service was interrupted, join the line before its equals.
    pub fn push_interrupted(&mut self, jobs: &mut impl Members, job: u32) {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.push_front(jobs, job),
            Self::Priority(line) => line.queue_of(jobs, job).push_front(jobs, job),
            Self::Random(line) => line.push(jobs, job),
            Self::Position(line) => line.push_front(jobs, job),
        }
    }

    /// Note that the service of `job`, which stood in no line, begins.
    #[inline]
    pub fn note_served(&mut self, jobs: &impl Members, job: u32) {
        if let Self::Position(line) = self {
            line.serve(jobs, job);
        }
    }

    /// Take the job that is next.
    #[inline]
    pub fn pop(&mut self, jobs: &mut impl Members) -> Option<u32> {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.pop(jobs),
            other => other.pop_by_rule(jobs),
        }
    }

    fn pop_by_rule(&mut self, jobs: &mut impl Members) -> Option<u32> {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.pop(jobs),
            Self::Priority(line) => line.pop(jobs),
            Self::Random(line) => line.pop(jobs),
            Self::Position(line) => line.pop(jobs),
        }
    }

    /// Return the job that is next; in a random line, any possible one.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.first(),
            Self::Priority(line) => line.ranks.values().next().and_then(Fifo::first),
            Self::Random(line) => line.jobs.first().copied(),
            Self::Position(line) => line.first(),
        }
    }

    /// Take `job` out of the line, wherever it is.
    pub fn remove(&mut self, jobs: &mut impl Members, job: u32) {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.remove(jobs, job),
            Self::Priority(line) => line.remove(jobs, job),
            Self::Random(line) => line.remove(jobs, job),
            Self::Position(line) => line.remove(jobs, job),
        }
    }

    /// Return the jobs in the line, the next one first.
    pub fn members(&self, jobs: &Jobs) -> Vec<u32> {
        match self {
            Self::Fifo(queue) | Self::Lifo(queue) => queue.iter(jobs).collect(),
            Self::Priority(line) => line.ranks.values().flat_map(|q| q.iter(jobs)).collect(),
            Self::Random(line) => line.jobs.clone(),
            Self::Position(line) => line.members(jobs),
        }
    }
}

impl PriorityLine {
    /// Return the queue that `job` is about to join.
    fn queue_of(&mut self, jobs: &impl Members, job: u32) -> &mut Fifo {
        self.len += 1;
        let rank = Rank::descending(jobs.priority(job));
        self.ranks.entry(rank).or_default()
    }

    fn pop(&mut self, jobs: &mut impl Members) -> Option<u32> {
        let mut first = self.ranks.first_entry()?;
        let job = first.get_mut().pop(jobs);
        if first.get().is_empty() {
            first.remove();
        }
        self.len -= 1;
        job
    }

    fn remove(&mut self, jobs: &mut impl Members, job: u32) {
        let rank = Rank::descending(jobs.priority(job));
        let queue = self.ranks.get_mut(&rank).expect("a job waits by its rank");
        queue.remove(jobs, job);
        if queue.is_empty() {
            self.ranks.remove(&rank);
        }
        self.len -= 1;
    }
}

/// Places are kept in the jobs, as `next`.
impl RandomLine {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 2^24 jobs"
    )]
    fn len(&self) -> u32 {
        self.jobs.len() as u32
    }

    fn push(&mut self, jobs: &mut impl Members, job: u32) {
        jobs[job].next = self.len();
        self.jobs.push(job);
    }

    fn pop(&mut self, jobs: &mut impl Members) -> Option<u32> {
        if self.jobs.is_empty() {
            return None;
        }
        let place = self.stream.random_range(0..self.jobs.len());
        let job = self.jobs[place];
        self.remove(jobs, job);
        Some(job)
    }

    fn remove(&mut self, jobs: &mut impl Members, job: u32) {
        let place = jobs[job].next;
        self.jobs.swap_remove(place as usize);
        if let Some(&moved) = self.jobs.get(place as usize) {
            jobs[moved].next = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::places::jobs::Role;
    use crate::simulation::kernel::random::stream;

    fn with_priorities(priorities: &[f64]) -> Jobs {
        let mut jobs = Jobs::new(0, vec![]);
        for &priority in priorities {
            jobs.start(0, 0, Role::Root, priority).expect("room");
        }
        jobs
    }

    fn drain(line: &mut Line, jobs: &mut Jobs) -> Vec<u32> {
        std::iter::from_fn(|| line.pop(jobs)).collect()
    }

    #[test]
    fn the_largest_priority_goes_first_and_equals_in_order() {
        let mut jobs = with_priorities(&[-1.0, 2.0, 0.0, 2.0, -0.0]);
        let mut line = Line::priority();
        (0..5).for_each(|job| line.push(&mut jobs, job));
        line.remove(&mut jobs, 3);
        line.push_interrupted(&mut jobs, 3);
        assert_eq!(line.members(&jobs), [3, 1, 2, 4, 0]);
        assert_eq!(line.first(), Some(3));
        assert_eq!(drain(&mut line, &mut jobs), [3, 1, 2, 4, 0]);
        assert!(line.is_empty());
    }

    #[test]
    fn the_last_one_goes_first_in_a_stack() {
        let mut jobs = with_priorities(&[0.0; 3]);
        let mut line = Line::Lifo(Fifo::new());
        (0..3).for_each(|job| line.push(&mut jobs, job));
        assert_eq!(drain(&mut line, &mut jobs), [2, 1, 0]);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "a key keeps the number")]
    fn a_rank_orders_numbers_and_keeps_them() {
        let numbers = [
            f64::NEG_INFINITY,
            -3.5,
            -1e-300,
            0.0,
            1e-300,
            2.0,
            f64::INFINITY,
        ];
        assert!(numbers.map(Rank::ascending).is_sorted());
        assert!(numbers.map(Rank::descending).iter().rev().is_sorted());
        for number in numbers {
            assert_eq!(Rank::ascending(number).value(), number);
        }
        assert_eq!(Rank::ascending(-0.0), Rank::ascending(0.0));
    }

    #[test]
    fn everybody_leaves_a_random_line_once() {
        let mut jobs = with_priorities(&[0.0; 100]);
        let mut line = Line::random(stream::open(1, 2));
        (0..100).for_each(|job| line.push(&mut jobs, job));
        line.remove(&mut jobs, 50);
        let mut left = drain(&mut line, &mut jobs);
        assert!(!left.is_sorted());
        left.sort_unstable();
        assert_eq!(left, (0..100).filter(|&job| job != 50).collect::<Vec<_>>());
    }
}
