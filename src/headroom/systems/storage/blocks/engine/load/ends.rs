//! Begin and end of requests.
//!
//! Once all requests that ended at a moment are known, the streams provide as many more as
//! there is room for.

use super::place::{Arrival, Next};
use super::{Load, StopReason};
use crate::recording::tally::Times;
use crate::systems::storage::workloads::request::{Kind, Request};

impl Load {
    /// Note that the requests in `places` began at `begun_ns`.
    #[inline]
    pub fn begin(&mut self, places: &[u32], begun_ns: u64) {
        for &place in places {
            let place = &mut self.places[place as usize];
            place.begun_ns = begun_ns;
            let is_timed = place.request.due_ns.is_some();
            self.tallies[place.class as usize].begin(place.arrived_ns, begun_ns, is_timed);
        }
    }

    /// Note the end of the operation in `place`, with `result` as of a system call. After all
    /// that ended at the same moment, [`Load::replenish`] has to follow.
    #[inline]
    pub fn complete(&mut self, place: u32, result: i32, done_ns: u64) -> Next {
        let index = place;
        let place = &mut self.places[index as usize];
        let is_whole = match place.request.kind {
            Kind::Read | Kind::Write => {
                result > 0 && {
                    place.done += result.unsigned_abs();
                    place.done >= place.request.length
                }
            }
            Kind::Trim => {
                result >= 0 && {
                    place.done += self.layout.operation(&place.request, place.done).length;
                    place.done >= place.request.length
                }
            }
            Kind::Sync | Kind::DataSync => {
                result >= 0 && {
                    place.done += 1;
                    place.done as usize >= self.layout.file_count()
                }
            }
        };
        if is_whole {
            self.succeed(index, done_ns);
            return Next::Done;
        }
        let moves_data = matches!(place.request.kind, Kind::Read | Kind::Write);
        if result < 0 || (result == 0 && moves_data) {
            self.fail(index, -result, done_ns);
            return Next::Failed(-result);
        }
        self.continued_count += 1;
        Next::Rest
    }

    /// Let arrive what there is room for since requests ended at `now_ns`.
    #[inline]
    pub fn replenish(&mut self, now_ns: u64) {
        if self.with_room.is_empty() {
            return;
        }
        if self.is_careful {
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

    #[inline]
    fn succeed(&mut self, place: u32, done_ns: u64) {
        let (index, times) = self.leave(place, done_ns);
        let ended = &self.places[place as usize];
        let (class, kind, length) = (ended.class, ended.request.kind, ended.request.length);
        if let Some(allowance_ns) = self.streams[index].allowance_ns {
            let is_late = times.done_ns - times.arrived_ns > allowance_ns;
            let is_timed = ended.request.due_ns.is_some();
            self.tallies[class as usize].defect_count += u64::from(is_late && is_timed);
        }
        self.tallies[class as usize].complete(times, length);
        self.failures.forget_row();
        if kind == Kind::Write && self.sync.is_some() {
            self.sync_after_write(index, done_ns);
        }
    }

    fn fail(&mut self, place: u32, errno: i32, done_ns: u64) {
        let (_, times) = self.leave(place, done_ns);
        let ended = &self.places[place as usize];
        self.tallies[ended.class as usize].fail(times);
        let is_gone = self
            .failures
            .add(ended.class, errno, &ended.request, done_ns);
        if is_gone {
            self.stop(StopReason::TargetFailed, done_ns);
            self.give_up_waiting(done_ns);
        }
    }

    fn sync_after_write(&mut self, index: usize, now_ns: u64) {
        let Some((every, kind)) = self.sync else {
            return;
        };
        let stream = &mut self.streams[index];
        stream.unsynced_count += 1;
        if stream.unsynced_count < every {
            return;
        }
        stream.unsynced_count = 0;
        let request = Request {
            kind,
            offset: 0,
            length: 0,
            due_ns: None,
        };
        let class = self.classes.of(index, kind);
        self.tallies[class as usize].arrive(now_ns);
        let stream = &mut self.streams[index];
        stream.waiting.push_front(Arrival {
            at_ns: now_ns,
            request,
        });
        self.waiting_count += 1;
    }
}
