//! Locates a byte of the target: the target is its files, one after the other.

use super::backend::Operation;
use super::job::{FilePlan, TargetPlan};
use crate::systems::storage::workloads::request::{Kind, Request};

/// The files of a target, by their start.
#[derive(Clone, Debug)]
pub struct Layout {
    /// First byte of each file; then the end of the target.
    starts: Vec<u64>,
    /// Maximum bytes of one operation.
    piece_bytes: u32,
}

impl Layout {
    /// Return the layout of `plan`, with at most `piece_bytes` per operation.
    pub fn new(plan: &TargetPlan, piece_bytes: u32) -> Self {
        let starts = match plan {
            TargetPlan::Nothing { bytes } | TargetPlan::Soft { bytes, .. } => vec![0, *bytes],
            TargetPlan::Files { files, .. } => starts_of(files),
        };
        Self {
            starts,
            piece_bytes,
        }
    }

    /// Return the size (B) of the target.
    pub fn bytes(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Return the number of files.
    pub fn file_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Return the next operation of `request`, of which `done` bytes (files, for a sync) are done.
    #[inline]
    pub fn operation(&self, request: &Request, done: u32) -> Operation {
        let is_whole = self.starts.len() == 2 && done == 0 && request.length <= self.piece_bytes;
        if is_whole && request.offset + u64::from(request.length) <= self.starts[1] {
            return Operation {
                kind: request.kind,
                file: 0,
                offset: request.offset,
                length: request.length,
                at: 0,
            };
        }
        self.part(request, done)
    }

    /// Return the sync of the next file, or the remainder of `request` up to the end of a file or
    /// of a buffer. Out of line, so that [`Layout::operation`] is small enough to be inlined.
    #[inline(never)]
    fn part(&self, request: &Request, done: u32) -> Operation {
        if matches!(request.kind, Kind::Sync | Kind::DataSync) {
            return Operation {
                kind: request.kind,
                file: done,
                offset: 0,
                length: 0,
                at: 0,
            };
        }
        let from = request.offset + u64::from(done);
        let file = self.file_of(from);
        let left = (request.length - done).min(self.limit(request.kind));
        let room = self.starts[file + 1].saturating_sub(from);
        Operation {
            kind: request.kind,
            file: u32::try_from(file).unwrap_or(u32::MAX),
            offset: from - self.starts[file],
            // Beyond the end of the target the file itself has to answer.
            length: if room == 0 {
                left
            } else {
                left.min(u32::try_from(room).unwrap_or(left))
            },
            at: if self.piece_bytes >= request.length {
                done
            } else {
                0
            },
        }
    }

    fn limit(&self, kind: Kind) -> u32 {
        if kind == Kind::Trim {
            u32::MAX
        } else {
            self.piece_bytes
        }
    }

    #[inline]
    fn file_of(&self, offset: u64) -> usize {
        if self.starts.len() == 2 {
            return 0;
        }
        let after = self.starts.partition_point(|&start| start <= offset);
        after.clamp(1, self.file_count()) - 1
    }
}

fn starts_of(files: &[FilePlan]) -> Vec<u64> {
    let mut starts = vec![0];
    let mut end = 0;
    for file in files {
        end += file.bytes;
        starts.push(end);
    }
    starts
}
