//! The pending events, smallest time first; equal times leave in the order in which they entered.
//!
//! A winner tree: each event has a leaf, each inner node the earlier one of its two children, and
//! the root the next event. A change of a leaf climbs to the root on a path that does not depend
//! on the times, so that the processor predicts no branch wrongly (a heap asks at each level
//! whether to continue). The event taken keeps its leaf until the next one is scheduled there or
//! taken: in a queueing network nearly every event schedules another one, and this "hold" is a
//! single climb. A cancelled event really goes, because its leaf is known.
//!
//! Invariants: an event is never scheduled before the time of the last one taken; a leaf without
//! event is later than every event, except that of the event taken last.
//!
//! Source: Knuth (1998), *The Art of Computer Programming* 3, section 5.4.1 (trees of winners).

#![allow(
    clippy::inline_always,
    reason = "the plain path is one function in the end: a call costs more than what it calls"
)]

use std::hint::select_unpredictable;

use crate::simulation::kernel::places::cache;
use crate::simulation::kernel::time::SimTime;

/// Bits of an entry that hold the leaf; the sequence number has the other 40 of the low half.
const LEAF_BITS: u32 = 24;

/// Largest number of jobs that may have an event pending.
pub const JOB_LIMIT: u32 = 1 << LEAF_BITS;
/// Largest number of events in a run.
pub const EVENT_LIMIT: u64 = 1 << (64 - LEAF_BITS);
/// No leaf.
pub const NO_LEAF: u32 = u32::MAX;

/// Leaves of an empty queue: enough for a source and a server, whose climbs have a single level.
const FIRST_LEAVES: usize = 2;

/// Both halves of no event: later than every event.
const NOTHING: u64 = u64::MAX;

/// Levels of a large tree that the processor's first cache does not hold.
const FETCHED_LEVELS: u32 = 2;
/// How many events come before the one that is fetched.
const EVENTS_AHEAD: u32 = 64;
/// Events that were fetched last.
const FETCHED: usize = 8;
/// How many events lie between the fetch of one and the uses of what was fetched.
const STAGES: [usize; 4] = [2, 4, 6, 7];

/// Who continues with an event, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The job.
    pub job: u32,
    /// Its position.
    pub at: u32,
}

/// The pending set: at each time, which job continues.
///
/// Node 1 is the root, the children of node n are 2n and 2n + 1, and the leaves are the upper half.
#[derive(Debug)]
pub struct EventQueue {
    tree: Tree,
    /// Climbs in a tree of this size.
    climb: Climb,
    resumes: Vec<Resume>,
    vacant: Vec<u32>,
    /// Leaf of the event taken last, if nothing has replaced it, or [`NO_LEAF`].
    taken: u32,
    /// Leaf of the event taken before, in a large model.
    before: u32,
    /// Leaves that were fetched, and which of them was last.
    fetched: [u32; FETCHED],
    turn: usize,
    scheduled_count: u64,
}

/// All entries; two siblings lie side by side.
#[derive(Debug)]
struct Tree {
    nodes: Vec<Entry>,
}

/// Time, and sequence number with leaf.
type Entry = (u64, u64);

/// Puts an entry into a leaf and lets the winners climb to the root.
type Climb = fn(&mut Tree, leaf: u32, time: u64, low: u64);

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            tree: Tree::new(FIRST_LEAVES),
            climb: climb_in(FIRST_LEAVES),
            resumes: Vec::new(),
            vacant: Vec::new(),
            taken: NO_LEAF,
            before: 0,
            fetched: [0; FETCHED],
            turn: 0,
            scheduled_count: 0,
        }
    }
}

impl EventQueue {
    /// Return the number of events scheduled so far, at most [`EVENT_LIMIT`].
    pub const fn scheduled_count(&self) -> u64 {
        self.scheduled_count
    }

    /// Schedule `who` to continue at `time`; return the leaf of the event, for [`Self::cancel`].
    #[inline]
    pub fn schedule(&mut self, time: SimTime, who: Resume) -> u32 {
        let leaf = if self.taken == NO_LEAF {
            self.vacant_leaf()
        } else {
            std::mem::replace(&mut self.taken, NO_LEAF)
        };
        self.resumes[leaf as usize] = who;
        self.put(leaf, time);
        leaf
    }

    /// Schedule the one who was taken last once more, at the same leaf and to continue where it did.
    ///
    /// # Panics
    ///
    /// Panics if something was scheduled since then: a bug.
    #[inline(always)]
    pub fn repeat(&mut self, time: SimTime) {
        let leaf = std::mem::replace(&mut self.taken, NO_LEAF);
        assert!(leaf != NO_LEAF, "no leaf is left of the event taken last");
        self.put(leaf, time);
    }

    /// Let the one who is at `leaf` continue at `time`.
    #[inline(always)]
    fn put(&mut self, leaf: u32, time: SimTime) {
        debug_assert!(self.scheduled_count < EVENT_LIMIT, "key out of range");
        let low = (self.scheduled_count << LEAF_BITS) | u64::from(leaf);
        self.scheduled_count += 1;
        (self.climb)(&mut self.tree, leaf, time.ticks(), low);
    }

    /// Take the earliest event: its time, and who continues.
    #[inline]
    pub fn take(&mut self) -> Option<(SimTime, Resume)> {
        if self.taken != NO_LEAF {
            let taken = std::mem::replace(&mut self.taken, NO_LEAF);
            self.cancel(taken);
        }
        let (time, low) = self.tree.nodes[1];
        if low == NOTHING {
            return None;
        }
        let leaf = leaf_of(low);
        self.taken = leaf;
        Some((SimTime::from_ticks(time), self.resumes[leaf as usize]))
    }

    /// Drop the event at `leaf`, which is pending.
    #[inline(never)]
    pub fn cancel(&mut self, leaf: u32) {
        self.vacant.push(leaf);
        (self.climb)(&mut self.tree, leaf, NOTHING, NOTHING);
    }

    /// Let the cache fetch an event before which about `EVENTS_AHEAD` come, and the beginning of
    /// its way to the root; return who continues with four fetched before, the last one first.
    ///
    /// At the leaf of the event before, which was the first of all, comes a later one now. So the
    /// first event in its part of the leaves, one of `EVENTS_AHEAD`, has just become so, and was
    /// not fetched yet.
    #[inline(always)]
    pub fn look_ahead(&mut self) -> [Resume; 4] {
        let leaf_count = self.tree.leaf_count();
        let depth = leaf_count.ilog2();
        let part = depth.saturating_sub(EVENTS_AHEAD.ilog2());
        let before = std::mem::replace(&mut self.before, self.taken);
        let low = self.tree.nodes[(leaf_count + before as usize) >> part].1;
        let leaf = if low == NOTHING { 0 } else { leaf_of(low) };
        cache::fetch(&self.resumes[leaf as usize]);
        for level in 0..FETCHED_LEVELS {
            cache::fetch(&self.tree.nodes[(leaf_count + leaf as usize) >> level]);
        }
        self.turn = (self.turn + 1) % FETCHED;
        self.fetched[self.turn] = leaf;
        STAGES.map(|before| {
            let leaf = self.fetched[(self.turn + FETCHED - before) % FETCHED];
            self.resumes[leaf as usize]
        })
    }

    /// Return a leaf without event.
    #[inline]
    fn vacant_leaf(&mut self) -> u32 {
        match self.vacant.pop() {
            Some(leaf) => leaf,
            None => self.new_leaf(),
        }
    }

    #[cold]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "there are no more leaves than jobs"
    )]
    fn new_leaf(&mut self) -> u32 {
        let leaf = self.resumes.len();
        debug_assert!(leaf < JOB_LIMIT as usize, "an event for each job at most");
        self.resumes.push(Resume { job: 0, at: 0 });
        if leaf == self.tree.leaf_count() {
            self.tree.grow();
            self.climb = climb_in(self.tree.leaf_count());
        }
        leaf as u32
    }
}

impl Tree {
    /// Return a tree without events; the number of leaves is a power of two.
    fn new(leaf_count: usize) -> Self {
        Self {
            nodes: vec![(NOTHING, NOTHING); 2 * leaf_count],
        }
    }

    const fn leaf_count(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Double the leaves.
    fn grow(&mut self) {
        let count = self.leaf_count();
        let mut wider = cache::roomy(4 * count);
        wider.resize(4 * count, (NOTHING, NOTHING));
        wider[2 * count..3 * count].copy_from_slice(&self.nodes[count..]);
        for node in (1..2 * count).rev() {
            wider[node] = earlier(wider[2 * node], wider[2 * node + 1]);
        }
        self.nodes = wider;
    }
}

/// Return the function that climbs in a tree of `leaf_count` leaves.
fn climb_in(leaf_count: usize) -> Climb {
    match leaf_count.ilog2() {
        0..=1 => climb::<2, 4>,
        2 => climb::<4, 8>,
        3 => climb::<8, 16>,
        4 => climb::<16, 32>,
        5 => climb::<32, 64>,
        6 => climb::<64, 128>,
        7 => climb::<128, 256>,
        8 => climb::<256, 512>,
        9 => climb::<512, 1024>,
        10 => climb::<1024, 2048>,
        11 => climb::<2048, 4096>,
        12 => climb::<4096, 8192>,
        13 => climb::<8192, 16384>,
        14 => climb::<16384, 32768>,
        15 => climb::<32768, 65536>,
        16 => climb::<65536, 131_072>,
        17 => climb::<131_072, 262_144>,
        18 => climb::<262_144, 524_288>,
        19 => climb::<524_288, 1_048_576>,
        20 => climb::<1_048_576, 2_097_152>,
        _ => climb_far,
    }
}

/// Climb in a tree of `LEAVES` leaves, and `NODES` nodes, twice as many.
///
/// A function of its own, with loops of a few levels that the compiler unrolls: otherwise it turns
/// the selections back into branches, of which a third are predicted wrongly.
#[inline(never)]
fn climb<const LEAVES: usize, const NODES: usize>(
    tree: &mut Tree,
    leaf: u32,
    mut time: u64,
    mut low: u64,
) {
    let Some(nodes) = tree.nodes.first_chunk_mut::<NODES>() else {
        unreachable!("a tree of {LEAVES} leaves has {NODES} nodes");
    };
    let mut node = LEAVES | (leaf as usize & (LEAVES - 1));
    let mut step = || {
        nodes[node] = (time, low);
        (time, low) = earlier((time, low), nodes[node ^ 1]);
        node >>= 1;
    };
    let levels = const { LEAVES.ilog2() };
    for _ in 0..levels / 2 {
        step();
    }
    for _ in 0..levels - levels / 2 {
        step();
    }
    nodes[1] = (time, low);
}

/// Climb in a tree of any size.
fn climb_far(tree: &mut Tree, leaf: u32, mut time: u64, mut low: u64) {
    let mut node = tree.leaf_count() + leaf as usize;
    let nodes = &mut tree.nodes[..];
    while node > 1 {
        nodes[node] = (time, low);
        (time, low) = earlier((time, low), nodes[node ^ 1]);
        node >>= 1;
    }
    nodes[1] = (time, low);
}

/// Return the earlier of two entries without a branch.
#[inline(always)]
fn earlier(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    let key = |(time, low): (u64, u64)| (u128::from(time) << 64) | u128::from(low);
    let is_other = key(other) < key(one);
    (
        select_unpredictable(is_other, other.0, one.0),
        select_unpredictable(is_other, other.1, one.1),
    )
}

/// Return the leaf in the low half of an entry.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the cast keeps the bits that are meant"
)]
const fn leaf_of(low: u64) -> u32 {
    (low as u32) & (JOB_LIMIT - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::simulation::kernel::random::stream;

    /// What a test does with a queue.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Schedule(u64),
        Take,
        Cancel(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            5 => (0_u64..20).prop_map(Step::Schedule),
            4 => Just(Step::Take),
            1 => any::<usize>().prop_map(Step::Cancel),
        ]
    }

    const fn who(job: u32) -> Resume {
        Resume { job, at: job / 2 }
    }

    proptest! {
        /// Against a reference: a `BTreeMap` ordered by time, then by order of entry.
        #[test]
        fn events_leave_in_the_order_of_the_reference(
            steps in prop::collection::vec(step(), 0..2000)
        ) {
            let mut queue = EventQueue::default();
            let mut reference = BTreeMap::new();
            let mut now = SimTime::ZERO;
            let mut sequence = 0_u32;
            for step in steps {
                match step {
                    Step::Schedule(delay) => {
                        let time = now.after(delay).expect("far below the range");
                        let leaf = queue.schedule(time, who(sequence));
                        reference.insert((time, sequence), leaf);
                        sequence += 1;
                    }
                    Step::Take => {
                        let expected = reference.pop_first().map(|((time, job), _)| (time, who(job)));
                        let taken = queue.take();
                        prop_assert_eq!(taken, expected);
                        now = taken.map_or(now, |(time, _)| time);
                    }
                    Step::Cancel(which) => {
                        let keys: Vec<_> = reference.keys().copied().collect();
                        if !keys.is_empty() {
                            let leaf = reference.remove(&keys[which % keys.len()]);
                            queue.cancel(leaf.expect("it is pending"));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_extremes_of_time_and_job_survive() {
        let mut queue = EventQueue::default();
        queue.schedule(SimTime::MAX, who(JOB_LIMIT - 1));
        assert_eq!(queue.take(), Some((SimTime::MAX, who(JOB_LIMIT - 1))));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn most_events_of_a_large_model_are_fetched_before_they_are_taken() {
        const JOBS: u32 = 1000;
        let mut stream = stream::open(1, 2);
        let mut delay = || stream.random_range(1..1_000_000);
        let mut queue = EventQueue::default();
        let mut is_fetched = [false; JOBS as usize];
        let (mut fetched, mut taken) = (0, 0);
        for job in 0..JOBS {
            queue.schedule(SimTime::from_ticks(delay()), who(job));
        }
        for event in 0..20_000 {
            let (now, next) = queue.take().expect("each event is followed by another one");
            if event > JOBS {
                taken += 1;
                fetched += u32::from(is_fetched[next.job as usize]);
            }
            is_fetched[next.job as usize] = false;
            let [.., last] = queue.look_ahead();
            is_fetched[last.job as usize] = true;
            queue.schedule(now.after(delay()).expect("far below the range"), next);
        }
        // The others came within the few events that a fetch takes.
        assert!(fetched > taken * 8 / 10, "{fetched} of {taken}");
    }

    #[test]
    fn the_leaves_of_cancelled_events_are_used_again() {
        let mut queue = EventQueue::default();
        for job in 0..10_000 {
            let leaf = queue.schedule(SimTime::from_ticks(9), who(job));
            queue.cancel(leaf);
        }
        assert_eq!(queue.resumes.len(), 1);
        assert_eq!(queue.take(), None);
    }
}
