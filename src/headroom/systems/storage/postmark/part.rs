//! The part of each thread of a run, and why a run ends early.

use std::sync::{Arc, Mutex};

use super::operations::{Kind, Operation, Operations, Phase};
use super::recorder::Recorder;
use crate::recording::crew::{self, Left, Signs, Slot};

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

impl From<Left> for Halt {
    fn from(_: Left) -> Self {
        Self::Left
    }
}

impl crew::Ending for Ending {
    type Call = (Operation, usize);

    fn unwanted() -> Self {
        Self::Unwanted
    }

    fn silent(oldest: Option<(Operation, usize)>, silent_ns: u64) -> Self {
        Self::Silent { oldest, silent_ns }
    }
}

/// State shared by the threads of a run.
pub type Shared = crew::Shared<Ending>;

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
            recorder: Recorder::default(),
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

/// State shared by one thread and its supervisor.
#[derive(Clone)]
pub struct Place {
    /// The part of the thread.
    pub slot: Arc<Slot<Part>>,
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
