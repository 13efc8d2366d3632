//! The pending events, smallest time first; equal times leave in the order in which they entered.
//!
//! An implicit 4-ary heap of 16-byte entries, four of which fill a cache line. `take` leaves a
//! hole at the top that the next `schedule` fills with one sift: in a queueing network nearly
//! every event schedules another one, and the fused "hold" costs half of pop and push.
//!
//! Invariant: an event is never scheduled before the time of the last one taken.
//!
//! Source: `LaMarca` & Ladner (1996), *The influence of caches on the performance of heaps*.

use super::time::SimTime;

/// Children of one node.
const ARITY: usize = 4;
/// Bits of an entry that hold the job; the sequence number has the other 40 of the low half.
const JOB_BITS: u32 = 24;

/// Largest number of jobs that may have an event pending.
pub const JOB_LIMIT: u32 = 1 << JOB_BITS;
/// Largest number of events in a run.
pub const EVENT_LIMIT: u64 = 1 << (64 - JOB_BITS);

/// Cancelled events up to which the heap is left as it is.
const COMPACT_FROM: usize = 64;

/// Time (64 bits), sequence number (40 bits) and job (24 bits), most significant first.
pub type Entry = u128;

/// The pending set: at each time, which job goes on.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: Vec<Entry>,
    has_hole: bool,
    scheduled_count: u64,
    stale_count: usize,
}

impl EventQueue {
    /// Return the number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.has_hole)
    }

    /// Return whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the number of events scheduled so far, at most [`EVENT_LIMIT`].
    pub fn scheduled_count(&self) -> u64 {
        self.scheduled_count
    }

    /// Let `job` (below [`JOB_LIMIT`]) go on at `time`; return the number of the event.
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
            self.heap.push(entry);
            self.sift_up(entry);
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
        let entry = *self.heap.first()?;
        self.has_hole = true;
        Some(unpack(entry))
    }

    /// Return the jobs of events that come soon after the one taken, the next one first if known.
    #[inline]
    pub fn soon(&self) -> &[Entry] {
        self.heap.get(1..=ARITY).unwrap_or_default()
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
        self.stale_count > COMPACT_FROM && self.stale_count > self.heap.len() / 2
    }

    /// Drop the events for which `is_live` (number, job) says no.
    ///
    /// Entries are unique, so their order does not depend on the shape of the heap.
    pub fn compact(&mut self, mut is_live: impl FnMut(u64, u32) -> bool) {
        if self.has_hole {
            self.fill_hole();
        }
        self.heap.retain(|&entry| {
            let (_, number, job) = unpack(entry);
            is_live(number, job)
        });
        self.heap.sort_unstable();
        self.stale_count = 0;
    }

    /// Close the hole at the top with the last entry.
    fn fill_hole(&mut self) {
        self.has_hole = false;
        match self.heap.pop() {
            Some(last) if !self.heap.is_empty() => self.sift_down(last),
            _ => {}
        }
    }

    /// Put `entry` where it belongs, starting at the top, whose old entry is gone.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = ARITY * at + 1;
            let (child, smallest) = if let Some(&[a, b, c, d]) = heap
                .get(first..first + ARITY)
                .and_then(|four| four.first_chunk())
            {
                smallest_of_four(first, [a, b, c, d])
            } else if let Some(found) = smallest_of_few(heap, first) {
                found
            } else {
                break;
            };
            if entry <= smallest {
                break;
            }
            heap[at] = smallest;
            at = child;
        }
        heap[at] = entry;
    }

    /// Put `entry`, which stands in the last place, where it belongs.
    #[inline]
    fn sift_up(&mut self, entry: Entry) {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }
}

/// Return place and value of the smallest of four neighbours, the first of which stands at `first`.
#[inline]
fn smallest_of_four(first: usize, [a, b, c, d]: [Entry; ARITY]) -> (usize, Entry) {
    let left = if b < a { (first + 1, b) } else { (first, a) };
    let right = if d < c {
        (first + 3, d)
    } else {
        (first + 2, c)
    };
    if right.1 < left.1 { right } else { left }
}

/// Return place and value of the smallest entry from `first` on, where fewer than four are left.
#[inline]
fn smallest_of_few(heap: &[Entry], first: usize) -> Option<(usize, Entry)> {
    let rest = heap.get(first..)?;
    rest.iter()
        .enumerate()
        .map(|(offset, &entry)| (first + offset, entry))
        .min_by_key(|pair| pair.1)
}

/// Split an entry into its time, its number and its job.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "each cast keeps the bits that are meant"
)]
pub const fn unpack(entry: Entry) -> (SimTime, u64, u32) {
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
