//! The threads: each takes a request, carries it out with one call, and notes its end.
//!
//! There is no thread that hands work out, and no hand-over that could be late: whoever is free
//! takes the next request himself, under one lock that is held for a fraction of the time of a
//! call. The calling thread is one of the workers, so a load of one request at a time needs no
//! second thread at all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::calls::Calls;
use super::clock::Clock;
use super::content::Content;
use super::load::{Load, Next, StopReason};
use super::record::Record;
use crate::systems::storage::request::Kind;

/// How long (ns) a worker never waits without looking around.
const LOOK_NS: u64 = 50_000_000;
/// Threads at most.
pub const WORKER_LIMIT: u32 = 256;

/// What the workers share.
pub struct Shared<'a> {
    /// What is to be done.
    pub load: Load,
    /// What was recorded.
    pub record: Record,
    /// What is written, and what becomes of what is read.
    pub content: &'a mut dyn Content,
    /// Time (ns) that the run waits at its end at most.
    pub drain_ns: u64,
    /// Whether a worker waits for the next due time.
    pub has_timekeeper: bool,
    /// Workers that wait for something to do.
    pub idle_count: u32,
    /// System calls made.
    pub call_count: u64,
    /// When the last request ended (ns).
    pub end_ns: u64,
    /// The clock of the run.
    pub clock: Clock,
}

impl Shared<'_> {
    #[inline]
    fn take(&mut self) -> Option<u32> {
        self.load.take(self.content)
    }
}

/// The workers of a run.
pub struct Workers<'a> {
    shared: Mutex<Shared<'a>>,
    changed: Condvar,
    calls: Calls<'a>,
}

type Guard<'a, 'b> = MutexGuard<'a, Shared<'b>>;

impl<'a> Workers<'a> {
    /// Return workers that have not started.
    pub const fn new(shared: Shared<'a>, calls: Calls<'a>) -> Self {
        Self {
            shared: Mutex::new(shared),
            changed: Condvar::new(),
            calls,
        }
    }

    /// Run to the end with as many threads as there are places.
    pub fn run(self, is_wanted: &mut dyn FnMut() -> bool) -> Shared<'a> {
        std::thread::scope(|scope| {
            let mut shared = self.lock();
            for _ in 1..shared.load.place_count() {
                scope.spawn(|| self.work(&mut || true));
            }
            // All threads are there, and wait for the lock: now time begins.
            shared.clock = Clock::start();
            let is_careful = shared.content.is_careful();
            shared.load.start(is_careful);
            drop(shared);
            self.work(is_wanted);
        });
        self.shared
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> Guard<'_, 'a> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, is_wanted: &mut dyn FnMut() -> bool) {
        let mut shared = self.lock();
        let clock = shared.clock;
        let mut look_ns = LOOK_NS;
        // The end of the last operation stands for now as long as there is something to do:
        // reading the clock is the dearest part of a request that costs nothing.
        let mut last_ns = None;
        loop {
            let last = last_ns.take();
            let now_ns = last.unwrap_or_else(|| clock.now_ns());
            if now_ns >= look_ns {
                look_ns = now_ns + LOOK_NS;
                look(&mut shared, now_ns, is_wanted);
            }
            let Shared { load, record, .. } = &mut *shared;
            record.observe(now_ns, load);
            load.advance(now_ns);
            if let Some(place) = shared.take() {
                let done_ns;
                (shared, done_ns) = self.carry_out(shared, place, clock);
                last_ns = Some(done_ns);
            } else if shared.load.is_over() {
                shared.end_ns = shared.end_ns.max(now_ns);
                self.changed.notify_all();
                return;
            } else if last.is_none() {
                shared = self.wait(shared, now_ns);
            }
        }
    }

    #[inline]
    fn carry_out<'b>(
        &'b self,
        mut shared: Guard<'b, 'a>,
        place: u32,
        clock: Clock,
    ) -> (Guard<'b, 'a>, u64) {
        let Shared {
            load,
            content,
            record,
            ..
        } = &mut *shared;
        let request = load.request(place);
        if load.is_careful() || request.kind == Kind::Write {
            content.begin(place, request, buffer(&self.calls, place));
        }
        let mut operation = load.operation(place);
        let begun_ns = clock.now_ns();
        record.observe(begun_ns, load);
        load.begin(&[place], begun_ns);
        if shared.idle_count > 0 && shared.load.is_runnable() {
            self.changed.notify_one();
        }
        loop {
            drop(shared);
            let result = self.calls.call(place, operation);
            let done_ns = clock.now_ns();
            shared = self.lock();
            let Shared { load, record, .. } = &mut *shared;
            // While this thread waited for the lock, others may have gone on to later moments.
            let done_ns = record.not_before_a_row(done_ns);
            record.observe(done_ns, load);
            let next = load.complete(place, result, done_ns);
            load.replenish(done_ns);
            shared.call_count += 1;
            shared.end_ns = shared.end_ns.max(done_ns);
            match next {
                Next::Rest => operation = shared.load.operation(place),
                Next::Done => return (self.told(shared, place, None), done_ns),
                Next::Failed(errno) => return (self.told(shared, place, Some(errno)), done_ns),
            }
        }
    }

    /// Tell a careful content of the end of the request in `place`.
    #[inline]
    fn told<'b>(
        &'b self,
        mut shared: Guard<'b, 'a>,
        place: u32,
        errno: Option<i32>,
    ) -> Guard<'b, 'a> {
        let Shared { load, content, .. } = &mut *shared;
        if load.is_careful() {
            content.end(
                place,
                load.request(place),
                buffer(&self.calls, place),
                errno,
            );
        }
        shared
    }

    /// Wait for the next due time, if nobody does, or for a change.
    fn wait<'b>(&'b self, mut shared: Guard<'b, 'a>, now_ns: u64) -> Guard<'b, 'a> {
        let next_ns = shared
            .load
            .next_event_ns()
            .filter(|_| !shared.has_timekeeper);
        let Some(next_ns) = next_ns else {
            shared.idle_count += 1;
            let look = Duration::from_nanos(LOOK_NS);
            let waited = self.changed.wait_timeout(shared, look);
            let mut shared = waited.unwrap_or_else(PoisonError::into_inner).0;
            shared.idle_count -= 1;
            return shared;
        };
        shared.has_timekeeper = true;
        drop(shared);
        std::thread::sleep(Duration::from_nanos(
            next_ns.saturating_sub(now_ns).min(LOOK_NS),
        ));
        let mut shared = self.lock();
        shared.has_timekeeper = false;
        if shared.idle_count > 0 {
            self.changed.notify_one();
        }
        shared
    }
}

/// Look whether the run is still wanted, and whether its end has been waited for long enough.
fn look(shared: &mut Shared<'_>, now_ns: u64, is_wanted: &mut dyn FnMut() -> bool) {
    if !is_wanted() {
        shared.load.stop(StopReason::Interrupted, now_ns);
        shared.load.give_up_waiting();
    }
    let stopped_ns = shared.load.stopped().map_or(now_ns, |stopped| stopped.1);
    if now_ns.saturating_sub(stopped_ns) > shared.drain_ns {
        shared.load.give_up_waiting();
    }
}

/// Return the buffer of a place that carries nothing yet.
#[allow(unsafe_code, reason = "memory that the kernel writes into")]
fn buffer<'a>(calls: &Calls<'a>, place: u32) -> &'a mut [u8] {
    // SAFETY: the place was just taken by this thread, so nobody else uses its buffer.
    unsafe {
        std::slice::from_raw_parts_mut(calls.buffers.pointer(place), calls.buffers.place_bytes())
    }
}
