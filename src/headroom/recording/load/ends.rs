//! Begin and end of requests.
//!
//! Once all requests that ended at a moment are known, the streams provide as many more as
//! there is room for.

use super::operation::{Operation, Source};
use super::place::Arrival;
use super::{Load, StopReason};
use crate::recording::tally::Times;

impl<S: Source> Load<S> {
    /// Note that the requests in `places` began at `begun_ns`.
    #[inline]
    pub fn begin(&mut self, places: &[u32], begun_ns: u64) {
        for &place in places {
            let place = &mut self.places[place as usize];
            place.begun_ns = begun_ns;
            let is_timed = place.operation.due_ns().is_some();
            self.tallies[place.class as usize].begin(place.arrived_ns, begun_ns, is_timed);
        }
    }

    /// Let arrive what there is room for since requests ended at `now_ns`.
    #[inline]
    pub fn replenish(&mut self, now_ns: u64) {
        if self.with_room.is_empty() {
            return;
        }
        if self.is_gated {
            self.runnable.extend(self.held_back.drain(..));
        }
        for number in 0..self.with_room.len() {
            let index = self.with_room[number];
            self.streams[index].has_room = false;
            self.refill(index, now_ns);
            self.list(index);
        }
        self.with_room.clear();
    }

    /// Give `place` back; return its stream and the moments of its request.
    #[inline]
    fn leave(&mut self, place: u32, done_ns: u64) -> (usize, Times) {
        let ended = &mut self.places[place as usize];
        ended.is_taken = false;
        let index = ended.stream as usize;
        let times = Times {
            arrived_ns: ended.arrived_ns,
            begun_ns: ended.begun_ns,
            done_ns,
        };
        if self.free.is_empty() {
            self.full_until_ns = done_ns;
        }
        self.free.push(place);
        let stream = &mut self.streams[index];
        if stream.outstanding == stream.depth {
            stream.full_until_ns = done_ns;
        }
        stream.outstanding -= 1;
        if !stream.has_room {
            stream.has_room = true;
            self.with_room.push(index);
        }
        (index, times)
    }

    /// Note that the operation in `place` succeeded; return its stream. After all that ended at the
    /// same moment, [`Load::replenish`] must be called.
    #[inline]
    pub fn succeed(&mut self, place: u32, done_ns: u64) -> usize {
        let (index, times) = self.leave(place, done_ns);
        let ended = &self.places[place as usize];
        let (class, bytes) = (ended.class, ended.operation.bytes());
        if let Some(allowance_ns) = self.streams[index].allowance_ns {
            let is_late = times.done_ns - times.arrived_ns > allowance_ns;
            let is_timed = ended.operation.due_ns().is_some();
            self.tallies[class as usize].defect_count += u64::from(is_late && is_timed);
        }
        self.tallies[class as usize].complete(times, bytes);
        self.failures.forget_row();
        index
    }

    /// Note that the operation in `place` failed with the error `errno`; like [`Load::succeed`].
    pub fn fail(&mut self, place: u32, errno: i32, done_ns: u64) {
        let (_, times) = self.leave(place, done_ns);
        let ended = &self.places[place as usize];
        self.tallies[ended.class as usize].fail(times);
        let is_gone = self
            .failures
            .add(ended.class, errno, ended.operation, done_ns);
        if is_gone {
            self.stop(StopReason::TargetFailed, done_ns);
            self.give_up_waiting(done_ns);
        }
    }

    /// Let `operation` arrive in a stream at `now_ns`, ahead of all that wait there; no limit counts
    /// it.
    pub fn insert(&mut self, index: usize, operation: S::Operation, now_ns: u64) {
        let arrival = self.note_arrival(index, operation, now_ns);
        self.streams[index].waiting.push_front(arrival);
    }

    /// Let `operation` arrive in a stream at `now_ns`, behind all that wait there; no limit counts
    /// it. The stream need not have had any of its own.
    pub fn append(&mut self, index: usize, operation: S::Operation, now_ns: u64) {
        let arrival = self.note_arrival(index, operation, now_ns);
        self.streams[index].waiting.push_back(arrival);
        self.list(index);
    }

    fn note_arrival(
        &mut self,
        index: usize,
        operation: S::Operation,
        now_ns: u64,
    ) -> Arrival<S::Operation> {
        let class = self.classes.of(index, operation.kind());
        self.tallies[class as usize].arrive(now_ns);
        self.waiting_count += 1;
        Arrival {
            at_ns: now_ns,
            operation,
        }
    }
}
