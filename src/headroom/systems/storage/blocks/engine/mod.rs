//! The storage engine: carries out the requests of a workload on a real target, and measures.
//!
//! # The job
//!
//! A job is JSON. The caller opens the target, checks its safety and passes descriptors; nothing
//! here opens, creates or removes a path.
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
//! | `target` | `files`: open files or block devices, one after the other, `bytes` of each, and the `alignment` (B) that they require; or `nothing`, which answers at once, so that the engine measures itself (`bytes`: size that the workload sees); or `soft`, a device of `bytes` in memory that does what its [`script`](crate::systems::storage::soft::script::Script) says, in its own time |
//! | `interface` | `io_uring` (default), `threads`, or `auto`: a ring, and threads if the system refuses one, as the facts then report |
//! | `workload` | a table of [`requests`] |
//! | `stop` | requests stop arriving at the first of `seconds`, `requests`, `bytes`; without any at the end of the workload |
//! | `sync` | after `every` writes of a stream that succeeded, `fsync` or `fdatasync` is a request of the class `sync`; null: never |
//! | `data` | `compressible_share`, 0 to 1, of each 4 KiB |
//! | `verify` | null, or the number of the `run`, `cell_bytes` (4096) judged together, the descriptor `log_fd` of a log or null, and whether the run `reads_back` at its end whatever it has written (true): written cells hold their own location, reads are compared (see [`verify`](crate::systems::storage::verify)); requests that would meet in a cell wait for each other |
//! | `classes` | results by `kind` (read, write, sync, trim) or by `stream` of the workload (and sync) |
//! | `sample_every_s` | distance of the samples; null: none |
//! | `failure_limit` | failures in a row after which the target counts as gone (100) |
//! | `drain_s` | how long requests that arrived are still begun after the end of the load, and then how long those that began are waited for (10 s) |
//! | `silence_s` | how long nothing may end while requests are outstanding, before the target counts as gone (300 s) |
//! | `place_limit` | requests outstanding at once of a stream without a depth (256; 64 threads) |
//!
//! # What is measured
//!
//! A request with a due time arrives at that time, whatever the target does; a request without one
//! arrives when a place of its stream is free. *Response* is end minus arrival, *service* is end
//! minus begin; a stall of the target lengthens the response of all requests that it keeps waiting,
//! so nothing is omitted. The *submit error* is begin minus due time. Arrivals stop at the end of
//! the load; arrived requests are still carried out and counted, and the run ends with the last
//! end. Requests that fail are counted by class and error number and are in no histogram. With
//! `io_uring` the end of a request is the moment at which the engine sees it; requests that are
//! handed over in one system call share a begin, those that are seen together share an end.
//!
//! A request that the target never answers has no end. It is counted as outstanding, the run ends
//! without it, and its resources (memory, descriptors, the thread in its call) are left alone for
//! as long as the system may still use them.
//!
//! Invariant: at every snapshot, class by class, arrivals are completions, failures and those
//! present, and the time that they spent (`jobs_s`) is `response_s_sum` plus `lost_s_sum` plus
//! `age_s`, to the nanosecond.

pub mod backend;
pub mod buffers;
mod calls;
pub mod carrier;
mod carry;
pub mod classes;
pub mod content;
pub mod error;
pub mod job;
pub mod pattern;
mod problem;
#[cfg(target_os = "linux")]
mod ring;
pub mod target;
mod trim;

#[cfg(test)]
mod tests;

pub use error::EngineError;
pub use job::Job;

use carry::{Asked, carry};
use job::VerifyPlan;
use pattern::Pattern;
use target::Layout;

use crate::recording::clock::Usage;
use crate::recording::load::outcome;
use crate::systems::storage::soft::device::Truth;
use crate::systems::storage::verify::check::file_of;
use crate::systems::storage::verify::findings::Findings;
use crate::systems::storage::verify::read_back::READ_BYTES;
use crate::systems::storage::verify::verifier::{self, Verifier};
use crate::systems::storage::workloads::request::{Request, Source};
use crate::systems::storage::workloads::requests;

/// Requests of a stream that are looked at to find how long requests are.
const LOOK_AHEAD_COUNT: usize = 65_536;
/// Cells of a target that is verified at most: 8 B of memory each.
const CELL_LIMIT: u64 = 1 << 29;

/// What was measured in a run of requests.
pub type Outcome = outcome::Outcome<Request>;

/// A run, and how it was made.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was measured.
    pub outcome: Outcome,
    /// Operations that did only a part of their request.
    pub continued_count: u64,
    /// The workload's counts of its requests, by name.
    pub counters: Vec<(&'static str, u64)>,
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
        Some(bytes) => bytes.max(1),
        None => longest(source()?).max(1),
    };
    let mut device = job.target.soft_device()?;
    let asked = Asked {
        job: &job,
        source: first,
        piece_bytes,
    };
    let Some(plan) = job.verify else {
        let pattern = Pattern::new(job.seed, job.data.compressible_share);
        return Ok(carry(asked, pattern, device.as_mut(), is_wanted)?.0);
    };
    let verifier = verifier(plan, bytes)?;
    let (mut measured, mut verifier) = carry(asked, verifier, device.as_mut(), is_wanted)?;
    // What never answered would not answer now either.
    if plan.reads_back && measured.outcome.outstanding_count == 0 {
        let asked = Asked {
            job: &job.reading_back(),
            source: Box::new(verifier.read_back()),
            piece_bytes: READ_BYTES,
        };
        let (read_back, judged) = carry(asked, verifier, device.as_mut(), is_wanted)?;
        verifier = judged;
        measured.truth = read_back.truth;
        if measured.outcome.problem.is_none() && read_back.outcome.outstanding_count > 0 {
            measured.outcome.problem = read_back.outcome.problem;
        }
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
