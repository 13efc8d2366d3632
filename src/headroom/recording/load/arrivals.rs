//! Arrivals of requests: each stream with room provides as many requests as fit.

use std::cmp::Reverse;

use super::operation::{Operation, Source};
use super::place::{Arrival, Place};
use super::{Load, StopReason};

/// Requests that may wait; with more the target cannot follow the load by far.
const WAITING_LIMIT: usize = 1 << 20;

impl<S: Source> Load<S> {
    /// Ask `stream` for requests until it has none that could arrive by `now_ns`.
    #[inline]
    pub(super) fn refill(&mut self, index: usize, now_ns: u64) {
        loop {
            let room = self.room(index);
            if room == 0 {
                return;
            }
            if now_ns >= self.stop_ns {
                self.stop(StopReason::Seconds, self.stop_ns);
                return;
            }
            let mut asked = std::mem::take(&mut self.asked);
            asked.clear();
            self.source.fill(index, room, &mut asked);
            self.receive(index, &asked, room, now_ns);
            self.asked = asked;
        }
    }

    /// Return how many requests a stream may provide at once, none of them useless.
    #[inline]
    fn room(&self, index: usize) -> usize {
        let stream = &self.streams[index];
        if stream.has_ended || stream.head.is_some() {
            return 0;
        }
        if stream.is_timed {
            return 1;
        }
        let present = stream.outstanding as usize + stream.waiting.len();
        let room = (stream.depth as usize).saturating_sub(present);
        if self.has_byte_limit {
            // How long a request is, is not known before.
            return room.min(1);
        }
        room.min(usize::try_from(self.requests_left).unwrap_or(usize::MAX))
    }

    /// Take the requests that a stream gave for `room` places.
    #[inline]
    fn receive(&mut self, index: usize, asked: &[S::Operation], room: usize, now_ns: u64) {
        let last_due_ns = asked.last().and_then(Operation::due_ns);
        let stream = &mut self.streams[index];
        stream.is_timed = last_due_ns.is_some();
        let thinks = stream.thinks && !asked.is_empty();
        let think_ns = thinks.then(|| now_ns.saturating_add(self.source.think_ns(index)));
        let Some(due_ns) = last_due_ns.or(think_ns) else {
            let has_ended = asked.len() < room;
            self.arrive(index, asked, now_ns);
            if has_ended {
                self.streams[index].has_ended = true;
                if self.streams.iter().all(|stream| stream.has_ended) {
                    self.stop(StopReason::SourceEnded, now_ns);
                }
            }
            return;
        };
        let (&head, at_once) = asked.split_last().expect("there is a last one");
        self.arrive(index, at_once, now_ns);
        if self.stopped.is_none() {
            self.streams[index].head = Some(head);
            self.due.push(Reverse((due_ns, index)));
        }
    }

    /// Let `requests` of a stream arrive at `at_ns`: into places as long as no request waits for
    /// them.
    #[inline]
    pub(super) fn arrive(&mut self, index: usize, operations: &[S::Operation], at_ns: u64) {
        if operations.is_empty() {
            return;
        }
        let direct = self.direct_count(index).min(operations.len());
        let (direct, waiting) = operations.split_at(direct);
        for &operation in direct {
            let class = self.classes.of(index, operation.kind());
            self.tallies[class as usize].arrive(at_ns);
            let place = self.occupy(index, class, operation, at_ns);
            self.ready.push(place);
            self.count_bytes(operation.bytes());
        }
        for &operation in waiting {
            self.wait(index, operation, at_ns);
        }
        self.requests_left -= operations.len() as u64;
        if self.requests_left == 0 {
            self.stop(StopReason::Requests, at_ns);
        } else if self.bytes_left == 0 {
            self.stop(StopReason::Bytes, at_ns);
        } else if self.waiting_count > WAITING_LIMIT {
            self.stop(StopReason::Overload, at_ns);
        }
    }

    /// Return how many requests of a stream may begin without waiting for anything.
    #[inline]
    fn direct_count(&self, index: usize) -> usize {
        let stream = &self.streams[index];
        let is_first = stream.waiting.is_empty() && self.runnable.is_empty();
        if !is_first || self.is_gated || self.given_up_ns.is_some() {
            return 0;
        }
        self.free
            .len()
            .min((stream.depth - stream.outstanding) as usize)
    }

    fn wait(&mut self, index: usize, operation: S::Operation, at_ns: u64) {
        let class = self.classes.of(index, operation.kind());
        self.tallies[class as usize].arrive(at_ns);
        self.streams[index]
            .waiting
            .push_back(Arrival { at_ns, operation });
        self.waiting_count += 1;
        self.list(index);
        self.count_bytes(operation.bytes());
    }

    #[inline]
    fn count_bytes(&mut self, length: u32) {
        if self.has_byte_limit {
            self.bytes_left = self.bytes_left.saturating_sub(u64::from(length));
        }
    }

    /// Give `request` of a stream a free place.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "no workload has 2^32 streams"
    )]
    pub(super) fn occupy(
        &mut self,
        stream: usize,
        class: u32,
        operation: S::Operation,
        arrived_ns: u64,
    ) -> u32 {
        let place = self.free.pop().expect("a place is free");
        let own = &mut self.streams[stream];
        own.outstanding += 1;
        let full_until_ns = self.full_until_ns.max(own.full_until_ns);
        if operation.due_ns().is_some() && full_until_ns > arrived_ns {
            self.tallies[class as usize].late_count += 1;
        }
        self.places[place as usize] = Place {
            operation,
            arrived_ns,
            begun_ns: u64::MAX,
            stream: stream as u32,
            class,
            done: 0,
            is_taken: true,
        };
        place
    }

    /// Note that a request of a stream may begin, if one may.
    #[inline]
    pub(super) fn list(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        if stream.is_listed || stream.outstanding >= stream.depth || self.given_up_ns.is_some() {
            return;
        }
        if let Some(first) = stream.waiting.front() {
            stream.is_listed = true;
            self.runnable.push(Reverse((first.at_ns, index)));
        }
    }
}
