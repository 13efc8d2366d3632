//! The pending events, smallest time first; equal times leave in the order in which they entered.
//!
//! An implicit 4-ary heap of 16-byte entries; the four children of a node fill a cache line. `take`
//! leaves a hole at the top that the next `schedule` fills with one sift. In a queueing network
//! nearly every event schedules another one, and this fused "hold" costs half as much as pop and
//! push.
//!
//! Invariant: an event is never scheduled before the time of the last one taken.
//!
//! Source: `LaMarca` & Ladner (1996), *The influence of caches on the performance of heaps*.

use crate::simulation::kernel::time::SimTime;

/// Children of one node.
const ARITY: usize = 4;
/// Bits of an entry that hold the job; the sequence number has the other 40 of the low half.
const JOB_BITS: u32 = 24;

/// Largest number of jobs that may have an event pending.
pub const JOB_LIMIT: u32 = 1 << JOB_BITS;
/// Largest number of events in a run.
pub const EVENT_LIMIT: u64 = 1 << (64 - JOB_BITS);

/// Cancelled events up to which the heap stays unchanged.
const COMPACT_FROM: usize = 64;

/// Time (64 bits), sequence number (40 bits) and job (24 bits), most significant first.
type Entry = u128;

/// Placeholder for no event: later than every event.
const NOTHING: Entry = Entry::MAX;

/// The children of one node, [`NOTHING`] behind the last.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([Entry; ARITY]);

/// The pending set: at each time, which job continues.
///
/// The top is node 0, and the children of node n are nodes 4n + 1 to 4n + 4, in `below[n]`.
#[derive(Debug)]
pub struct EventQueue {
    top: Entry,
    below: Vec<Children>,
    node_count: usize,
    has_hole: bool,
    scheduled_count: u64,
    stale_count: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            top: NOTHING,
            below: Vec::new(),
            node_count: 0,
            has_hole: false,
            scheduled_count: 0,
            stale_count: 0,
        }
    }
}

impl EventQueue {
    /// Return the number of pending events.
    pub fn len(&self) -> usize {
        self.node_count - usize::from(self.has_hole)
    }

    /// Return whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the number of events scheduled so far, at most [`EVENT_LIMIT`].
    pub fn scheduled_count(&self) -> u64 {
        self.scheduled_count
    }

    /// Schedule `job` (below [`JOB_LIMIT`]) to continue at `time`; return the number of the event.
    #[inline]
    pub fn schedule(&mut self, time: SimTime, job: u32) -> u64 {
        debug_assert!(
            job < JOB_LIMIT && self.scheduled_count < EVENT_LIMIT,
            "key out of range"
        );
        let low = (self.scheduled_count << JOB_BITS) | u64::from(job);
        self.scheduled_count += 1;
        let entry = (u128::from(time.ticks()) << 64) | u128::from(low);
        if self.has_hole {
            self.has_hole = false;
            self.sift_down(entry);
        } else {
            self.append(entry);
        }
        self.scheduled_count - 1
    }

    /// Take the earliest event: its time, its number and its job.
    ///
    /// A cancelled event comes out like any other; the caller knows the numbers that count.
    #[inline]
    pub fn take(&mut self) -> Option<(SimTime, u64, u32)> {
        if self.has_hole {
            self.fill_hole();
        }
        if self.node_count == 0 {
            return None;
        }
        self.has_hole = true;
        Some(unpack(self.top))
    }

    /// Iterate over the jobs that continue soon after the current one, in no order.
    #[inline]
    pub fn soon(&self) -> impl Iterator<Item = u32> {
        let first = self.below.first().map_or(&[][..], |children| &children.0);
        let events = first.iter().filter(|&&entry| entry != NOTHING);
        events.map(|&entry| unpack(entry).2)
    }

    /// Return the job that continues after the current one, unless another event comes before it.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        let (_, entry) = smallest_of(self.below.first()?);
        (entry != NOTHING).then(|| unpack(entry).2)
    }

    /// One event more is not waited for any longer.
    pub fn note_cancelled(&mut self) {
        self.stale_count += 1;
    }

    /// A cancelled event has come out.
    pub fn note_stale_taken(&mut self) {
        self.stale_count = self.stale_count.saturating_sub(1);
    }

    /// Return whether most events are cancelled ones, so that [`Self::compact`] pays.
    #[inline]
    pub fn is_mostly_stale(&self) -> bool {
        self.stale_count > COMPACT_FROM && self.stale_count > self.node_count / 2
    }

    /// Drop the events for which `is_live` (number, job) says no.
    ///
    /// Entries are unique, so their order does not depend on the shape of the heap.
    pub fn compact(&mut self, mut is_live: impl FnMut(u64, u32) -> bool) {
        if self.has_hole {
            self.fill_hole();
        }
        let below = std::mem::take(&mut self.below);
        let entries = std::iter::once(self.top).chain(below.into_iter().flat_map(|four| four.0));
        let mut live: Vec<Entry> = entries
            .filter(|&entry| {
                let (_, number, job) = unpack(entry);
                entry != NOTHING && is_live(number, job)
            })
            .collect();
        live.sort_unstable();
        self.top = NOTHING;
        self.node_count = 0;
        for entry in live {
            self.append(entry);
        }
        self.stale_count = 0;
    }

    /// Close the hole at the top with the last entry.
    fn fill_hole(&mut self) {
        self.has_hole = false;
        self.node_count -= 1;
        if self.node_count == 0 {
            self.top = NOTHING;
        } else {
            let last = std::mem::replace(self.node(self.node_count), NOTHING);
            self.sift_down(last);
        }
    }

    /// Return the place of the node `at`.
    #[inline]
    fn node(&mut self, at: usize) -> &mut Entry {
        match at.checked_sub(1) {
            None => &mut self.top,
            Some(below) => &mut self.below[below / ARITY].0[below % ARITY],
        }
    }

    /// Add a last node and put `entry` where it belongs.
    #[inline]
    fn append(&mut self, entry: Entry) {
        let at = self.node_count;
        self.node_count += 1;
        if at > self.below.len() * ARITY {
            self.below.push(Children([NOTHING; ARITY]));
        }
        self.sift_up(at, entry);
    }

    /// Put `entry` in its place, starting at the top, whose old entry is gone.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let mut at = 0;
        while let Some(children) = self.below.get(at) {
            let (place, smallest) = smallest_of(children);
            if entry <= smallest {
                break;
            }
            *self.node(at) = smallest;
            at = ARITY * at + 1 + place;
        }
        *self.node(at) = entry;
    }

    /// Put `entry` where it belongs, starting at the last node `at`.
    #[inline]
    fn sift_up(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let above = *self.node(parent);
            if above <= entry {
                break;
            }
            *self.node(at) = above;
            at = parent;
        }
        *self.node(at) = entry;
    }
}

/// Return place and value of the smallest of `children`.
#[inline]
fn smallest_of(&Children([a, b, c, d]): &Children) -> (usize, Entry) {
    let left = if b < a { (1, b) } else { (0, a) };
    let right = if d < c { (3, d) } else { (2, c) };
    if right.1 < left.1 { right } else { left }
}

/// Split an entry into its time, its number and its job.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "each cast keeps the bits that are meant"
)]
const fn unpack(entry: Entry) -> (SimTime, u64, u32) {
    (
        SimTime::from_ticks((entry >> 64) as u64),
        (entry as u64) >> JOB_BITS,
        (entry as u32) & (JOB_LIMIT - 1),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a reference: a `BTreeMap` ordered by time, then by order of entry.
        #[test]
        fn events_leave_in_the_order_of_the_reference(
            steps in prop::collection::vec((any::<bool>(), 0_u64..20), 0..400)
        ) {
            let mut queue = EventQueue::default();
            let mut reference = BTreeMap::new();
            let mut now = SimTime::ZERO;
            let mut sequence = 0_u32;
            for (is_schedule, delay) in steps {
                if is_schedule {
                    let time = now.after(delay).expect("far below the range");
                    queue.schedule(time, sequence);
                    reference.insert((time, sequence), sequence);
                    sequence += 1;
                } else {
                    let expected = reference.pop_first().map(|((time, _), job)| (time, job));
                    let taken = queue.take().map(|(time, _, job)| (time, job));
                    prop_assert_eq!(taken, expected);
                    now = taken.map_or(now, |(time, _)| time);
                }
                prop_assert_eq!(queue.len(), reference.len());
            }
        }
    }

    #[test]
    fn the_extremes_of_time_and_job_survive() {
        let mut queue = EventQueue::default();
        queue.schedule(SimTime::MAX, JOB_LIMIT - 1);
        assert_eq!(queue.take(), Some((SimTime::MAX, 0, JOB_LIMIT - 1)));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn a_compacted_queue_keeps_the_live_events_in_order() {
        let mut queue = EventQueue::default();
        for job in 0..1000_u32 {
            queue.schedule(SimTime::from_ticks(u64::from(job * 7919 % 1000)), job);
        }
        let first = queue.take().expect("an event");
        (0..600).for_each(|_| queue.note_cancelled());
        assert!(queue.is_mostly_stale());
        queue.compact(|_, job| job % 3 == 0 && job != first.2);
        let left: Vec<(SimTime, u64, u32)> = std::iter::from_fn(|| queue.take()).collect();
        assert!(left.is_sorted());
        assert_eq!(left.len(), 333);
        assert!(!queue.is_mostly_stale());
    }
}
