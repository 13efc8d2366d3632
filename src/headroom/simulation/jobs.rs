//! The jobs of a run: a slab that recycles its slots, and first-come-first-served queues in it.
//!
//! A queue is a chain through the jobs themselves, so queueing allocates nothing. The stacks lie
//! side by side in one array with a fixed stride, which the compiler computed.
//!
//! Invariant: a job stands in at most one queue.

use std::ops::{Index, IndexMut};

use super::event_queue::JOB_LIMIT;
use super::time::SimTime;

/// No job.
pub const NO_JOB: u32 = u32::MAX;
/// Position of a slot without a job.
const VACANT: u32 = u32::MAX;

/// A walk through a program.
#[derive(Clone, Debug)]
pub struct Job {
    /// Position in the instruction array.
    pub at: u32,
    /// Next in the queue in which the job stands.
    pub next: u32,
    /// Slots in use on the job's stack.
    pub depth: u32,
    /// The job that forked this one, or [`NO_JOB`].
    pub parent: u32,
    /// Class that the job works for.
    pub class: u32,
    /// When it entered the station, or the queue of the pool, in which it stands.
    pub entered: SimTime,
    /// When it entered the system.
    pub arrived: SimTime,
}

/// All jobs and their stacks.
#[derive(Debug)]
pub struct Jobs {
    slots: Vec<Job>,
    stacks: Vec<u32>,
    stride: usize,
    first_vacant: u32,
}

impl Jobs {
    /// Return an empty table whose jobs have `stride` stack slots each.
    pub fn new(stride: usize) -> Self {
        Self {
            slots: Vec::new(),
            stacks: Vec::new(),
            stride,
            first_vacant: NO_JOB,
        }
    }

    /// Start a job at position `at`; None where there are too many.
    pub fn start(&mut self, at: u32, class: u32, parent: u32) -> Option<u32> {
        let job = Job {
            at,
            next: NO_JOB,
            depth: 0,
            parent,
            class,
            entered: SimTime::ZERO,
            arrived: SimTime::ZERO,
        };
        let reused = self.first_vacant;
        if reused != NO_JOB {
            self.first_vacant = self[reused].next;
            self[reused] = job;
            return Some(reused);
        }
        let index = u32::try_from(self.slots.len())
            .ok()
            .filter(|&index| index < JOB_LIMIT)?;
        self.slots.push(job);
        self.stacks.resize(self.stacks.len() + self.stride, 0);
        Some(index)
    }

    /// End a job and recycle its slot.
    pub fn end(&mut self, job: u32) {
        let first_vacant = self.first_vacant;
        let slot = &mut self[job];
        slot.at = VACANT;
        slot.next = first_vacant;
        self.first_vacant = job;
    }

    /// Push `value` on the stack of `job`.
    #[inline]
    pub fn push(&mut self, job: u32, value: u32) {
        let depth = self.slots[job as usize].depth;
        let slot = self.slot(job, depth);
        self.stacks[slot] = value;
        self.slots[job as usize].depth = depth + 1;
    }

    /// Pop the top of the stack of `job`.
    #[inline]
    pub fn pop(&mut self, job: u32) -> u32 {
        let depth = self.slots[job as usize].depth - 1;
        self.slots[job as usize].depth = depth;
        self.stacks[self.slot(job, depth)]
    }

    /// Lower the top of the stack of `job` by one and return what is left.
    #[inline]
    pub fn count_down(&mut self, job: u32) -> u32 {
        let top = self.slot(job, self.slots[job as usize].depth - 1);
        self.stacks[top] -= 1;
        self.stacks[top]
    }

    /// Return the stack of `job`, bottom first.
    pub fn stack(&self, job: u32) -> &[u32] {
        let first = self.slot(job, 0);
        &self.stacks[first..first + self[job].depth as usize]
    }

    /// Iterate over the jobs that exist, in order of their slots.
    pub fn live(&self) -> impl Iterator<Item = (u32, &Job)> {
        (0_u32..)
            .zip(&self.slots)
            .filter(|(_, job)| job.at != VACANT)
    }

    /// Return the number of slots, vacant ones included.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    fn slot(&self, job: u32, depth: u32) -> usize {
        job as usize * self.stride + depth as usize
    }
}

impl Index<u32> for Jobs {
    type Output = Job;

    #[inline]
    fn index(&self, job: u32) -> &Job {
        &self.slots[job as usize]
    }
}

impl IndexMut<u32> for Jobs {
    #[inline]
    fn index_mut(&mut self, job: u32) -> &mut Job {
        &mut self.slots[job as usize]
    }
}

/// Return how long (ticks) `count` jobs have been present so far, all together, whose moments of
/// entry sum up to `entered_sum`.
pub const fn age(count: u32, entered_sum: u128, now: SimTime) -> u128 {
    count as u128 * now.ticks() as u128 - entered_sum
}

/// A first-come-first-served queue of jobs.
#[derive(Clone, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
    entered_sum: u128,
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl Fifo {
    /// Return an empty queue.
    pub const fn new() -> Self {
        Self {
            head: NO_JOB,
            tail: NO_JOB,
            len: 0,
            entered_sum: 0,
        }
    }

    /// Return the number of jobs in the queue.
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Return whether no job is in the queue.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Return the first job without taking it.
    #[inline]
    pub const fn first(&self) -> Option<u32> {
        if self.len == 0 { None } else { Some(self.head) }
    }

    /// Append `job`, which entered before this.
    #[inline]
    pub fn push(&mut self, jobs: &mut Jobs, job: u32) {
        jobs[job].next = NO_JOB;
        if self.len == 0 {
            self.head = job;
        } else {
            jobs[self.tail].next = job;
        }
        self.tail = job;
        self.len += 1;
        self.entered_sum += u128::from(jobs[job].entered.ticks());
    }

    /// Take the first job.
    #[inline]
    pub fn pop(&mut self, jobs: &Jobs) -> Option<u32> {
        let job = self.first()?;
        self.head = jobs[job].next;
        self.len -= 1;
        self.entered_sum -= u128::from(jobs[job].entered.ticks());
        Some(job)
    }

    /// Return how long (ticks) the jobs have waited so far, all together.
    pub const fn age(&self, now: SimTime) -> u128 {
        age(self.len, self.entered_sum, now)
    }

    /// Iterate over the jobs, first one first.
    pub fn iter<'a>(&self, jobs: &'a Jobs) -> impl Iterator<Item = u32> + use<'a> {
        let mut next = self.first();
        std::iter::from_fn(move || {
            let job = next?;
            let following = jobs[job].next;
            next = (following != NO_JOB).then_some(following);
            Some(job)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_job_gives_its_slot_to_the_next() {
        let mut jobs = Jobs::new(2);
        let first = jobs.start(0, 0, NO_JOB).expect("room");
        let second = jobs.start(0, 0, NO_JOB).expect("room");
        jobs.end(first);
        assert_eq!(
            jobs.live().map(|(index, _)| index).collect::<Vec<_>>(),
            [second]
        );
        assert_eq!(jobs.start(5, 0, NO_JOB), Some(first));
        assert_eq!(jobs.slot_count(), 2);
    }

    #[test]
    fn a_queue_keeps_the_order_of_entry() {
        let mut jobs = Jobs::new(0);
        let mut queue = Fifo::new();
        for _ in 0..3 {
            let job = jobs.start(0, 0, NO_JOB).expect("room");
            queue.push(&mut jobs, job);
        }
        assert_eq!(queue.pop(&jobs), Some(0));
        queue.push(&mut jobs, 0);
        assert_eq!(queue.iter(&jobs).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn the_age_of_a_queue_is_that_of_the_jobs_in_it() {
        let mut jobs = Jobs::new(0);
        let mut queue = Fifo::new();
        for ticks in [3, 5, 9] {
            let job = jobs.start(0, 0, NO_JOB).expect("room");
            jobs[job].entered = SimTime::from_ticks(ticks);
            queue.push(&mut jobs, job);
        }
        queue.pop(&jobs);
        assert_eq!(queue.age(SimTime::from_ticks(10)), 5 + 1);
    }
}
