//! The check after a crash: reads the target and compares it with its promises.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use serde::Deserialize;

use super::findings::Findings;
use super::history::{History, Promise};
use super::log::{self, Entry};
use super::stamp::{self, Stamp};
use crate::systems::storage::blocks::engine::EngineError;
use crate::systems::storage::blocks::engine::job::TargetPlan;
use crate::systems::storage::blocks::engine::target::Layout;
use crate::systems::storage::workloads::request::{Kind, Request};

/// The specification of a check, as Python writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckJob {
    target: TargetPlan,
    log_fd: i32,
    promise: PromiseName,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PromiseName {
    Acknowledged,
    Flushed,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The comparisons and their faults.
    pub findings: Findings,
    /// Cells with a demand.
    pub demanded_count: u64,
    /// Cells with a demand that could not be read.
    pub unreadable_count: u64,
    /// Cells with a write that came after the last entry of the log: its end was lost.
    pub newer_count: u64,
    /// Writes that were acknowledged.
    pub written_count: u64,
    /// Flushes that were acknowledged.
    pub flushed_count: u64,
}

/// Check the target of the job in `json`; `is_wanted` is asked now and then whether to continue.
///
/// # Errors
///
/// If the log cannot be read, or the check was cancelled.
pub fn check(json: &[u8], is_wanted: &mut dyn FnMut() -> bool) -> Result<Checked, EngineError> {
    let job: CheckJob = serde_json::from_slice(json)?;
    let log = file_of(job.log_fd)?;
    let (head, entries) = log::read(io::BufReader::new(&log)).map_err(|cause| {
        EngineError::system(
            "reading the log",
            cause,
            "give the log of the run to be checked",
        )
    })?;
    let promise = match job.promise {
        PromiseName::Acknowledged => Promise::Acknowledged,
        PromiseName::Flushed => Promise::Flushed,
    };
    let count = |is_one: fn(&Entry) -> bool| entries.iter().filter(|one| is_one(one)).count();
    let mut checked = Checked {
        written_count: count(|one| matches!(one, Entry::Written(_))) as u64,
        flushed_count: count(|one| matches!(one, Entry::Flushed(_))) as u64,
        ..Checked::default()
    };
    let history = History::new(head, &entries, promise);
    let reader = Reader::new(&job.target, history.cell_bytes())?;
    let mut cell = vec![0; usize::try_from(history.cell_bytes()).unwrap_or(0)];
    for (count, demand) in history.demands().enumerate() {
        if count % 4096 == 0 && !is_wanted() {
            return Err(EngineError::refused(
                "the check was cancelled",
                "check again",
            ));
        }
        let is_demanded = demand.generation > 0;
        checked.demanded_count += u64::from(is_demanded);
        match reader.read(demand.offset, &mut cell) {
            Ok(()) => match stamp::read(&cell) {
                Stamp::Whole(origin) if history.is_newer(origin, demand.offset) => {
                    checked.newer_count += 1;
                }
                found => checked.findings.compare(found, demand),
            },
            Err(_) => checked.unreadable_count += u64::from(is_demanded),
        }
    }
    Ok(checked)
}

/// Reads cells of a target.
struct Reader {
    files: Vec<File>,
    layout: Layout,
}

impl Reader {
    fn new(target: &TargetPlan, cell_bytes: u64) -> Result<Self, EngineError> {
        let TargetPlan::Files { files, .. } = target else {
            return Err(EngineError::refused(
                "only files and block devices can be checked",
                "name the target of the run",
            ));
        };
        Ok(Self {
            files: files
                .iter()
                .map(|one| file_of(one.fd))
                .collect::<Result<_, _>>()?,
            layout: Layout::new(target, u32::try_from(cell_bytes).unwrap_or(u32::MAX)),
        })
    }

    fn read(&self, offset: u64, cell: &mut [u8]) -> io::Result<()> {
        let length = u32::try_from(cell.len()).unwrap_or(u32::MAX);
        let request = Request {
            kind: Kind::Read,
            offset,
            length,
            due_ns: None,
        };
        let mut done = 0;
        while done < length {
            let piece = self.layout.operation(&request, done);
            let part = &mut cell[done as usize..(done + piece.length) as usize];
            self.files[piece.file as usize].read_exact_at(part, piece.offset)?;
            done += piece.length;
        }
        Ok(())
    }
}

/// Return a separate file for a descriptor that the caller keeps.
///
/// # Errors
///
/// If it is not the descriptor of an open file.
#[allow(unsafe_code, reason = "a descriptor that the caller hands over")]
pub fn file_of(descriptor: i32) -> Result<File, EngineError> {
    if descriptor < 0 {
        return Err(EngineError::refused(
            "a file descriptor must be 0 or more",
            "open the file first",
        ));
    }
    // SAFETY: the caller keeps the descriptor open during the call; it is copied here.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let owned = borrowed.try_clone_to_owned().map_err(|cause| {
        EngineError::system("using a file descriptor", cause, "open the file first")
    })?;
    Ok(File::from(owned))
}
