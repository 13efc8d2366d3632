//! State shared by the threads of a run: its clock, its end, and where they meet between phases.

use std::sync::PoisonError;

use super::slot::held;
use super::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use super::sync::{Condvar, Mutex};
use crate::recording::clock::{Clock, processor_ns};

/// Why a run ended before all was done.
pub trait Ending: Clone + Send + 'static {
    /// A call that a thread is in.
    type Call;

    /// The user has stopped the run.
    fn unwanted() -> Self;

    /// No call has returned for `silent_ns`; the `oldest` has been waited for longest.
    fn silent(oldest: Option<Self::Call>, silent_ns: u64) -> Self;
}

/// A moment: time and processor time (ns).
pub type Mark = (u64, u64);

/// State shared by the threads of a run.
pub struct Shared<E> {
    /// The clock of the run.
    pub clock: Clock,
    /// Begin (ns) of the current phase.
    pub zero_ns: AtomicU64,
    is_over: AtomicBool,
    ending: Mutex<Option<E>>,
    meeting: Mutex<Meeting>,
    /// All have met, or the run is over.
    met: Condvar,
}

/// The meeting point of threads between two phases.
struct Meeting {
    thread_count: usize,
    here_count: usize,
    /// Borders of the phases, one for each meeting.
    marks: Vec<Mark>,
    /// When the last thread that could went out of a run that is over.
    left: Mark,
}

impl<E: Ending> Shared<E> {
    /// Return the shared state of `threads` threads.
    pub fn new(clock: Clock, threads: usize) -> Self {
        Self {
            clock,
            zero_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            ending: Mutex::new(None),
            meeting: Mutex::new(Meeting {
                thread_count: threads,
                here_count: 0,
                marks: Vec::new(),
                left: (0, 0),
            }),
            met: Condvar::new(),
        }
    }

    /// End the run; the first reason counts.
    pub fn end(&self, ending: E) {
        held(&self.ending).get_or_insert(ending);
        self.is_over.store(true, Ordering::Relaxed);
        // A thread about to wait for others has seen that, or waits by now.
        drop(held(&self.meeting));
        self.met.notify_all();
    }

    /// Return why the run ended early.
    pub fn ending(&self) -> Option<E> {
        held(&self.ending).clone()
    }

    /// True once the run is to end.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Wait for all threads; the last one marks the border between two phases. Return false if the
    /// run is over: then no thread waits for another.
    pub fn meet(&self) -> bool {
        let mut meeting = held(&self.meeting);
        meeting.here_count += 1;
        if meeting.here_count == meeting.thread_count {
            meeting.here_count = 0;
            let mark = self.mark();
            self.zero_ns.store(mark.0, Ordering::Relaxed);
            meeting.marks.push(mark);
            self.met.notify_all();
        } else {
            let number = meeting.marks.len();
            while meeting.marks.len() == number && !self.is_over() {
                let waited = self.met.wait(meeting);
                meeting = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        !self.is_over()
    }

    /// Record that a thread leaves a run that is over.
    pub fn leave(&self) {
        // The time is read behind the lock: read before it, it could be earlier than a border that
        // another thread marked meanwhile.
        let mut meeting = held(&self.meeting);
        meeting.left = self.mark();
    }

    /// Return the borders of `phase_count` phases; those not reached are where the run ended.
    pub fn marks(&self, phase_count: usize) -> Vec<Mark> {
        let meeting = held(&self.meeting);
        let mut marks = meeting.marks.clone();
        marks.resize(phase_count + 1, meeting.left);
        marks
    }

    fn mark(&self) -> Mark {
        (self.clock.now_ns(), processor_ns())
    }
}
