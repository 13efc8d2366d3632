//! The load: which request begins next, and what becomes of it.
//!
//! Requests with a due time arrive at it, whatever the target does, and wait in the queue of
//! their stream for a place. Requests without one arrive when a place of their stream is free.
//! The longest waiting request of all streams that have a free place begins first.
//!
//! Invariant: every request that arrived waits, is outstanding, has completed or has failed; a
//! request never begins before it is due, nor a stream has more outstanding than its depth.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::backend::Operation;
use super::classes::Classes;
use super::content::Content;
use super::failures::Failures;
use super::job::{Job, SyncKind};
use super::tally::{Tally, Times};
use super::target::Layout;
use crate::systems::storage::request::{Kind, Request, Source};
use crate::systems::storage::requests::WorkloadError;

/// Requests that may wait; with more the target cannot follow the load by far.
const WAITING_LIMIT: usize = 1 << 20;

/// Why requests stopped arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time was over.
    Seconds,
    /// So many requests had arrived.
    Requests,
    /// So many bytes were asked for.
    Bytes,
    /// The workload was at its end.
    SourceEnded,
    /// Somebody asked for the end.
    Interrupted,
    /// The target failed again and again.
    TargetFailed,
    /// Far more requests arrived than the target could take.
    Overload,
}

impl StopReason {
    /// Return the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::SourceEnded => "source_ended",
            Self::Interrupted => "interrupted",
            Self::TargetFailed => "target_failed",
            Self::Overload => "overload",
        }
    }
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: u64,
    request: Request,
}

/// A stream of the workload.
#[derive(Debug, Default)]
struct StreamState {
    depth: u32,
    outstanding: u32,
    /// Next request, if it has a due time that has not come.
    head: Option<Request>,
    waiting: VecDeque<Arrival>,
    is_listed: bool,
    has_ended: bool,
    /// Whether its last request had a due time.
    is_timed: bool,
    unsynced_count: u64,
    /// How long (ns) after its due time a request may end.
    allowance_ns: Option<u64>,
}

/// A place, and the request that it carries.
#[derive(Clone, Copy, Debug)]
struct Place {
    request: Request,
    stream: usize,
    class: u32,
    done: u32,
    arrived_ns: u64,
    begun_ns: u64,
    is_taken: bool,
}

/// What becomes of a place after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The request has succeeded; the place is free.
    Done,
    /// The request has failed with an error number, 0 for the end of the file; the place is free.
    Failed(i32),
    /// The rest of the request is still to be done.
    Rest,
}

/// Streams, places and counts of a run.
pub struct Load {
    source: Box<dyn Source>,
    layout: Layout,
    streams: Vec<StreamState>,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Places whose request begins next: it found a place as it arrived.
    ready: VecDeque<u32>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    runnable: BinaryHeap<Reverse<(u64, usize)>>,
    /// Streams whose next request the content holds back.
    held_back: Vec<Reverse<(u64, usize)>>,
    is_careful: bool,
    classes: Classes,
    tallies: Vec<Tally>,
    failures: Failures,
    sync: Option<(u64, Kind)>,
    stop_ns: u64,
    requests_left: u64,
    bytes_left: u64,
    waiting_count: usize,
    stopped: Option<(StopReason, u64)>,
    /// Whether those that wait are not begun any more.
    gives_up: bool,
    continued_count: u64,
}

impl Load {
    /// Return the load of `job` with `place_count` places, before it starts.
    pub fn new(job: &Job, source: Box<dyn Source>, layout: Layout, place_count: u32) -> Self {
        let streams: Vec<StreamState> = source
            .streams()
            .iter()
            .enumerate()
            .map(|(index, stream)| StreamState {
                depth: stream.depth.min(place_count),
                allowance_ns: source.allowance_ns(index),
                ..StreamState::default()
            })
            .collect();
        let classes = Classes::new(job.classes, source.streams());
        let idle = Place {
            request: Request {
                kind: Kind::Read,
                offset: 0,
                length: 0,
                due_ns: None,
            },
            stream: 0,
            class: 0,
            done: 0,
            arrived_ns: 0,
            begun_ns: 0,
            is_taken: false,
        };
        Self {
            source,
            layout,
            streams,
            places: vec![idle; place_count as usize],
            free: (0..place_count).rev().collect(),
            ready: VecDeque::with_capacity(place_count as usize),
            due: BinaryHeap::new(),
            runnable: BinaryHeap::new(),
            held_back: Vec::new(),
            is_careful: false,
            tallies: vec![Tally::default(); classes.names().len()],
            classes,
            failures: Failures::new(job.failure_limit),
            sync: job
                .sync
                .map(|policy| (policy.every, sync_kind(policy.kind))),
            stop_ns: job.stop.seconds.map_or(u64::MAX, ns_of),
            requests_left: job.stop.requests.unwrap_or(u64::MAX),
            bytes_left: job.stop.bytes.unwrap_or(u64::MAX),
            waiting_count: 0,
            stopped: None,
            gives_up: false,
            continued_count: 0,
        }
    }

    /// Let the first requests of all streams arrive at time zero; the content `is_careful` or not.
    pub fn start(&mut self, is_careful: bool) {
        self.is_careful = is_careful;
        if self.requests_left == 0 || self.bytes_left == 0 {
            self.stop(StopReason::Requests, 0);
        }
        for stream in 0..self.streams.len() {
            self.refill(stream, 0);
        }
        self.advance(0);
    }

    /// Let arrive what is due up to `now_ns`.
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
            if let Some(request) = self.streams[stream].head.take() {
                self.arrive(stream, request, due_ns);
            }
            self.refill(stream, due_ns);
        }
        if now_ns >= self.stop_ns && self.stopped.is_none() {
            self.stop(StopReason::Seconds, self.stop_ns);
        }
    }

    /// Return the next due time (ns), or the end of the load where it comes first.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        if self.stopped.is_some() {
            return None;
        }
        let due_ns = self.due.peek().map_or(u64::MAX, |next| next.0.0);
        let next_ns = due_ns.min(self.stop_ns);
        (next_ns < u64::MAX).then_some(next_ns)
    }

    /// Take the request that begins next into a place; None where none can begin now.
    #[inline]
    pub fn take(&mut self, content: &mut dyn Content) -> Option<u32> {
        if let Some(place) = self.ready.pop_front() {
            return Some(place);
        }
        if self.runnable.is_empty() || self.free.is_empty() {
            return None;
        }
        self.take_waiting(content)
    }

    /// Take the longest waiting request into a place.
    fn take_waiting(&mut self, content: &mut dyn Content) -> Option<u32> {
        let index = self.next_stream(content)?;
        let stream = &mut self.streams[index];
        let arrival = stream.waiting.pop_front()?;
        stream.is_listed = false;
        self.waiting_count -= 1;
        let class = self.classes.of(index, arrival.request.kind);
        let place = self.occupy(index, class, arrival.request, arrival.at_ns);
        self.list(index);
        Some(place)
    }

    /// Give `request` of a stream a free place.
    #[inline]
    fn occupy(&mut self, stream: usize, class: u32, request: Request, arrived_ns: u64) -> u32 {
        let place = self.free.pop().expect("a place is free");
        self.streams[stream].outstanding += 1;
        self.places[place as usize] = Place {
            request,
            stream,
            class,
            done: 0,
            arrived_ns,
            begun_ns: u64::MAX,
            is_taken: true,
        };
        place
    }

    /// Return the stream whose request begins next.
    #[inline]
    fn next_stream(&mut self, content: &mut dyn Content) -> Option<usize> {
        loop {
            let next = self.runnable.pop()?;
            let index = next.0.1;
            if !self.is_careful {
                return Some(index);
            }
            let first = self.streams[index].waiting.front()?;
            if content.admits(&first.request) {
                return Some(index);
            }
            self.held_back.push(next);
        }
    }

    /// Return whether the content has to be told of every request.
    #[inline]
    pub const fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// Return what `place` has to do next.
    #[inline]
    pub fn operation(&self, place: u32) -> Operation {
        let place = &self.places[place as usize];
        self.layout.operation(&place.request, place.done)
    }

    /// Return the request in `place`.
    #[inline]
    pub fn request(&self, place: u32) -> &Request {
        &self.places[place as usize].request
    }

    /// Note that the request in `place` began.
    #[inline]
    pub fn begin(&mut self, place: u32, begun_ns: u64) {
        let place = &mut self.places[place as usize];
        place.begun_ns = begun_ns;
        let is_timed = place.request.due_ns.is_some();
        self.tallies[place.class as usize].begin(place.arrived_ns, begun_ns, is_timed);
    }

    /// Note the end of the operation in `place`, with `result` as of a system call.
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
            self.end(index, None, done_ns);
            return Next::Done;
        }
        let moves_data = matches!(place.request.kind, Kind::Read | Kind::Write);
        if result < 0 || (result == 0 && moves_data) {
            self.end(index, Some(-result), done_ns);
            return Next::Failed(-result);
        }
        self.continued_count += 1;
        Next::Rest
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

    /// Forget the requests that wait; they count as never begun.
    pub fn give_up_waiting(&mut self) {
        self.gives_up = true;
        self.runnable.clear();
        self.held_back.clear();
        while let Some(index) = self.ready.pop_back() {
            let place = &mut self.places[index as usize];
            place.is_taken = false;
            let stream = &mut self.streams[place.stream];
            stream.outstanding -= 1;
            stream.waiting.push_front(Arrival {
                at_ns: place.arrived_ns,
                request: place.request,
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

    /// Return why the workload ended too early, if it did.
    pub fn source_fault(&self) -> Option<&WorkloadError> {
        self.source.fault()
    }

    /// Return the classes.
    pub const fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Return what was counted, class by class.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Return what failed.
    pub const fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Return how often an operation did only a part of its request.
    pub const fn continued_count(&self) -> u64 {
        self.continued_count
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
                waiting(self.classes.of(index, arrival.request.kind), arrival.at_ns);
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

    /// Ask `stream` for requests until it has none that could arrive by `now_ns`.
    #[inline]
    fn refill(&mut self, index: usize, now_ns: u64) {
        loop {
            let stream = &mut self.streams[index];
            let present = stream.outstanding as usize + stream.waiting.len();
            let has_room = stream.is_timed || present < stream.depth as usize;
            if !has_room || stream.has_ended || stream.head.is_some() {
                return;
            }
            if now_ns >= self.stop_ns {
                self.stop(StopReason::Seconds, self.stop_ns);
                return;
            }
            let next = self.source.next(index);
            let stream = &mut self.streams[index];
            match next {
                None => {
                    stream.has_ended = true;
                    if self.streams.iter().all(|stream| stream.has_ended) {
                        self.stop(StopReason::SourceEnded, now_ns);
                    }
                }
                Some(request) => {
                    stream.is_timed = request.due_ns.is_some();
                    if let Some(due_ns) = request.due_ns {
                        stream.head = Some(request);
                        self.due.push(Reverse((due_ns, index)));
                    } else {
                        self.arrive(index, request, now_ns);
                    }
                }
            }
        }
    }

    #[inline]
    fn arrive(&mut self, index: usize, request: Request, at_ns: u64) {
        let class = self.classes.of(index, request.kind);
        self.tallies[class as usize].arrive(at_ns);
        let stream = &mut self.streams[index];
        let is_first = stream.waiting.is_empty() && stream.outstanding < stream.depth;
        let is_free = self.runnable.is_empty() && !self.free.is_empty();
        if is_first && is_free && !self.is_careful && !self.gives_up {
            let place = self.occupy(index, class, request, at_ns);
            self.ready.push_back(place);
        } else {
            stream.waiting.push_back(Arrival { at_ns, request });
            self.waiting_count += 1;
            self.list(index);
        }
        self.requests_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(request.length));
        if self.requests_left == 0 {
            self.stop(StopReason::Requests, at_ns);
        } else if self.bytes_left == 0 {
            self.stop(StopReason::Bytes, at_ns);
        } else if self.waiting_count > WAITING_LIMIT {
            self.stop(StopReason::Overload, at_ns);
        }
    }

    /// Note that a request of a stream may begin, if one may.
    #[inline]
    fn list(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        if stream.is_listed || stream.outstanding >= stream.depth || self.gives_up {
            return;
        }
        if let Some(first) = stream.waiting.front() {
            stream.is_listed = true;
            self.runnable.push(Reverse((first.at_ns, index)));
        }
    }

    /// Note the end of the request in `place`, with its error number where it failed.
    #[inline]
    fn end(&mut self, place: u32, failure: Option<i32>, done_ns: u64) {
        let ended = &mut self.places[place as usize];
        ended.is_taken = false;
        let (index, kind) = (ended.stream, ended.request.kind);
        let times = Times {
            arrived_ns: ended.arrived_ns,
            begun_ns: ended.begun_ns,
            done_ns,
        };
        self.free.push(place);
        self.streams[index].outstanding -= 1;
        let tally = &mut self.tallies[ended.class as usize];
        match failure {
            None => {
                tally.complete(times, ended.request.length);
                if let Some(allowance_ns) = self.streams[index].allowance_ns {
                    let is_late = times.done_ns - times.arrived_ns > allowance_ns;
                    tally.defect_count += u64::from(is_late && ended.request.due_ns.is_some());
                }
                self.failures.forget_row();
            }
            Some(errno) => {
                tally.fail(times);
                let is_gone = self
                    .failures
                    .add(ended.class, errno, &ended.request, done_ns);
                if is_gone {
                    self.stop(StopReason::TargetFailed, done_ns);
                    self.give_up_waiting();
                }
            }
        }
        if self.is_careful {
            self.runnable.extend(self.held_back.drain(..));
        }
        if kind == Kind::Write && failure.is_none() && self.sync.is_some() {
            self.sync_after_write(index, done_ns);
        }
        self.refill(index, done_ns);
        self.list(index);
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

const fn sync_kind(kind: SyncKind) -> Kind {
    match kind {
        SyncKind::Fsync => Kind::Sync,
        SyncKind::Fdatasync => Kind::DataSync,
    }
}

/// Return `seconds` as whole nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked when the job was read"
)]
pub fn ns_of(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
