//! Virtual time: it jumps from event to event.
//!
//! Invariant: time never goes back, and operations that end together are reported in the order in
//! which they began.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::recording::load::carrier::Completion;

/// The time of a run, and its operations in flight.
#[derive(Debug, Default)]
pub struct VirtualTime {
    now_ns: u64,
    /// When (ns) the operation of a place is done, and its answer.
    pending: BinaryHeap<Reverse<(u64, u64, u32, i32)>>,
    begun_count: u64,
}

impl VirtualTime {
    /// Return the time (ns) since the start.
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Begin an operation in `place` that is done at `done_ns` with `result`.
    pub fn begin(&mut self, place: u32, done_ns: u64, result: i32) {
        self.begun_count += 1;
        self.pending
            .push(Reverse((done_ns, self.begun_count, place, result)));
    }

    /// Return the number of operations in flight.
    pub fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// Advance to the next end, or to `until_ns` if that comes first; append finished operations to
    /// `done`.
    pub fn turn(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) {
        let next_ns = self.pending.peek().map_or(u64::MAX, |next| next.0.0);
        let until_ns = until_ns.unwrap_or(u64::MAX);
        self.now_ns = self.now_ns.max(next_ns.min(until_ns));
        while let Some(&Reverse((done_ns, _, place, result))) = self.pending.peek() {
            if done_ns > self.now_ns {
                break;
            }
            self.pending.pop();
            done.push(Completion {
                place,
                result,
                done_ns,
            });
        }
    }
}
