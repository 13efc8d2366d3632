//! Data shared by the threads of a run, and the part of each that is taken from it at the end.
//!
//! Invariant: a thread holds its part except during its calls and while it waits for others.
//! A part may be taken whenever its thread does not hold it; the thread then finds nothing, and
//! ends without touching anything of the run.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::recording::clock::{Clock, processor_ns};
use super::operations::{Kind, Operation, Operations, Phase};
use super::patience::Signs;
use super::recorder::Recorder;

/// Why a run ended before all was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// An operation failed.
    Failed {
        /// The attempted operation.
        kind: Kind,
        /// In which phase.
        phase: Phase,
        /// Number of the error, if the system gave one.
        errno: Option<i32>,
        /// The system's message.
        words: String,
    },
    /// No call has returned for long.
    Silent {
        /// The oldest operation without an end, and its file; None: a subfolder.
        oldest: Option<(Operation, usize)>,
        /// For how long (ns) nothing has returned.
        silent_ns: u64,
    },
    /// The user has stopped the run.
    Unwanted,
}

/// Why a thread stops midway.
#[derive(Debug)]
pub enum Halt {
    /// The run ends.
    End(Ending),
    /// The run has ended without this thread.
    Left,
}

/// A moment: time and processor time (ns).
pub type Mark = (u64, u64);

/// State shared by the threads of a run.
pub struct Shared {
    /// The clock of the run.
    pub clock: Clock,
    /// Begin of the transactions (ns), once they have begun.
    pub zero_ns: AtomicU64,
    is_over: AtomicBool,
    ending: Mutex<Option<Ending>>,
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

impl Shared {
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
    pub fn end(&self, ending: Ending) {
        held(&self.ending).get_or_insert(ending);
        self.is_over.store(true, Ordering::Relaxed);
        // A thread about to wait for others has seen that, or waits by now.
        drop(held(&self.meeting));
        self.met.notify_all();
    }

    /// Return why the run ended early.
    pub fn ending(&self) -> Option<Ending> {
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
            let waits = |meeting: &mut Meeting| meeting.marks.len() == number && !self.is_over();
            let waited = self.met.wait_while(meeting, waits);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
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

    /// Return the borders of the phases; those not reached are where the run ended.
    pub fn marks(&self) -> Vec<Mark> {
        let meeting = held(&self.meeting);
        let mut marks = meeting.marks.clone();
        marks.resize(Phase::ALL.len() + 1, meeting.left);
        marks
    }

    fn mark(&self) -> Mark {
        (self.clock.now_ns(), processor_ns())
    }
}

/// A thread's work, progress and measurements.
pub struct Part {
    /// Its work.
    pub operations: Operations,
    /// Its measurements.
    pub recorder: Recorder,
    /// Operations that may have been done in part.
    pub in_doubt: [Option<Operation>; 2],
    /// The operation that it is in a call for, and since when (ns).
    pub doing: Option<(Operation, u64)>,
    /// True if its transactions ended because their time was over.
    pub is_out_of_time: bool,
    /// True while it does its operations, before it cleans up.
    pub is_in_phases: bool,
    /// Files that it leaves behind; None as long as it may still delete some.
    pub left_count: Option<u64>,
}

impl Part {
    /// Return the part of a thread that has not begun.
    pub fn new(operations: Operations) -> Self {
        Self {
            operations,
            recorder: Recorder::new(),
            in_doubt: [None; 2],
            doing: None,
            is_out_of_time: false,
            is_in_phases: true,
            left_count: None,
        }
    }

    /// Return the maximum number of remaining files: those of the pool, and those whose deletion is
    /// in doubt.
    pub fn left_at_most(&self) -> u64 {
        let is_deleted = |one: &&Operation| one.kind == Kind::Delete;
        let doubtful = self.in_doubt.iter().flatten().filter(is_deleted).count();
        let files = self.operations.files().len() + doubtful;
        self.left_count.unwrap_or(files as u64)
    }
}

/// The place of a part: empty once it was taken.
pub type Slot = Mutex<Option<Part>>;

/// State shared by one thread and its supervisor.
#[derive(Clone)]
pub struct Place {
    /// The part of the thread.
    pub slot: Arc<Slot>,
    /// Its signs of life.
    pub signs: Arc<Signs>,
}

impl Place {
    /// Return the place of a thread that has not begun.
    pub fn new(operations: Operations) -> Self {
        Self {
            slot: Arc::new(Mutex::new(Some(Part::new(operations)))),
            signs: Arc::default(),
        }
    }
}

/// A part that its thread holds, except during its calls.
pub struct Held<'a> {
    slot: &'a Slot,
    guard: Option<MutexGuard<'a, Option<Part>>>,
}

impl<'a> Held<'a> {
    /// Take hold of a part; None if it is gone.
    pub fn new(slot: &'a Slot) -> Option<Self> {
        let guard = held(slot);
        guard.is_some().then_some(Self {
            slot,
            guard: Some(guard),
        })
    }

    /// Make a call, or wait, without holding the part.
    ///
    /// # Errors
    ///
    /// [`Halt::Left`] where the part is gone then.
    #[inline]
    pub fn released<T>(&mut self, call: impl FnOnce() -> T) -> Result<T, Halt> {
        self.guard = None;
        let answer = call();
        let again = Self::new(self.slot).ok_or(Halt::Left)?;
        self.guard = again.guard;
        Ok(answer)
    }
}

const IS_HELD: &str = "a part is held except during calls";

impl Deref for Held<'_> {
    type Target = Part;

    #[inline]
    fn deref(&self) -> &Part {
        self.guard
            .as_deref()
            .and_then(Option::as_ref)
            .expect(IS_HELD)
    }
}

impl DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Part {
        let part = self.guard.as_deref_mut().and_then(Option::as_mut);
        part.expect(IS_HELD)
    }
}

/// Lock, whatever a thread that panicked left: the panic itself is passed on by the joining thread.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
