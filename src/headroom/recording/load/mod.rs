//! The load: which request begins next, and its life cycle.
//!
//! Requests with a due time arrive at that time, whatever the target does, and wait in the queue of
//! their stream for a place. Requests without a due time arrive when a place of their stream is
//! free, or after a think time. Among all streams with a free place, the request that has waited longest begins first.
//!
//! Invariant: every request that arrived waits, is outstanding, has completed or has failed; a
//! request never begins before it is due, nor a stream has more outstanding than its depth.

mod arrivals;
pub mod carrier;
pub mod drive;
pub mod due;
mod ends;
pub mod failures;
pub mod json;
pub mod operation;
pub mod outcome;
pub mod patience;
mod place;
pub mod record;
mod stop;
#[cfg(test)]
mod tests;
pub mod workers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub use self::stop::StopReason;

use self::failures::Failures;
use self::operation::{Classes, Operation, Source};
use self::place::{Arrival, Place, StreamState};
use crate::recording::clock::ns_of;
use crate::recording::tally::Tally;

/// When operations stop arriving: at the first of these, without any at the end of the source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Time (s).
    pub seconds: Option<f64>,
    /// Operations that arrive.
    pub operations: Option<u64>,
    /// Bytes (B) of operations that arrive.
    pub bytes: Option<u64>,
    /// Failures in a row after which the target counts as gone.
    pub failures_in_a_row: u32,
}

/// Streams, places and counts of a run.
pub struct Load<S: Source> {
    source: S,
    streams: Vec<StreamState<S::Operation>>,
    places: Vec<Place<S::Operation>>,
    free: Vec<u32>,
    /// Until when (ns) no place was free.
    full_until_ns: u64,
    /// Places whose request begins next: it found a place as it arrived.
    ready: Vec<u32>,
    /// Streams with a request that has ended since they last provided more.
    with_room: Vec<usize>,
    /// The last requests of a stream.
    asked: Vec<S::Operation>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    runnable: BinaryHeap<Reverse<(u64, usize)>>,
    /// Streams whose next operation is held back.
    held_back: Vec<Reverse<(u64, usize)>>,
    is_gated: bool,
    classes: Classes,
    tallies: Vec<Tally>,
    failures: Failures<S::Operation>,
    stop_ns: u64,
    requests_left: u64,
    bytes_left: u64,
    has_byte_limit: bool,
    waiting_count: usize,
    stopped: Option<(StopReason, u64)>,
    /// Since when (ns) those that wait are not begun any more.
    given_up_ns: Option<u64>,
}

impl<S: Source> Load<S> {
    /// Return the load of `source` with `place_count` places, before it starts.
    ///
    /// # Panics
    ///
    /// If a stream is a user who thinks and its depth is not 1.
    pub fn new(source: S, classes: Classes, limits: Limits, place_count: u32) -> Self {
        let state = |(index, stream): (usize, &operation::Stream)| {
            let thinks = source.thinks(index);
            assert!(
                !thinks || stream.depth == 1,
                "a user thinks of one operation at a time"
            );
            StreamState::new(
                stream.depth.min(place_count),
                source.allowance_ns(index),
                thinks,
            )
        };
        let streams = source.streams().iter().enumerate().map(state).collect();
        Self {
            source,
            streams,
            places: vec![Place::FREE; place_count as usize],
            free: (0..place_count).rev().collect(),
            full_until_ns: 0,
            ready: Vec::with_capacity(place_count as usize),
            with_room: Vec::new(),
            asked: Vec::with_capacity(place_count as usize),
            due: BinaryHeap::new(),
            runnable: BinaryHeap::new(),
            held_back: Vec::new(),
            is_gated: false,
            tallies: vec![Tally::default(); classes.names().len()],
            classes,
            failures: Failures::new(limits.failures_in_a_row),
            stop_ns: limits.seconds.map_or(u64::MAX, ns_of),
            requests_left: limits.operations.unwrap_or(u64::MAX),
            bytes_left: limits.bytes.unwrap_or(u64::MAX),
            has_byte_limit: limits.bytes.is_some(),
            waiting_count: 0,
            stopped: None,
            given_up_ns: None,
        }
    }

    /// Let the first requests of all streams arrive at time zero; the content `is_gated` or not.
    pub fn start(&mut self, is_gated: bool) {
        self.is_gated = is_gated;
        if self.requests_left == 0 || self.bytes_left == 0 {
            self.stop(StopReason::Requests, 0);
        }
        for stream in 0..self.streams.len() {
            self.refill(stream, 0);
        }
        self.advance(0);
    }

    /// Let all requests arrive that are due up to `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(&Reverse((due_ns, stream))) = self.due.peek() {
            if due_ns > now_ns || self.stopped.is_some() {
                break;
            }
            if due_ns >= self.stop_ns {
                break;
            }
            self.due.pop();
            if let Some(operation) = self.streams[stream].head.take() {
                self.arrive(stream, &[operation], due_ns);
            }
            self.refill(stream, due_ns);
        }
        if now_ns >= self.stop_ns && self.stopped.is_none() {
            self.stop(StopReason::Seconds, self.stop_ns);
        }
    }

    /// Return the next due time (ns), or the end of the load if it comes first.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        if self.stopped.is_some() {
            return None;
        }
        let due_ns = self.due.peek().map_or(u64::MAX, |next| next.0.0);
        let next_ns = due_ns.min(self.stop_ns);
        (next_ns < u64::MAX).then_some(next_ns)
    }

    /// Put the places whose request begins next into `places`, which is empty: requests that found
    /// a place as they arrived. After them, [`Load::take_waiting`] must be called.
    #[inline]
    pub fn take_ready(&mut self, places: &mut Vec<u32>) {
        std::mem::swap(&mut self.ready, places);
    }

    /// Take the request that begins next into a place; None if none can begin now.
    #[inline]
    pub fn take(&mut self, admits: &mut dyn FnMut(&S::Operation) -> bool) -> Option<u32> {
        if self.ready.is_empty() {
            return self.take_waiting(admits);
        }
        // Hardly ever more than one: a consumer that takes them singly takes each as it comes.
        Some(self.ready.remove(0))
    }

    /// Take the longest waiting request into a place; None if no waiting one may begin.
    #[inline]
    pub fn take_waiting(&mut self, admits: &mut dyn FnMut(&S::Operation) -> bool) -> Option<u32> {
        if self.runnable.is_empty() || self.free.is_empty() {
            return None;
        }
        let index = self.next_stream(admits)?;
        let stream = &mut self.streams[index];
        let arrival = stream.waiting.pop_front()?;
        stream.is_listed = false;
        self.waiting_count -= 1;
        let class = self.classes.of(index, arrival.operation.kind());
        let place = self.occupy(index, class, arrival.operation, arrival.at_ns);
        self.list(index);
        Some(place)
    }

    /// Return the stream whose request begins next.
    #[inline]
    fn next_stream(&mut self, admits: &mut dyn FnMut(&S::Operation) -> bool) -> Option<usize> {
        loop {
            let next = self.runnable.pop()?;
            let index = next.0.1;
            if !self.is_gated {
                return Some(index);
            }
            let first = self.streams[index].waiting.front()?;
            if admits(&first.operation) {
                return Some(index);
            }
            self.held_back.push(next);
        }
    }

    /// Return whether the content must learn of every request.
    #[inline]
    pub const fn is_gated(&self) -> bool {
        self.is_gated
    }

    /// Return the operation in `place`.
    #[inline]
    pub fn operation(&self, place: u32) -> &S::Operation {
        &self.places[place as usize].operation
    }

    /// Return how much of the operation in `place` is done, as its carrier counts.
    #[inline]
    pub fn done(&self, place: u32) -> u32 {
        self.places[place as usize].done
    }

    /// Note that `more` of the operation in `place` is done; return how much that makes.
    #[inline]
    pub fn progress(&mut self, place: u32, more: u32) -> u32 {
        let done = &mut self.places[place as usize].done;
        *done += more;
        *done
    }

    /// Stop arrivals at `now_ns` because of `reason`, unless they have stopped.
    pub fn stop(&mut self, reason: StopReason, now_ns: u64) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some((reason, now_ns));
        self.due.clear();
        for stream in &mut self.streams {
            stream.head = None;
            stream.has_ended = true;
        }
    }

    /// Forget the requests that wait, from `now_ns` on; they count as never begun.
    pub fn give_up_waiting(&mut self, now_ns: u64) {
        self.given_up_ns.get_or_insert(now_ns);
        self.runnable.clear();
        self.held_back.clear();
        while let Some(index) = self.ready.pop() {
            let place = &mut self.places[index as usize];
            place.is_taken = false;
            let stream = &mut self.streams[place.stream as usize];
            stream.outstanding -= 1;
            stream.waiting.push_front(Arrival {
                at_ns: place.arrived_ns,
                operation: place.operation,
            });
            self.waiting_count += 1;
            self.free.push(index);
        }
    }

    /// Return whether nothing can arrive, begin or end any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.stopped.is_some() && self.outstanding_count() == 0 && self.runnable.is_empty()
    }

    /// Return the number of requests that have begun and not ended.
    #[inline]
    pub fn outstanding_count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Return whether a request can begin now.
    #[inline]
    pub fn is_runnable(&self) -> bool {
        !self.ready.is_empty() || (!self.runnable.is_empty() && !self.free.is_empty())
    }

    /// Return the number of requests that arrived and have not begun.
    pub const fn waiting_count(&self) -> usize {
        self.waiting_count
    }

    /// Return why arrivals stopped, and when (ns).
    #[inline]
    pub const fn stopped(&self) -> Option<(StopReason, u64)> {
        self.stopped
    }

    /// Return since when (ns) requests that wait are not begun any more.
    pub const fn given_up_ns(&self) -> Option<u64> {
        self.given_up_ns
    }

    /// Return the source.
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// Return the classes.
    pub const fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Count all notes, before any reader looks at the counts.
    pub fn settle(&mut self) {
        self.tallies.iter_mut().for_each(Tally::settle);
    }

    /// Return the counts, class by class; [`Load::settle`] has to come before.
    pub fn tallies(&self) -> &[Tally] {
        debug_assert!(self.tallies.iter().all(Tally::is_settled));
        &self.tallies
    }

    /// Return the number of requests that have ended, well or badly.
    pub fn ended_count(&self) -> u64 {
        self.tallies().iter().map(|tally| tally.ended.count).sum()
    }

    /// Return the request that has been outstanding for longest, and when (ns) it began.
    pub fn oldest_outstanding(&self) -> Option<(&S::Operation, u64)> {
        let begun = |place: &&Place<_>| place.is_taken && place.begun_ns < u64::MAX;
        let oldest = self
            .places
            .iter()
            .filter(begun)
            .min_by_key(|one| one.begun_ns)?;
        Some((&oldest.operation, oldest.begun_ns))
    }

    /// Return the failures.
    pub const fn failures(&self) -> &Failures<S::Operation> {
        &self.failures
    }

    /// Return the number of places.
    pub fn place_count(&self) -> usize {
        self.places.len()
    }

    /// Call `waiting` with class and arrival of each request that waits, `begun` with class,
    /// arrival and begin of each that is outstanding.
    pub fn visit_present(
        &self,
        mut waiting: impl FnMut(u32, u64),
        mut begun: impl FnMut(u32, u64, u64),
    ) {
        for (index, stream) in self.streams.iter().enumerate() {
            for arrival in &stream.waiting {
                waiting(
                    self.classes.of(index, arrival.operation.kind()),
                    arrival.at_ns,
                );
            }
        }
        for place in self.places.iter().filter(|place| place.is_taken) {
            if place.begun_ns == u64::MAX {
                waiting(place.class, place.arrived_ns);
            } else {
                begun(place.class, place.arrived_ns, place.begun_ns);
            }
        }
    }
}
