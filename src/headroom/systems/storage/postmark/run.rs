//! A run: threads on a folder, their results put together.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use super::clock::Clock;
use super::data::Data;
use super::folder::{Folder, Nowhere, Pieces};
use super::job::{Job, Target};
use super::operations::{Kind, Operations, Phase};
use super::parameters::{ParameterError, Parameters};
use super::recorder::{Counters, Recorder, Tables};
use super::worker::{Ending, Left, Shared, Worker};
use crate::simulation::stream;

/// How often it is asked whether the run is still wanted.
const PATIENCE: Duration = Duration::from_millis(50);
/// Name of the random stream of the data, beyond those of the operations.
const DATA_KEY: u64 = 0x6461_7461;
const NANO: f64 = 1e-9;

/// Why there is no result at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// The job is wrong.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The subfolders could not be made.
    #[error("a subfolder cannot be made: {0}")]
    Subfolder(io::Error),
    /// Nothing but [`Target::Nothing`] is known here.
    #[error("this system has no folders that the benchmark can use")]
    NoFolders,
}

impl RunError {
    /// Return the number of the system's error, where it was one.
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Subfolder(error) => error.raw_os_error(),
            Self::Parameters(_) | Self::NoFolders => None,
        }
    }
}

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
    /// One of `no_space`, `failed`, `unwanted`, `time`, `out_of_files`.
    pub reason: &'static str,
    /// Number of the system's error.
    pub errno: Option<i32>,
    /// What was tried: `create`, `read`, `append`, `delete`.
    pub operation: Option<&'static str>,
    /// In which phase: `creation`, `transactions`, `deletion`.
    pub phase: Option<&'static str>,
    /// What the system says.
    pub words: String,
}

/// The facts of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Operations done.
    pub counters: Counters,
    /// Times of the phases.
    pub times: PhaseTimes,
    /// Why it ended early, where it did.
    pub stopped: Option<Stopped>,
    /// Files that could not be deleted after a run that ended early.
    pub left_count: u64,
    /// Threads.
    pub threads: u64,
    /// Bytes that one system call reads and writes at most.
    pub read_call_bytes: u64,
    /// Bytes that one system call writes at most.
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

/// Carry out the job in `json`; `is_wanted` is asked now and then, with what share (0..1) of the
/// operations and transactions is done, whether to go on.
///
/// # Errors
///
/// [`RunError`] where the run cannot begin. What happens in its course is told in the facts.
pub fn run(json: &[u8], is_wanted: &mut dyn FnMut(f64) -> bool) -> Result<Outcome, RunError> {
    let job = Job::from_json(json)?;
    let parameters = job.parameters()?;
    match job.target {
        Target::Nothing => run_in(&job, &parameters, |_| Nowhere, is_wanted),
        Target::Folder { fd } => run_in_folder(&job, &parameters, fd, is_wanted),
    }
}

#[cfg(not(unix))]
fn run_in_folder(
    _: &Job,
    _: &Parameters,
    _: i32,
    _: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    Err(RunError::NoFolders)
}

#[cfg(unix)]
fn run_in_folder(
    job: &Job,
    parameters: &Parameters,
    fd: i32,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    use super::folder::{RealFolder, make_folder, remove_folder};
    use super::name::Name;

    let folder = borrowed(fd);
    let pieces = job.pieces(parameters);
    let names = || (0..parameters.subdirectories).map(Name::of_folder);
    let clock = Clock::start();
    let made = names().try_for_each(|name| make_folder(folder, name.text()));
    let outcome = if let Err(error) = made {
        Err(RunError::Subfolder(error))
    } else {
        let real = |thread| RealFolder::new(folder, pieces, data_of(job, pieces, thread), clock);
        run_in(job, parameters, real, is_wanted)
    };
    for name in names() {
        // What is left in it was counted; who made the folder removes all of it.
        drop(remove_folder(folder, name.text()));
    }
    outcome
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "the descriptor comes as a number from Python")]
fn borrowed<'a>(fd: i32) -> std::os::fd::BorrowedFd<'a> {
    assert!(fd >= 0, "{fd} is no descriptor");
    // SAFETY: whoever hands the job over keeps the descriptor open until the run returns.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }
}

fn data_of(job: &Job, pieces: Pieces, thread: u64) -> Data {
    let mut stream = stream::open(job.seed, DATA_KEY.wrapping_add(thread));
    Data::new(pieces.write_bytes, job.data.compressible_share, &mut stream)
}

/// Run the threads of a job, each on what `folder_of` makes for it.
///
/// # Errors
///
/// [`RunError`] where there are more threads than files.
pub fn run_in<F: Folder>(
    job: &Job,
    parameters: &Parameters,
    folder_of: impl Fn(u64) -> F,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    let parts = (0..job.threads).map(|thread| parameters.part(thread, job.threads));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let shared = Shared::new(Clock::start(), parts.len());
    let stop_ns = job.stop.seconds.map(nanoseconds);
    let workers = parts.into_iter().enumerate().map(|(thread, part)| {
        let operations = Operations::new(part, job.seed, thread as u64);
        let folder = folder_of(thread as u64);
        Worker::new(thread, operations, folder, job.sync, stop_ns, &shared)
    });
    let workers: Vec<Worker<'_, F>> = workers.collect();
    // Files are created and deleted at least once each.
    let all = parameters.transactions + 2 * parameters.files;
    let left = run_workers(workers, &shared, all, is_wanted);
    Ok(outcome(left, &shared, job.threads, job.pieces(parameters)))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds / NANO) as u64
}

/// Start the threads, ask while they work, and collect what they leave.
fn run_workers<F: Folder>(
    workers: Vec<Worker<'_, F>>,
    shared: &Shared,
    all: u64,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Vec<Left> {
    std::thread::scope(|scope| {
        let (sender, finished) = mpsc::channel::<()>();
        let mut threads = Vec::new();
        for worker in workers {
            let sender = sender.clone();
            threads.push(scope.spawn(move || {
                let left = worker.run();
                drop(sender);
                left
            }));
        }
        drop(sender);
        // The channel carries nothing: it is closed when the last thread is done.
        while finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let done: u64 = shared
                .done
                .iter()
                .map(|done| done.load(Ordering::Relaxed))
                .sum();
            if !is_wanted(done as f64 / all as f64) {
                shared.end(Ending::Unwanted);
            }
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, Left>| match thread.join() {
            Ok(left) => left,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect()
    })
}

fn outcome(left: Vec<Left>, shared: &Shared, threads: u64, pieces: Pieces) -> Outcome {
    let marks = shared.marks();
    let stopped = stopped(shared.ending(), &left);
    let left_count = left.iter().map(|one| one.left_count).sum();
    let mut recorder = Recorder::new();
    for one in left {
        recorder.merge(one.recorder);
    }
    let counters = recorder.counters;
    let facts = Facts {
        counters,
        times: phase_times(&marks),
        stopped,
        left_count,
        threads,
        read_call_bytes: pieces.read_bytes as u64,
        write_call_bytes: pieces.write_bytes as u64,
    };
    Outcome {
        facts,
        tables: recorder.finish(marks[2].0 - marks[1].0, threads),
    }
}

fn phase_times(marks: &[(u64, u64)]) -> PhaseTimes {
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

/// Say why a run ended early: a fault before the wish of whoever asked, that before the rest.
fn stopped(ending: Option<Ending>, left: &[Left]) -> Option<Stopped> {
    let plain = |reason| Stopped {
        reason,
        ..Stopped::default()
    };
    match ending {
        Some(Ending::Failed {
            kind,
            phase,
            errno,
            words,
        }) => Some(Stopped {
            reason: if is_no_space(errno) {
                "no_space"
            } else {
                "failed"
            },
            errno,
            operation: Some(kind_name(kind)),
            phase: Some(phase_name(phase)),
            words,
        }),
        Some(Ending::Unwanted) => Some(plain("unwanted")),
        None if left.iter().any(|one| one.is_out_of_time) => Some(plain("time")),
        None if left.iter().any(|one| one.is_out_of_files) => Some(plain("out_of_files")),
        None => None,
    }
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

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
