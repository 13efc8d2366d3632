//! Worker threads: each takes an operation, carries it out by calls, and records its end.
//!
//! No thread distributes work, so no hand-over can be late: an idle thread takes the next request
//! itself, under one lock that is held for a fraction of the time of a call. The calling thread
//! makes no calls on the target. It checks the run now and then, and ends it even if a call never
//! returns (a server that is gone, a device that hangs). Such a call cannot be taken back, so its
//! thread is abandoned.
//!
//! Invariant: an abandoned thread finds the run over when its call returns, and ends without
//! touching any of it; buffers and descriptors live until the last of them has ended.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Load;
use super::carrier::{Caller, Carrier, Completion};
use super::patience::Patience;
use super::record::Record;
use crate::recording::clock::Clock;

/// Maximum time (ns) that a worker waits without looking around.
const LOOK_NS: u64 = 50_000_000;
/// State shared by the workers.
pub struct Shared<C: Carrier> {
    /// The work to do.
    pub load: Load<C::Source>,
    /// How operations are carried out.
    pub carrier: C,
    /// The measurements so far.
    pub record: Record,
    /// How long the run waits.
    pub patience: Patience,
    /// System calls made.
    pub call_count: u64,
    /// When the last request ended (ns), or the run was given up.
    pub end_ns: u64,
    clock: Clock,
    /// Whether a worker waits for the next due time.
    has_timekeeper: bool,
    /// Workers that wait for something to do.
    idle_count: u32,
}

impl<C: Carrier> Shared<C> {
    /// Return the shared state at the start.
    pub fn new(load: Load<C::Source>, carrier: C, record: Record, patience: Patience) -> Self {
        Self {
            load,
            carrier,
            record,
            patience,
            call_count: 0,
            end_ns: 0,
            clock: Clock::start(),
            has_timekeeper: false,
            idle_count: 0,
        }
    }

    #[inline]
    fn take(&mut self) -> Option<u32> {
        self.load.take(&mut |next| self.carrier.admits(next))
    }

    /// Set the end of the run: that of the load or of the last request, or `given_up_ns`; never
    /// before a moment that was recorded.
    fn close(&mut self, given_up_ns: Option<u64>) {
        let stopped_ns = self.load.stopped().map_or(0, |stopped| stopped.1);
        let end_ns = self.end_ns.max(stopped_ns).max(given_up_ns.unwrap_or(0));
        self.end_ns = self.record.not_before_a_row(end_ns);
    }

    /// Let time go on to `now_ns`.
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        self.record.observe(now_ns, &mut self.load);
        self.load.advance(now_ns);
    }
}

/// The workers of a run.
pub struct Workers<C: Carrier, K> {
    /// None when the run is over, even if workers are still in a call.
    shared: Mutex<Option<Shared<C>>>,
    /// There is something to do, or never will be.
    changed: Condvar,
    /// Everything has ended.
    over: Condvar,
    caller: K,
}

type Guard<'a, C> = MutexGuard<'a, Option<Shared<C>>>;

impl<C: Carrier + 'static, K: Caller<C::Step>> Workers<C, K>
where
    C::Source: 'static,
{
    /// Run to the end with as many threads as there are places.
    ///
    /// # Errors
    ///
    /// If the system cannot provide enough threads.
    pub fn run(
        shared: Shared<C>,
        caller: K,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> io::Result<Shared<C>> {
        let worker_count = shared.load.place_count();
        let workers = Arc::new(Self {
            shared: Mutex::new(Some(shared)),
            changed: Condvar::new(),
            over: Condvar::new(),
            caller,
        });
        let mut guard = workers.lock();
        let threads = match workers.spawn(worker_count) {
            Ok(threads) => threads,
            Err(error) => {
                *guard = None;
                return Err(error);
            }
        };
        if let Some(shared) = guard.as_mut() {
            // All threads are present, and wait for the lock: now time begins.
            shared.clock = Clock::start();
            let is_careful = shared.carrier.is_careful();
            shared.load.start(is_careful);
        }
        drop(guard);
        let shared = workers.supervise(is_wanted);
        end(threads, shared.load.outstanding_count() > 0);
        Ok(shared)
    }

    fn spawn(self: &Arc<Self>, count: usize) -> io::Result<Vec<JoinHandle<()>>> {
        let one = |_| {
            let own = Arc::clone(self);
            let named = thread::Builder::new().name("headroom-call".into());
            named.spawn(move || own.work())
        };
        (0..count).map(one).collect()
    }

    fn lock(&self) -> Guard<'_, C> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Supervise the run until it is over, and take it from the workers.
    fn supervise(&self, is_wanted: &mut dyn FnMut() -> bool) -> Shared<C> {
        loop {
            // The callback may take its time: no worker waits for it.
            let is_wanted = is_wanted();
            let mut guard = self.lock();
            let shared = guard.as_mut().expect("only this thread ends the run");
            let now_ns = shared.clock.now_ns();
            shared.advance(now_ns);
            let is_given_up = shared.patience.is_over(&mut shared.load, now_ns, is_wanted);
            if is_given_up || shared.load.is_over() {
                shared.close(is_given_up.then_some(now_ns));
                let shared = guard.take().expect("it is still there");
                drop(guard);
                self.changed.notify_all();
                return shared;
            }
            if shared.idle_count > 0 && shared.load.is_runnable() {
                self.changed.notify_one();
            }
            let _ = self.over.wait_timeout(guard, Duration::from_nanos(LOOK_NS));
        }
    }

    /// Work until the run is over.
    fn work(&self) {
        let mut guard = self.lock();
        // The end of the last operation serves as the current time as long as there is work:
        // reading the clock is the most expensive part of a request that costs nothing.
        let mut last_ns = None;
        while let Some(shared) = guard.as_mut() {
            let last = last_ns.take();
            let now_ns = last.unwrap_or_else(|| shared.clock.now_ns());
            shared.advance(now_ns);
            if let Some(place) = shared.take() {
                (guard, last_ns) = self.carry_out(guard, place);
            } else if shared.load.is_over() {
                self.over.notify_all();
                self.changed.notify_all();
                return;
            } else if last.is_none() {
                guard = self.wait(guard, now_ns);
            }
        }
    }

    /// Carry out the operation in `place`; return when (ns) it ended, None if the run was over
    /// before.
    #[inline]
    fn carry_out<'b>(&'b self, mut guard: Guard<'b, C>, place: u32) -> (Guard<'b, C>, Option<u64>) {
        let Some(shared) = guard.as_mut() else {
            return (guard, None);
        };
        let clock = shared.clock;
        let buffer = || self.buffer(place);
        let mut step = shared.carrier.begin(&shared.load, place, buffer);
        let begun_ns = clock.now_ns();
        shared.record.observe(begun_ns, &mut shared.load);
        shared.load.begin(&[place], begun_ns);
        if shared.idle_count > 0 && shared.load.is_runnable() {
            self.changed.notify_one();
        }
        loop {
            drop(guard);
            let result = self.caller.call(place, step);
            let done_ns = clock.now_ns();
            guard = self.lock();
            let Some(shared) = guard.as_mut() else {
                return (guard, None);
            };
            // While this thread waited for the lock, others may have gone on to later moments.
            let done_ns = shared.record.not_before_a_row(done_ns);
            shared.record.observe(done_ns, &mut shared.load);
            let completion = Completion {
                place,
                result,
                done_ns,
            };
            let buffer = || &*self.buffer(place);
            let next = shared.carrier.end(&mut shared.load, completion, buffer);
            shared.load.replenish(done_ns);
            shared.call_count += 1;
            shared.end_ns = shared.end_ns.max(done_ns);
            match next {
                Some(next) => step = next,
                None => return (guard, Some(done_ns)),
            }
        }
    }

    /// Wait for the next due time, if no other worker does, or for a change.
    fn wait<'b>(&'b self, mut guard: Guard<'b, C>, now_ns: u64) -> Guard<'b, C> {
        let Some(shared) = guard.as_mut() else {
            return guard;
        };
        let is_free = !shared.has_timekeeper;
        let Some(next_ns) = shared.load.next_event_ns().filter(|_| is_free) else {
            shared.idle_count += 1;
            let waited = self
                .changed
                .wait_timeout(guard, Duration::from_nanos(LOOK_NS));
            let mut guard = waited.unwrap_or_else(PoisonError::into_inner).0;
            if let Some(shared) = guard.as_mut() {
                shared.idle_count -= 1;
            }
            return guard;
        };
        shared.has_timekeeper = true;
        drop(guard);
        thread::sleep(Duration::from_nanos(
            next_ns.saturating_sub(now_ns).min(LOOK_NS),
        ));
        let mut guard = self.lock();
        if let Some(shared) = guard.as_mut() {
            shared.has_timekeeper = false;
            if shared.idle_count > 0 {
                self.changed.notify_one();
            }
        }
        guard
    }

    /// Return the buffer of a place that carries nothing.
    #[allow(unsafe_code, reason = "memory that the kernel writes into")]
    #[allow(
        clippy::mut_from_ref,
        reason = "each place is used by one thread at a time"
    )]
    #[inline]
    fn buffer(&self, place: u32) -> &mut [u8] {
        let (first, bytes) = self.caller.buffer(place);
        // SAFETY: the place was taken by this thread and is in no call, so no other thread uses its
        // buffer, which lives as long as the workers.
        unsafe { std::slice::from_raw_parts_mut(first, bytes) }
    }
}

/// Wait for the end of `threads`; if some are stuck in calls, for those that have ended only.
fn end(threads: Vec<JoinHandle<()>>, are_some_stuck: bool) {
    for one in threads {
        if are_some_stuck && !one.is_finished() {
            continue;
        }
        if let Err(panic) = one.join() {
            resume_unwind(panic);
        }
    }
}
