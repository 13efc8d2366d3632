//! The facts of a run, merged from its threads.

use serde::Serialize;

use super::folder::Pieces;
use super::name::Name;
use super::operations::{Kind, Operation, Phase};
use super::part::{Ending, Part, Shared};
use super::recorder::{Counters, Recorder, Tables};
use crate::recording::crew::Mark;

const NANO: f64 = 1e-9;

/// Seconds and processor seconds of the phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhaseTimes {
    /// Creation of the pool (s).
    pub creation_s: f64,
    /// Transactions (s).
    pub transactions_s: f64,
    /// Deletion of the pool (s).
    pub deletion_s: f64,
    /// Processor time (s) of the process during the creation, all threads.
    pub creation_processor_s: f64,
    /// Processor time (s) of the process during the transactions, all threads.
    pub transactions_processor_s: f64,
    /// Processor time (s) of the process during the deletion, all threads.
    pub deletion_processor_s: f64,
}

/// Why a run ended before all was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// One of `no_space`, `failed`, `silent`, `unwanted`, `time`, `out_of_files`.
    pub reason: &'static str,
    /// Number of the system's error.
    pub errno: Option<i32>,
    /// The attempted operation: `create`, `read`, `append`, `delete`.
    pub operation: Option<&'static str>,
    /// In which phase: `creation`, `transactions`, `deletion`.
    pub phase: Option<&'static str>,
    /// The system's message.
    pub words: String,
}

/// The facts of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Operations done.
    pub counters: Counters,
    /// Times of the phases.
    pub times: PhaseTimes,
    /// Why it ended early, if it did.
    pub stopped: Option<Stopped>,
    /// Files that could not be deleted after a run that ended early, at most.
    pub left_count: u64,
    /// Threads abandoned in a call that did not return.
    pub stuck_count: u64,
    /// Threads.
    pub threads: u64,
    /// Maximum bytes that one system call reads or writes.
    pub read_call_bytes: u64,
    /// Maximum bytes that one system call writes.
    pub write_call_bytes: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its facts.
    pub facts: Facts,
    /// Its times.
    pub tables: Tables,
}

impl Outcome {
    /// Put together what the threads of a run leave.
    pub fn new(parts: Vec<Part>, shared: &Shared, pieces: Pieces) -> Self {
        let marks = shared.marks(Phase::ALL.len());
        let threads = parts.len() as u64;
        let stopped = stopped(shared.ending(), &parts);
        let left_count = parts.iter().map(Part::left_at_most).sum();
        let stuck_count = parts.iter().filter(|part| part.doing.is_some()).count() as u64;
        let mut recorder = Recorder::default();
        for part in parts {
            let undone = part.operations.undone();
            recorder.merge(part.recorder);
            recorder.counters.full_append_count += undone.full_append_count;
            recorder.counters.full_create_count += undone.full_create_count;
        }
        let facts = Facts {
            counters: recorder.counters,
            times: phase_times(&marks),
            stopped,
            left_count,
            stuck_count,
            threads,
            read_call_bytes: pieces.read_bytes as u64,
            write_call_bytes: pieces.write_bytes as u64,
        };
        Self {
            facts,
            tables: recorder.finish(marks[2].0 - marks[1].0, threads),
        }
    }
}

fn phase_times(marks: &[Mark]) -> PhaseTimes {
    let wall = |phase: usize| (marks[phase + 1].0 - marks[phase].0) as f64 * NANO;
    let processor = |phase: usize| (marks[phase + 1].1 - marks[phase].1) as f64 * NANO;
    PhaseTimes {
        creation_s: wall(0),
        transactions_s: wall(1),
        deletion_s: wall(2),
        creation_processor_s: processor(0),
        transactions_processor_s: processor(1),
        deletion_processor_s: processor(2),
    }
}

/// Say why a run ended early: what ended it, before what the threads met on their own.
fn stopped(ending: Option<Ending>, parts: &[Part]) -> Option<Stopped> {
    let plain = |reason| Stopped {
        reason,
        ..Stopped::default()
    };
    match ending {
        Some(ending) => Some(ending.into()),
        None if parts.iter().any(|one| one.is_out_of_time) => Some(plain("time")),
        None => {
            let is_out = |one: &Part| one.operations.undone().is_out_of_files;
            parts.iter().any(is_out).then(|| plain("out_of_files"))
        }
    }
}

impl From<Ending> for Stopped {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Failed {
                kind,
                phase,
                errno,
                words,
            } => Self {
                reason: if is_no_space(errno) {
                    "no_space"
                } else {
                    "failed"
                },
                errno,
                operation: Some(kind_name(kind)),
                phase: Some(phase_name(phase)),
                words,
            },
            Ending::Silent { oldest, silent_ns } => Self {
                reason: "silent",
                errno: None,
                operation: oldest.map(|(operation, _)| kind_name(operation.kind)),
                phase: oldest.map(|(operation, _)| phase_name(operation.phase)),
                words: silence_in_words(oldest, silent_ns as f64 * NANO),
            },
            Ending::Unwanted => Self {
                reason: "unwanted",
                ..Self::default()
            },
        }
    }
}

/// Say that nothing has returned for `silent_s` (s), and what the oldest call is for.
pub fn silence_in_words(oldest: Option<(Operation, usize)>, silent_s: f64) -> String {
    let what = match oldest {
        Some((operation, thread)) => {
            let name = Name::of_file(&operation, thread, false);
            let file = name.text().to_string_lossy().into_owned();
            format!("file {file} of {} B", operation.bytes)
        }
        None => "a subfolder".to_owned(),
    };
    format!("the file system did not answer: no call has returned for {silent_s:.1} s ({what})")
}

#[cfg(unix)]
fn is_no_space(errno: Option<i32>) -> bool {
    matches!(errno, Some(libc::ENOSPC | libc::EDQUOT))
}

#[cfg(not(unix))]
fn is_no_space(_: Option<i32>) -> bool {
    false
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Create => "create",
        Kind::Read => "read",
        Kind::Append => "append",
        Kind::Delete => "delete",
        Kind::Nothing => "nothing",
    }
}

const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Creation => "creation",
        Phase::Transactions => "transactions",
        Phase::Deletion => "deletion",
    }
}
