//! The measuring engine: carries the requests of a workload out on a real target, and counts.
//!
//! # The job
//!
//! A job is JSON. The caller opens the target, which is where safety is decided, and hands
//! descriptors over; nothing here opens, creates or removes a path.
//!
//! ```json
//! {"seed": 1,
//!  "target": {"kind": "files", "files": [{"fd": 7, "bytes": 1073741824}], "alignment": 512},
//!  "interface": "io_uring",
//!  "workload": {"kind": "micro", "depth": 32, "block_bytes": 4096, "read_share": 0.7},
//!  "stop": {"seconds": 10.0, "requests": null, "bytes": null},
//!  "sync": {"every": 64, "kind": "fdatasync"},
//!  "data": {"compressible_share": 0.5},
//!  "classes": "kind",
//!  "sample_every_s": 0.5}
//! ```
//!
//! | key | meaning |
//! | --- | --- |
//! | `seed` | of the requests and of the data |
//! | `target` | `files`: open files or block devices, one after the other, `bytes` of each, and the `alignment` (B) that they ask for; or `nothing`, which answers at once, so that the engine measures itself (`bytes`: size that the workload sees); or `soft`, a device of `bytes` in memory that does what its [`script`](super::soft::script::Script) says, in time of its own |
//! | `interface` | `io_uring` (default) or `threads` |
//! | `workload` | a table of [`requests`] |
//! | `stop` | requests stop arriving at the first of `seconds`, `requests`, `bytes`; without any at the end of the workload |
//! | `sync` | after `every` writes of a stream that succeeded, `fsync` or `fdatasync` is a request of the class `sync`; null: never |
//! | `data` | `compressible_share`, 0 to 1, of each 4 KiB |
//! | `verify` | null, or the number of the `run`, `cell_bytes` (4096) that are judged together, the descriptor `log_fd` of a log or null, and whether the run `reads_back` at its end whatever it has written (true): written cells tell where they belong, reads are compared (see [`verify`](super::verify)); requests that would meet in a cell wait for each other |
//! | `classes` | results by `kind` (read, write, sync, trim) or by `stream` of the workload (and sync) |
//! | `sample_every_s` | distance of the samples; null: none |
//! | `failure_limit` | failures in a row after which the target counts as gone (100) |
//! | `drain_s` | how long requests that arrived are still begun after the end of the load, and then how long those that began are waited for (10 s) |
//! | `place_limit` | requests outstanding at once of a stream without a depth (256; 64 threads) |
//!
//! # What is measured
//!
//! A request with a due time arrives then, whatever the target does; one without arrives when a
//! place of its stream is free. *Response* is end minus arrival, *service* is end minus begin;
//! a stall of the target lengthens the response of all requests that it keeps waiting, so nothing
//! is omitted. The *submit error* is begin minus due time. Arrivals stop at the end of the load;
//! what has arrived is still carried out and counted, and the run ends with the last end.
//! Requests that fail are counted by class and error number and are in no histogram. With
//! `io_uring` the end of a request is the moment at which the engine sees it; requests that are
//! handed over in one system call share a begin, those that are seen together share an end.
//!
//! Invariant: at every snapshot, class by class, arrivals are completions, failures and those
//! present, and the time that they spent (`jobs_s`) is `response_s_sum` plus `lost_s_sum` plus
//! `age_s`, to the nanosecond.

pub mod backend;
pub mod buffers;
mod calls;
pub mod classes;
mod clock;
pub mod content;
pub mod drive;
pub mod error;
pub mod failures;
pub mod job;
pub mod load;
pub mod outcome;
pub mod pattern;
pub mod record;
#[cfg(target_os = "linux")]
mod ring;
pub mod tally;
pub mod target;
mod workers;

#[cfg(test)]
mod tests;

pub use clock::Usage;
pub use error::EngineError;
pub use job::Job;
pub use outcome::Outcome;

use buffers::Buffers;
use calls::Calls;
use clock::Clock;
use content::Content;
use drive::Drive;
use job::{Interface, TargetPlan, VerifyPlan};
use load::{Load, StopReason, ns_of};
use pattern::Pattern;
use record::Record;
use target::Layout;
use workers::{Shared, WORKER_LIMIT, Workers};

use super::request::Source;
use super::requests;
use super::soft::backend::SoftBackend;
use super::soft::device::{SoftDevice, Truth};
use super::verify::check::file_of;
use super::verify::findings::Findings;
use super::verify::read_back::READ_BYTES;
use super::verify::verifier::{self, Verifier};

/// Requests of a stream that are looked at to find how long requests are.
const LOOK_AHEAD_COUNT: usize = 65_536;
/// Cells of a target that is verified at most: 8 B of memory each.
const CELL_LIMIT: u64 = 1 << 29;

/// A run, and how it was made.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was measured.
    pub outcome: Outcome,
    /// What the process used from the start to the end of the run.
    pub usage: Usage,
    /// System calls made by the engine.
    pub call_count: u64,
    /// How requests were handed to the system, and what was chosen for that.
    pub facts: Vec<(&'static str, String)>,
    /// What was read and was not what had been written, in a run that verifies.
    pub findings: Option<Findings>,
    /// What a soft device has done on purpose.
    pub truth: Option<Truth>,
}

/// Run the job in `json`; `is_wanted` is asked now and then whether to go on.
///
/// # Errors
///
/// Where the job cannot be run. A target that fails is no error: the outcome says so.
pub fn run(json: &[u8], is_wanted: &mut dyn FnMut() -> bool) -> Result<Measured, EngineError> {
    let job = Job::read(json)?;
    let bytes = Layout::new(&job.target, 1).bytes();
    let source = || requests::source(&job.workload, job.seed, bytes);
    let first = source()?;
    let piece_bytes = match first.length_max() {
        Some(bytes) => bytes,
        None => longest(source()?),
    };
    let mut device = job.target.soft_device()?;
    let Some(plan) = job.verify else {
        let mut pattern = Pattern::new(job.seed, job.data.compressible_share);
        let content: &mut dyn Content = &mut pattern;
        return run_source(
            &job,
            first,
            piece_bytes,
            content,
            device.as_mut(),
            is_wanted,
        );
    };
    let mut verifier = verifier(plan, bytes)?;
    let content: &mut dyn Content = &mut verifier;
    let mut measured = run_source(
        &job,
        first,
        piece_bytes,
        content,
        device.as_mut(),
        is_wanted,
    )?;
    if plan.reads_back {
        let read_back = run_source(
            &job.reading_back(),
            Box::new(verifier.read_back()),
            READ_BYTES,
            &mut verifier,
            device.as_mut(),
            is_wanted,
        )?;
        measured.truth = read_back.truth;
    }
    if let Some(error) = verifier.log_error() {
        measured.outcome.problem = Some(format!("the log could not be kept: {error}"));
    }
    measured.findings = Some(verifier.findings().clone());
    Ok(measured)
}

fn verifier(plan: VerifyPlan, target_bytes: u64) -> Result<Verifier, EngineError> {
    if target_bytes / plan.cell_bytes > CELL_LIMIT {
        return Err(EngineError::refused(
            format!(
                "a target of {target_bytes} B has too many cells of {} B",
                plan.cell_bytes
            ),
            "choose larger cells, or a part of the target",
        ));
    }
    let log = plan.log_fd.map(file_of).transpose()?;
    let plan = verifier::Plan {
        run: plan.run,
        cell_bytes: plan.cell_bytes,
        target_bytes,
    };
    Verifier::new(plan, log).map_err(|cause| {
        EngineError::system("writing the log", cause, "choose a log that can be written")
    })
}

/// Return the greatest length (B) of the first requests of `source`, which is used up by that.
fn longest(mut source: Box<dyn Source>) -> u32 {
    let stream_count = source.streams().len();
    let lengths = (0..stream_count).filter_map(|stream| {
        let mut asked = std::iter::from_fn(|| source.next(stream));
        asked
            .by_ref()
            .take(LOOK_AHEAD_COUNT)
            .map(|one| one.length)
            .max()
    });
    lengths.max().unwrap_or(1)
}

/// Run `job` with the requests of `source`; those longer than `piece_bytes` are carried out in pieces.
///
/// # Errors
///
/// As [`run`].
pub fn run_source(
    job: &Job,
    source: Box<dyn Source>,
    piece_bytes: u32,
    content: &mut dyn Content,
    device: Option<&mut SoftDevice>,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Measured, EngineError> {
    let piece_bytes = piece_bytes.max(1);
    let place_count = places(job, source.as_ref());
    let layout = Layout::new(&job.target, piece_bytes);
    let is_nothing = matches!(job.target, TargetPlan::Nothing { .. });
    let mut buffers = Buffers::new(place_count, if is_nothing { 1 } else { piece_bytes })?;
    Pattern::new(job.seed, job.data.compressible_share).fill(buffers.all());
    let files: Vec<i32> = match &job.target {
        TargetPlan::Files { files, .. } => files.iter().map(|file| file.fd).collect(),
        TargetPlan::Nothing { .. } | TargetPlan::Soft { .. } => Vec::new(),
    };
    let parts = Parts {
        load: Load::new(job, source, layout, place_count),
        record: Record::new(job.sample_every_s.map(ns_of)),
        content,
        drain_ns: ns_of(job.drain_s),
    };
    if let Some(device) = device {
        return parts.run_soft(job, device, &mut buffers, is_wanted);
    }
    match job.interface {
        #[cfg(target_os = "linux")]
        Interface::IoUring => parts.run_ring(job, &files, buffers, is_wanted),
        #[cfg(not(target_os = "linux"))]
        Interface::IoUring => Err(EngineError::refused(
            "io_uring is an interface of Linux",
            "use the interface threads",
        )),
        Interface::Threads => Ok(parts.run_threads(job, &files, &buffers, is_wanted)),
    }
}

/// What both interfaces need.
struct Parts<'a> {
    load: Load,
    record: Record,
    content: &'a mut dyn Content,
    drain_ns: u64,
}

impl Parts<'_> {
    #[cfg(target_os = "linux")]
    fn run_ring(
        self,
        job: &Job,
        files: &[i32],
        mut buffers: Buffers,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Measured, EngineError> {
        let place_count = u32::try_from(self.load.place_count()).unwrap_or(u32::MAX);
        let mut ring = ring::Ring::new(place_count, files, &buffers)?;
        let mut backend = ring::RingBackend::new(&mut ring, files, &mut buffers);
        let mut drive = Drive {
            load: self.load,
            record: self.record,
            content: self.content,
            drain_ns: self.drain_ns,
            is_wanted,
        };
        let before = Usage::now();
        backend.start();
        let end_ns = drive.run(&mut backend)?;
        let usage = Usage::now().since(&before);
        let mut facts = vec![("interface", job.interface.name().to_owned())];
        let chosen = backend.facts();
        facts.push(("ring_flags", chosen.flags.to_owned()));
        facts.push(("registered_files", chosen.has_registered_files.to_string()));
        facts.push((
            "registered_buffers",
            chosen.has_registered_buffers.to_string(),
        ));
        facts.push(("registered_ring", chosen.has_registered_ring.to_string()));
        let call_count = backend::Backend::call_count(&backend);
        drop(backend);
        if drive.load.outstanding_count() > 0 {
            // The system may still write into the buffers: they are never given back.
            std::mem::forget(buffers);
        }
        Ok(Measured {
            outcome: outcome(job, &drive.load, drive.record, end_ns),
            usage,
            call_count,
            facts,
            findings: None,
            truth: None,
        })
    }

    fn run_soft(
        self,
        job: &Job,
        device: &mut SoftDevice,
        buffers: &mut Buffers,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Measured, EngineError> {
        let mut backend = SoftBackend::new(device, buffers);
        let mut drive = Drive {
            load: self.load,
            record: self.record,
            content: self.content,
            drain_ns: self.drain_ns,
            is_wanted,
        };
        let before = Usage::now();
        let end_ns = drive.run(&mut backend)?;
        let usage = Usage::now().since(&before);
        Ok(Measured {
            outcome: outcome(job, &drive.load, drive.record, end_ns),
            usage,
            call_count: 0,
            facts: vec![("interface", "soft".to_owned())],
            findings: None,
            truth: Some(device.truth()),
        })
    }

    fn run_threads(
        self,
        job: &Job,
        files: &[i32],
        buffers: &Buffers,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Measured {
        let worker_count = self.load.place_count();
        let shared = Shared {
            load: self.load,
            record: self.record,
            content: self.content,
            drain_ns: self.drain_ns,
            has_timekeeper: false,
            idle_count: 0,
            call_count: 0,
            end_ns: 0,
            clock: Clock::start(),
        };
        let before = Usage::now();
        let calls = Calls { files, buffers };
        let shared = Workers::new(shared, calls).run(is_wanted);
        let usage = Usage::now().since(&before);
        let facts = vec![
            ("interface", job.interface.name().to_owned()),
            ("threads", worker_count.to_string()),
        ];
        Measured {
            outcome: outcome(job, &shared.load, shared.record, shared.end_ns),
            usage,
            call_count: shared.call_count,
            facts,
            findings: None,
            truth: None,
        }
    }
}

/// Return how many requests of `source` may be outstanding at once.
fn places(job: &Job, source: &dyn Source) -> u32 {
    let (limit, unlimited) = match job.interface {
        Interface::IoUring => (32_768, job.place_limit),
        Interface::Threads => (WORKER_LIMIT, job.place_limit.min(64)),
    };
    let depth = |depth: u32| if depth == u32::MAX { unlimited } else { depth };
    let sum: u64 = source
        .streams()
        .iter()
        .map(|one| u64::from(depth(one.depth)))
        .sum();
    u32::try_from(sum).unwrap_or(limit).clamp(1, limit)
}

fn outcome(job: &Job, load: &Load, record: Record, end_ns: u64) -> Outcome {
    Outcome::new(load, record, end_ns, problem(job, load))
}

/// Return what a person has to know of what went wrong.
fn problem(job: &Job, load: &Load) -> Option<String> {
    if let Some(text) = misaligned(job, load) {
        return Some(text);
    }
    if load.outstanding_count() > 0 {
        return Some(format!(
            "the target did not answer: {} requests had no end when the run ended",
            load.outstanding_count()
        ));
    }
    if let Some(fault) = load.source_fault() {
        return Some(format!(
            "the workload ended too early: {fault}; {}",
            fault.cure
        ));
    }
    match load.stopped()?.0 {
        StopReason::TargetFailed => {
            let last = load.failures().all().last()?;
            let error = std::io::Error::from_raw_os_error(last.errno);
            Some(format!(
                "the target failed: {} requests in a row, the last kind of error was: {error}",
                load.failures().in_a_row()
            ))
        }
        StopReason::Overload => Some(format!(
            "the target cannot follow the load: {} requests were due and not begun",
            load.waiting_count()
        )),
        _ => None,
    }
}

/// Return what was refused because it is no multiple of what the target can do.
fn misaligned(job: &Job, load: &Load) -> Option<String> {
    let TargetPlan::Files { alignment, .. } = job.target else {
        return None;
    };
    let refused = load
        .failures()
        .all()
        .iter()
        .find(|one| one.errno == libc::EINVAL)?;
    let (offset, length) = (refused.first_offset, refused.first_length);
    let multiple = u64::from(alignment.max(1));
    let is_odd = offset % multiple != 0 || u64::from(length) % multiple != 0;
    is_odd.then(|| {
        format!(
            "the target takes multiples of {alignment} B only and refused {length} B at offset \
             {offset} B: choose a block size that is a multiple, or open it without O_DIRECT"
        )
    })
}
