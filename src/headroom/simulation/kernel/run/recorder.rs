//! The event trace: what happened to each job and where, for the first N events.

use crate::simulation::kernel::run::engine::State;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A job enters the system.
    Begin = 0,
    /// A job has done its work.
    Complete = 1,
    /// A job enters a station.
    Enter = 2,
    /// Its service begins or continues.
    BeginService = 3,
    /// Its service ends.
    EndService = 4,
    /// Its service is interrupted.
    Interrupt = 5,
    /// It waits for a place at a station.
    Block = 6,
    /// It has a place.
    Unblock = 7,
    /// It waits for tokens.
    Ask = 8,
    /// It is granted tokens.
    Grant = 9,
    /// It gives tokens back.
    Release = 10,
    /// It is lost.
    Lose = 11,
    /// One of its tries has failed.
    Fail = 12,
}

/// One line of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When (ticks).
    pub ticks: u64,
    /// What.
    pub kind: Kind,
    /// Slot of the job.
    pub job: u32,
    /// Class of the job.
    pub class: u32,
    /// Station or pool; 0 if there is none.
    pub resource: u32,
}

/// Keeps the first records, up to a limit.
#[derive(Clone, Debug)]
pub struct Recorder {
    limit: usize,
    /// The records kept.
    pub records: Vec<Record>,
    /// Whether there was more.
    pub is_truncated: bool,
}

impl Recorder {
    /// Return a recorder that keeps `limit` records.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            records: Vec::new(),
            is_truncated: false,
        }
    }

    /// Return whether anything is kept.
    pub const fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// Record an event of `job` now.
    #[inline]
    pub fn note(&mut self, state: &State, kind: Kind, job: u32, resource: u32) {
        if self.limit > 0 {
            self.keep(state, kind, job, resource);
        }
    }

    #[cold]
    fn keep(&mut self, state: &State, kind: Kind, job: u32, resource: u32) {
        if self.records.len() == self.limit {
            self.is_truncated = true;
            return;
        }
        self.records.push(Record {
            ticks: state.progress.now.ticks(),
            kind,
            job,
            class: state.jobs[job].class,
            resource,
        });
    }
}
