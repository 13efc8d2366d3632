//! A run: threads on a folder, supervised until they end, with their results merged.
//!
//! The calling thread makes no call on the folder itself, so it can end the run even if a call
//! never returns.

use std::io;
use std::sync::Arc;

use thiserror::Error;

use super::data::Data;
pub use super::facts::Outcome;
use super::facts::{Stopped, silence_in_words};
use super::folder::{Folder, Nowhere, Pieces};
use super::job::{Job, Target};
use super::operations::{Operation, Operations};
use super::parameters::{ParameterError, Parameters};
use super::part::{Part, Place, Shared};
use super::worker::Worker;
use crate::recording::clock::{Clock, ns_of};
use crate::recording::crew::{Crew, Patience, Signs, held};
use crate::simulation::kernel::random::stream;

/// Name of the threads.
const THREAD: &str = "headroom-file";
/// Name of the random stream of the data, beyond those of the operations.
const DATA_KEY: u64 = 0x6461_7461;

/// Why a run has no result at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// The job is wrong.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The folder is not open.
    #[error("the folder cannot be used: {0}")]
    Folder(io::Error),
    /// The subfolders could not be made.
    #[error("a subfolder cannot be made: {0}")]
    Subfolder(io::Error),
    /// Nothing was measured when the file system fell silent.
    #[error("{0}")]
    Silent(String),
    /// The system cannot provide that many threads.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
    /// Nothing but [`Target::Nothing`] is known here.
    #[error("this system has no folders that the benchmark can use")]
    NoFolders,
}

impl RunError {
    /// Return the number of the system's error, if there was one.
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Folder(error) | Self::Subfolder(error) | Self::Thread(error) => {
                error.raw_os_error()
            }
            Self::Silent(_) => Some(TIMED_OUT),
            Self::Parameters(_) | Self::NoFolders => None,
        }
    }
}

#[cfg(unix)]
const TIMED_OUT: i32 = libc::ETIMEDOUT;
#[cfg(not(unix))]
const TIMED_OUT: i32 = 0;

/// Carry out the job in `json`; `is_wanted` is asked now and then, with the share (0..1) of
/// operations and transactions done, whether to continue.
///
/// # Errors
///
/// [`RunError`] if the run cannot begin. Later events are reported in the facts.
pub fn run(json: &[u8], is_wanted: &mut dyn FnMut(f64) -> bool) -> Result<Outcome, RunError> {
    let job = Job::from_json(json)?;
    let parameters = job.parameters()?;
    match job.target {
        Target::Nothing => run_in(&job, &parameters, |_, _| Nowhere, is_wanted),
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

    let folder = Arc::new(own(fd).map_err(RunError::Folder)?);
    let pieces = job.pieces(parameters);
    let count = parameters.subdirectories;
    let at = Arc::clone(&folder);
    let make = move |number| make_folder(&at, Name::of_folder(number).text());
    apart(job, count, make, is_wanted)?;
    let real = |thread, signs: &Arc<Signs>| {
        let data = data_of(job, pieces, thread);
        RealFolder::new(Arc::clone(&folder), pieces, data, Arc::clone(signs))
    };
    let mut outcome = run_in(job, parameters, real, is_wanted)?;
    if outcome.facts.stuck_count > 0 {
        return Ok(outcome);
    }
    let remove = move |number| {
        // Remaining files were counted; the folder's owner removes all of it.
        drop(remove_folder(&folder, Name::of_folder(number).text()));
        Ok(())
    };
    if let Err(RunError::Silent(words)) = apart(job, count, remove, is_wanted) {
        outcome.facts.stuck_count = 1;
        outcome.facts.stopped.get_or_insert(Stopped {
            reason: "silent",
            operation: Some("delete"),
            phase: Some("deletion"),
            words,
            ..Stopped::default()
        });
    }
    Ok(outcome)
}

/// Take a `step` for each subfolder, by a thread that can be left to itself.
#[cfg(unix)]
fn apart(
    job: &Job,
    count: u32,
    step: impl Fn(u32) -> io::Result<()> + Send + 'static,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Result<(), RunError> {
    if count == 0 {
        return Ok(());
    }
    let shared = Arc::new(Shared::new(Clock::start(), 1));
    let (signs, own) = (Arc::<Signs>::default(), Arc::clone(&shared));
    let told = Arc::clone(&signs);
    let steps = move || {
        let mut numbers = (0..count).take_while(|_| !own.is_over());
        numbers.try_for_each(|number| step(number).and_then(|()| told.answered()))
    };
    let mut crew = Crew::new(Arc::clone(&shared));
    crew.employ(THREAD, &signs, steps)
        .map_err(RunError::Thread)?;
    match crew.look_after(patience(job), u64::from(count), || None, is_wanted) {
        Some(results) => results
            .into_iter()
            .collect::<io::Result<()>>()
            .map_err(RunError::Subfolder),
        None => Err(RunError::Silent(silence_in_words(None, job.silence_s))),
    }
}

/// Return a file of the run's own for the folder: it stays open for calls that outlast the run.
#[cfg(unix)]
#[allow(unsafe_code, reason = "the descriptor comes as a number from Python")]
fn own(fd: i32) -> io::Result<std::fs::File> {
    assert!(fd >= 0, "{fd} is not a file descriptor");
    // SAFETY: the caller keeps the descriptor open until the run returns.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

#[cfg(unix)]
fn data_of(job: &Job, pieces: Pieces, thread: u64) -> Data {
    let mut stream = stream::open(job.seed, DATA_KEY.wrapping_add(thread));
    Data::new(pieces.write_bytes, job.data.compressible_share, &mut stream)
}

/// Run the threads of a job, each on what `folder_of` makes for it and its signs of life.
///
/// # Errors
///
/// [`RunError`] where there are more threads than files, or than the system has.
pub fn run_in<F: Folder>(
    job: &Job,
    parameters: &Parameters,
    folder_of: impl Fn(u64, &Arc<Signs>) -> F,
    is_wanted: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    let part = |thread| {
        let part = parameters.part(thread, job.threads)?;
        Ok(Place::new(Operations::new(part, job.seed, thread)))
    };
    let places: Result<Vec<Place>, ParameterError> = (0..job.threads).map(part).collect();
    let places = places?;
    let shared = Arc::new(Shared::new(Clock::start(), places.len()));
    let mut crew = Crew::new(Arc::clone(&shared));
    for (thread, place) in places.iter().enumerate() {
        let worker = Worker {
            thread,
            folder: folder_of(thread as u64, &place.signs),
            sync: job.sync,
            stop_ns: job.stop.seconds.map(ns_of),
            shared: Arc::clone(&shared),
            place: place.clone(),
            written_count: 0,
        };
        crew.employ(THREAD, &place.signs, move || worker.run())
            .map_err(RunError::Thread)?;
    }
    // Files are created and deleted at least once each.
    let all = parameters.transactions + 2 * parameters.files;
    let ended = crew.look_after(patience(job), all, || oldest(&places), is_wanted);
    let taken = places.iter().filter_map(|place| held(&place.slot).take());
    let parts: Vec<Part> = taken.collect();
    if ended.is_none() && parts.iter().any(|part| part.is_in_phases) {
        shared.leave();
    }
    Ok(Outcome::new(parts, &shared, job.pieces(parameters)))
}

/// Return how long a run waits.
fn patience(job: &Job) -> Patience {
    Patience::new(job.silence_s, job.drain_s)
}

/// Return the operation that has been in a call for longest, and its thread.
fn oldest(places: &[Place]) -> Option<(Operation, usize)> {
    let doing = places.iter().enumerate().filter_map(|(thread, place)| {
        let (operation, since_ns) = held(&place.slot).as_ref()?.doing?;
        Some((since_ns, (operation, thread)))
    });
    doing.min_by_key(|one| one.0).map(|one| one.1)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
