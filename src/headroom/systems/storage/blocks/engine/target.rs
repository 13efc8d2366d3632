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

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Kind = Kind::Read;

    /// Return file, offset, length and place in the buffer of the part that follows `done`.
    fn part(layout: &Layout, kind: Kind, offset: u64, length: u32, done: u32) -> [u64; 4] {
        let request = Request {
            kind,
            offset,
            length,
            due_ns: None,
        };
        let part = layout.operation(&request, done);
        let [file, length, at] = [part.file, part.length, part.at].map(u64::from);
        [file, part.offset, length, at]
    }

    /// Files of 100, 50 and 200 bytes, and operations of at most 64 bytes.
    #[test]
    fn a_request_is_split_at_the_ends_of_files_and_of_buffers() {
        let files = [100, 50, 200].map(|bytes| FilePlan { fd: 0, bytes });
        let mut layout = Layout {
            starts: starts_of(&files),
            piece_bytes: 64,
        };
        assert_eq!((layout.bytes(), layout.file_count()), (350, 3));
        assert_eq!(part(&layout, READ, 90, 40, 0), [0, 90, 10, 0]);
        assert_eq!(part(&layout, READ, 90, 40, 10), [1, 0, 30, 10]);
        assert_eq!(part(&layout, READ, 100, 200, 0), [1, 0, 50, 0]);
        // What is longer than a buffer uses each part of it from its start.
        assert_eq!(part(&layout, READ, 100, 200, 50), [2, 0, 64, 0]);
        assert_eq!(part(&layout, Kind::Trim, 100, 200, 50), [2, 0, 150, 0]);
        // The file itself answers what lies beyond the end of the target.
        assert_eq!(part(&layout, READ, 340, 20, 0), [2, 190, 10, 0]);
        assert_eq!(part(&layout, READ, 340, 20, 10), [2, 200, 10, 10]);
        assert_eq!(part(&layout, Kind::Sync, 0, 0, 2), [2, 0, 0, 0]);
        layout.starts = vec![0, 100];
        assert_eq!(part(&layout, READ, 36, 64, 0), [0, 36, 64, 0]);
        assert_eq!(part(&layout, READ, 37, 64, 0), [0, 37, 63, 0]);
        assert_eq!(part(&layout, READ, 36, 64, 60), [0, 96, 4, 60]);
        assert_eq!(part(&layout, READ, 0, 80, 0), [0, 0, 64, 0]);
    }
}
