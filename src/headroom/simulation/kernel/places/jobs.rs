//! The jobs of a run: a slab that recycles its slots, and the first-come-first-served queues in it.
//!
//! A queue is a linked list through the jobs themselves, so queueing allocates nothing. The stacks
//! are stored in one array with a fixed stride, which the compiler computed; so are the attributes.
//! Data that the plain path never touches are kept separately in [`Extra`], so that a job fits in
//! one cache line.
//!
//! Slots also serve entities other than jobs that wait for an event: sources, guards of attempts,
//! clocks of stations ([`Role`]).
//!
//! Invariant: a job is in at most one queue, and waits for at most one event.

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use std::ops::{Index, IndexMut};

use crate::simulation::kernel::places::cache;
use crate::simulation::kernel::places::event_queue::{JOB_LIMIT, NO_LEAF};
use crate::simulation::kernel::time::SimTime;

/// No job.
pub const NO_JOB: u32 = u32::MAX;
/// No station.
pub const NO_STATION: u32 = u32::MAX;
/// No event.
pub const NO_EVENT: u32 = NO_LEAF;
/// No work left over from an interruption.
pub const NO_WORK: u64 = u64::MAX;

/// The current activity of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The slot is vacant.
    Vacant,
    /// It walks, or is about to.
    Walking,
    /// It was set going by another job at this instant and will walk.
    Ready,
    /// It waits for a server.
    Waiting,
    /// It is served.
    Serving,
    /// It waits for a place at the next station, still holding the server behind it, if any.
    Blocked,
    /// It has a server and waits for a place at the station after this one.
    Reserving,
    /// It lets time pass.
    Delayed,
    /// It waits for tokens.
    Asking,
    /// It waits for its arms, or for a reply.
    Joining,
}

/// The role of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A job of a class.
    Root,
    /// An arm of a fork; the parent waits for it.
    Arm,
    /// A call whose caller waits for the reply.
    Callee,
    /// Work that no job waits for.
    Detached,
    /// The guard of an attempt: its parent is the job, its depth that of the job's stack.
    Guard,
    /// A source of arrivals, or the clock of a station.
    Clock,
}

/// A walk through a program, in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Job {
    /// Position in the instruction array.
    pub at: u32,
    /// Next in the queue of the job.
    pub next: u32,
    /// Previous in that queue.
    pub prev: u32,
    /// Slots in use on the job's stack.
    pub depth: u32,
    /// The job that waits for this one, or [`NO_JOB`].
    pub parent: u32,
    /// Class that the job works for.
    pub class: u32,
    /// Leaf of the event that it waits for, or [`NO_EVENT`].
    pub event: u32,
    /// Its activity.
    pub phase: Phase,
    /// Its role.
    pub role: Role,
    /// When it entered its current station, delay or join.
    pub entered: SimTime,
    /// When it entered its current queue.
    pub since: SimTime,
    /// When it entered the system.
    pub arrived: SimTime,
}

impl Job {
    /// Return a job of `class` that is about to walk from `at`.
    #[inline(always)]
    pub const fn new(at: u32, class: u32, role: Role) -> Self {
        Self {
            at,
            next: NO_JOB,
            prev: NO_JOB,
            depth: 0,
            parent: NO_JOB,
            class,
            event: NO_EVENT,
            phase: Phase::Walking,
            role,
            entered: SimTime::ZERO,
            since: SimTime::ZERO,
            arrived: SimTime::ZERO,
        }
    }
}

/// Data that only some jobs need.
#[derive(Clone, Debug)]
pub struct Extra {
    /// Larger comes first.
    pub priority: f64,
    /// Work (ticks at speed 1) left over from an interruption, or [`NO_WORK`].
    pub remaining: u64,
    /// When the service ends.
    pub finish: SimTime,
    /// When it entered the station that it still occupies.
    pub entered_before: SimTime,
    /// Its server, at a station whose servers differ.
    pub server: u32,
    /// Station whose server it holds while it is blocked, or [`NO_STATION`].
    pub occupies: u32,
    /// Class that it had in the station that it still occupies.
    pub class_before: u32,
    /// Station at which a place is kept for it, or [`NO_STATION`].
    pub reserved: u32,
    /// Guard of its innermost attempt, or [`NO_JOB`].
    pub guard: u32,
    /// First of the jobs that it waits for.
    pub first_child: u32,
    /// Next child of the same parent.
    pub next_sibling: u32,
    /// Previous child of the same parent.
    pub prev_sibling: u32,
}

impl Extra {
    const fn new(priority: f64) -> Self {
        Self {
            priority,
            remaining: NO_WORK,
            finish: SimTime::ZERO,
            entered_before: SimTime::ZERO,
            server: 0,
            occupies: NO_STATION,
            class_before: 0,
            reserved: NO_STATION,
            guard: NO_JOB,
            first_child: NO_JOB,
            next_sibling: NO_JOB,
            prev_sibling: NO_JOB,
        }
    }

    /// Return whether the slot is clear of anything that must not pass to the next job.
    const fn is_clean(&self) -> bool {
        self.occupies == NO_STATION
            && self.reserved == NO_STATION
            && self.guard == NO_JOB
            && self.first_child == NO_JOB
    }
}

/// All jobs, their stacks and their attributes.
#[derive(Debug)]
pub struct Jobs {
    slots: Vec<Job>,
    rest: Rest,
}

/// Data of jobs apart from their slots.
#[derive(Debug)]
pub struct Rest {
    /// The vacant slots, and the rarer data of all.
    pub vacancies: Vacancies,
    /// The stacks.
    pub stacks: Stacks,
    /// The attributes.
    pub attributes: Attributes,
}

impl Jobs {
    /// Return an empty table whose jobs have `stride` stack slots and the attributes `initial`.
    pub fn new(stride: usize, initial: Vec<f64>) -> Self {
        Self {
            slots: Vec::new(),
            rest: Rest {
                vacancies: Vacancies {
                    first: NO_JOB,
                    extras: Vec::new(),
                },
                stacks: Stacks {
                    values: Vec::new(),
                    stride,
                },
                attributes: Attributes {
                    values: Vec::new(),
                    initial,
                },
            },
        }
    }

    /// Make room for `count` jobs, or as many as there may be.
    pub fn make_room(&mut self, count: usize) {
        let count = count.min(JOB_LIMIT as usize);
        let mut slots = cache::roomy(count);
        slots.append(&mut self.slots);
        self.slots = slots;
        self.rest.vacancies.extras.reserve_exact(count);
        self.rest
            .stacks
            .values
            .reserve_exact(count * self.rest.stacks.stride);
    }

    /// Start a job at position `at`; None if there are too many.
    pub fn start(&mut self, at: u32, class: u32, role: Role, priority: f64) -> Option<u32> {
        let job = Job::new(at, class, role);
        let (mut slots, rest) = self.parts();
        if let Some(reused) = rest.vacancies.start(&mut slots, job.clone(), priority) {
            rest.attributes.begin(reused);
            return Some(reused);
        }
        let index = u32::try_from(self.slots.len())
            .ok()
            .filter(|&index| index < JOB_LIMIT)?;
        self.slots.push(job);
        self.rest.vacancies.extras.push(Extra::new(priority));
        let stacks = &mut self.rest.stacks;
        stacks.values.resize(stacks.values.len() + stacks.stride, 0);
        self.rest.attributes.make_room();
        Some(index)
    }

    /// End a job and recycle its slot.
    pub fn end(&mut self, job: u32) {
        let (mut slots, rest) = self.parts();
        rest.vacancies.end(&mut slots, job);
    }

    /// Borrow the slots, and the rest.
    #[inline(always)]
    pub fn parts(&mut self) -> (Slots<'_>, &mut Rest) {
        (Slots(&mut self.slots), &mut self.rest)
    }

    /// Return the data that only some jobs need.
    #[inline]
    pub fn extra(&self, job: u32) -> &Extra {
        &self.rest.vacancies.extras[job as usize]
    }

    /// Return the data that only some jobs need.
    #[inline]
    pub fn extra_mut(&mut self, job: u32) -> &mut Extra {
        &mut self.rest.vacancies.extras[job as usize]
    }

    /// Return the attributes of `job`.
    pub fn attributes(&self, job: u32) -> &[f64] {
        self.rest.attributes.of(job)
    }

    /// Return the attributes of `job`.
    pub fn attributes_mut(&mut self, job: u32) -> &mut [f64] {
        self.rest.attributes.of_mut(job)
    }

    /// Give `to` the attributes and the priority of `from`.
    pub fn inherit(&mut self, to: u32, from: u32) {
        self.inherit_attributes(to, from);
        self.extra_mut(to).priority = self.extra(from).priority;
    }

    /// Give `to` the attributes of `from`.
    pub fn inherit_attributes(&mut self, to: u32, from: u32) {
        self.rest.attributes.copy(to, from);
    }

    /// Make `child` one of the jobs that `parent` waits for.
    pub fn adopt(&mut self, parent: u32, child: u32) {
        self[child].parent = parent;
        let first = self.extra(parent).first_child;
        self.extra_mut(child).next_sibling = first;
        self.extra_mut(child).prev_sibling = NO_JOB;
        if first != NO_JOB {
            self.extra_mut(first).prev_sibling = child;
        }
        self.extra_mut(parent).first_child = child;
    }

    /// Make no job wait for `child` any more.
    pub fn release(&mut self, child: u32) {
        let (next, prev) = (
            self.extra(child).next_sibling,
            self.extra(child).prev_sibling,
        );
        let parent = self[child].parent;
        if prev == NO_JOB {
            self.extra_mut(parent).first_child = next;
        } else {
            self.extra_mut(prev).next_sibling = next;
        }
        if next != NO_JOB {
            self.extra_mut(next).prev_sibling = prev;
        }
        self[child].parent = NO_JOB;
    }

    /// Push `value` on the stack of `job`.
    #[inline]
    pub fn push(&mut self, job: u32, value: u32) {
        let depth = self[job].depth;
        self.rest.stacks.set(job, depth, value);
        self[job].depth = depth + 1;
    }

    /// Pop the top of the stack of `job`.
    #[inline]
    pub fn pop(&mut self, job: u32) -> u32 {
        let depth = self[job].depth;
        self[job].depth = depth - 1;
        self.rest.stacks.top(job, depth)
    }

    /// Lower the top of the stack of `job` by one and return the new value.
    #[inline]
    pub fn count_down(&mut self, job: u32) -> u32 {
        let depth = self[job].depth;
        let value = self.rest.stacks.top(job, depth) - 1;
        self.rest.stacks.set(job, depth - 1, value);
        value
    }

    /// Return the stack of `job`, bottom first.
    pub fn stack(&self, job: u32) -> &[u32] {
        let first = job as usize * self.rest.stacks.stride;
        &self.rest.stacks.values[first..first + self[job].depth as usize]
    }

    /// Iterate over the slots in use, in order, whatever their role.
    pub fn live(&self) -> impl Iterator<Item = (u32, &Job)> {
        (0_u32..)
            .zip(&self.slots)
            .filter(|(_, job)| job.phase != Phase::Vacant)
    }

    /// Iterate over the jobs proper: neither guards nor clocks.
    pub fn working(&self) -> impl Iterator<Item = (u32, &Job)> {
        self.live()
            .filter(|(_, job)| !matches!(job.role, Role::Guard | Role::Clock))
    }

    /// Return the number of slots, vacant ones included.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
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

/// Jobs that may wait in a line, with what its order depends on.
pub trait Members: IndexMut<u32, Output = Job> {
    /// Return the priority of `job`.
    fn priority(&self, job: u32) -> f64;
    /// Return an attribute of `job`.
    fn attribute(&self, job: u32, attribute: usize) -> f64;
}

impl Members for Jobs {
    #[inline]
    fn priority(&self, job: u32) -> f64 {
        self.extra(job).priority
    }

    fn attribute(&self, job: u32, attribute: usize) -> f64 {
        self.attributes(job)[attribute]
    }
}

/// The same, of parts of [`Jobs`].
#[derive(Debug)]
pub struct Parts<'a, 'run> {
    /// Their slots.
    pub slots: &'a mut Slots<'run>,
    /// Their priorities and attributes.
    pub rest: &'a Rest,
}

impl Index<u32> for Parts<'_, '_> {
    type Output = Job;

    #[inline(always)]
    fn index(&self, job: u32) -> &Job {
        &self.slots[job]
    }
}

impl IndexMut<u32> for Parts<'_, '_> {
    #[inline(always)]
    fn index_mut(&mut self, job: u32) -> &mut Job {
        &mut self.slots[job]
    }
}

impl Members for Parts<'_, '_> {
    #[inline]
    fn priority(&self, job: u32) -> f64 {
        self.rest.vacancies.extras[job as usize].priority
    }

    fn attribute(&self, job: u32, attribute: usize) -> f64 {
        self.rest.attributes.of(job)[attribute]
    }
}

/// The attributes of all jobs: as many for each as there are initial ones.
#[derive(Debug)]
pub struct Attributes {
    values: Vec<f64>,
    initial: Vec<f64>,
}

impl Attributes {
    fn of(&self, job: u32) -> &[f64] {
        &self.values[self.range(job)]
    }

    fn of_mut(&mut self, job: u32) -> &mut [f64] {
        let range = self.range(job);
        &mut self.values[range]
    }

    fn copy(&mut self, to: u32, from: u32) {
        let (target, source) = (self.range(to), self.range(from));
        self.values.copy_within(source, target.start);
    }

    /// Let `job`, whose slot was used before, have the initial ones.
    fn begin(&mut self, job: u32) {
        if !self.initial.is_empty() {
            let range = self.range(job);
            self.values[range].copy_from_slice(&self.initial);
        }
    }

    /// Let a new slot have the initial ones.
    fn make_room(&mut self) {
        self.values.extend_from_slice(&self.initial);
    }

    fn range(&self, job: u32) -> std::ops::Range<usize> {
        let first = job as usize * self.initial.len();
        first..first + self.initial.len()
    }
}

/// The slots of all jobs, borrowed so that their place and number stay in registers.
#[derive(Debug)]
pub struct Slots<'run>(&'run mut [Job]);

impl Slots<'_> {
    /// Return the number of slots, vacant ones included.
    pub const fn count(&self) -> usize {
        self.0.len()
    }
}

impl Index<u32> for Slots<'_> {
    type Output = Job;

    #[inline(always)]
    fn index(&self, job: u32) -> &Job {
        &self.0[job as usize]
    }
}

impl IndexMut<u32> for Slots<'_> {
    #[inline(always)]
    fn index_mut(&mut self, job: u32) -> &mut Job {
        &mut self.0[job as usize]
    }
}

/// The stacks of all jobs.
#[derive(Debug)]
pub struct Stacks {
    values: Vec<u32>,
    stride: usize,
}

impl Stacks {
    /// Return the top of the stack of `job`, which is `depth` high.
    #[inline(always)]
    pub fn top(&self, job: u32, depth: u32) -> u32 {
        self.values[job as usize * self.stride + depth as usize - 1]
    }

    /// Put `value` on the stack of `job`, which was `depth` high.
    #[inline(always)]
    pub fn set(&mut self, job: u32, depth: u32, value: u32) {
        self.values[job as usize * self.stride + depth as usize] = value;
    }
}

/// The vacant slots, and the rarer data of all.
#[derive(Debug)]
pub struct Vacancies {
    first: u32,
    extras: Vec<Extra>,
}

impl Vacancies {
    /// Return the rarer data of `job`.
    #[inline(always)]
    pub fn extra_mut(&mut self, job: u32) -> &mut Extra {
        &mut self.extras[job as usize]
    }

    /// Recycle the slot of `job`, which ends.
    #[inline(always)]
    pub fn end(&mut self, slots: &mut Slots<'_>, job: u32) {
        let slot = &mut slots[job];
        slot.phase = Phase::Vacant;
        slot.event = NO_EVENT;
        slot.next = std::mem::replace(&mut self.first, job);
    }

    /// Start a job without attributes in a vacant slot, if there is one.
    #[inline(always)]
    pub fn start(&mut self, slots: &mut Slots<'_>, job: Job, priority: f64) -> Option<u32> {
        let reused = self.first;
        if reused == NO_JOB {
            return None;
        }
        self.first = slots[reused].next;
        slots[reused] = job;
        let extra = &mut self.extras[reused as usize];
        debug_assert!(extra.is_clean(), "a job ended with {extra:?}");
        extra.priority = priority;
        Some(reused)
    }
}

/// Return the total time (ticks) that `count` present jobs have been here, if their moments of
/// entry sum up to `entered_sum`.
#[inline]
pub const fn age(count: u32, entered_sum: u128, now: SimTime) -> u128 {
    count as u128 * now.ticks() as u128 - entered_sum
}

/// A first-come-first-served queue of jobs.
#[derive(Clone, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
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

    /// Return the last job.
    #[inline]
    pub const fn last(&self) -> Option<u32> {
        if self.len == 0 { None } else { Some(self.tail) }
    }

    /// Append `job`.
    #[inline(always)]
    pub fn push(&mut self, jobs: &mut impl IndexMut<u32, Output = Job>, job: u32) {
        jobs[job].next = NO_JOB;
        jobs[job].prev = self.tail;
        if self.len == 0 {
            self.head = job;
        } else {
            jobs[self.tail].next = job;
        }
        self.tail = job;
        self.len += 1;
    }

    /// Put `job` before all others.
    pub fn push_front(&mut self, jobs: &mut impl IndexMut<u32, Output = Job>, job: u32) {
        jobs[job].prev = NO_JOB;
        jobs[job].next = self.head;
        if self.len == 0 {
            self.tail = job;
        } else {
            jobs[self.head].prev = job;
        }
        self.head = job;
        self.len += 1;
    }

    /// Take the first job.
    #[inline(always)]
    pub fn pop(&mut self, jobs: &mut impl IndexMut<u32, Output = Job>) -> Option<u32> {
        let job = self.first()?;
        self.head = jobs[job].next;
        self.len -= 1;
        if self.len == 0 {
            self.tail = NO_JOB;
        }
        Some(job)
    }

    /// Take `job`, which stands in this queue, wherever it is.
    pub fn remove(&mut self, jobs: &mut impl IndexMut<u32, Output = Job>, job: u32) {
        if self.head == job {
            self.pop(jobs);
            return;
        }
        let (next, prev) = (jobs[job].next, jobs[job].prev);
        jobs[prev].next = next;
        if self.tail == job {
            self.tail = prev;
        } else {
            jobs[next].prev = prev;
        }
        self.len -= 1;
    }

    /// Iterate over the jobs, first one first.
    pub fn iter<'a>(&self, jobs: &'a Jobs) -> impl Iterator<Item = u32> + use<'a> {
        let mut next = self.first();
        let mut left = self.len;
        std::iter::from_fn(move || {
            let job = next?;
            left -= 1;
            next = (left > 0).then(|| jobs[job].next);
            Some(job)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(jobs: &mut Jobs, at: u32) -> u32 {
        jobs.start(at, 0, Role::Root, 0.0).expect("room")
    }

    #[test]
    fn an_ended_job_gives_its_slot_to_the_next() {
        let mut jobs = Jobs::new(2, vec![]);
        let first = start(&mut jobs, 0);
        let second = start(&mut jobs, 0);
        jobs.end(first);
        assert_eq!(
            jobs.live().map(|(index, _)| index).collect::<Vec<_>>(),
            [second]
        );
        assert_eq!(start(&mut jobs, 5), first);
        assert_eq!(jobs.slot_count(), 2);
    }

    #[test]
    fn a_queue_keeps_the_order_of_entry() {
        let mut jobs = Jobs::new(0, vec![]);
        let mut queue = Fifo::new();
        for _ in 0..3 {
            let job = start(&mut jobs, 0);
            queue.push(&mut jobs, job);
        }
        assert_eq!(queue.pop(&mut jobs), Some(0));
        queue.push(&mut jobs, 0);
        assert_eq!(queue.iter(&jobs).collect::<Vec<_>>(), [1, 2, 0]);
        queue.remove(&mut jobs, 2);
        queue.push_front(&mut jobs, 2);
        assert_eq!(queue.iter(&jobs).collect::<Vec<_>>(), [2, 1, 0]);
        queue.remove(&mut jobs, 0);
        queue.push(&mut jobs, 0);
        assert_eq!(queue.iter(&jobs).collect::<Vec<_>>(), [2, 1, 0]);
    }

    #[test]
    fn a_recycled_job_has_the_initial_attributes() {
        let mut jobs = Jobs::new(0, vec![1.0, 2.0]);
        let first = start(&mut jobs, 0);
        jobs.attributes_mut(first)[1] = 7.0;
        let second = start(&mut jobs, 0);
        jobs.inherit(second, first);
        assert_eq!(jobs.attributes(second), [1.0, 7.0]);
        jobs.end(first);
        assert_eq!(start(&mut jobs, 0), first);
        assert_eq!(jobs.attributes(first), [1.0, 2.0]);
    }

    #[test]
    fn a_family_forgets_who_leaves_it() {
        let mut jobs = Jobs::new(0, vec![]);
        let slots: Vec<u32> = (0..4).map(|_| start(&mut jobs, 0)).collect();
        for &child in &slots[1..] {
            jobs.adopt(slots[0], child);
        }
        jobs.release(slots[2]);
        jobs.release(slots[3]);
        assert_eq!(jobs.extra(slots[0]).first_child, slots[1]);
        jobs.release(slots[1]);
        assert_eq!(jobs.extra(slots[0]).first_child, NO_JOB);
    }
}
