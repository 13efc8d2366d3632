//! The last pass of a verifying run: reads back everything that was written.

use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

/// Maximum bytes (B) of a read.
pub const READ_BYTES: u32 = 128 << 10;

/// Reads of given extents, one after the other.
#[derive(Debug)]
pub struct ReadBack {
    streams: [Stream; 1],
    extents: std::vec::IntoIter<(u64, u64)>,
    /// The rest of the extent that is read: offset and length (B).
    rest: (u64, u64),
}

impl ReadBack {
    /// Return reads of `extents`, each an offset and a length (B).
    pub fn new(extents: Vec<(u64, u64)>) -> Self {
        let stream = Stream {
            name: "read back".to_owned(),
            depth: 8,
        };
        Self {
            streams: [stream],
            extents: extents.into_iter(),
            rest: (0, 0),
        }
    }
}

impl Source for ReadBack {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, _stream: usize) -> Option<Request> {
        if self.rest.1 == 0 {
            self.rest = self.extents.next()?;
        }
        let (offset, left) = self.rest;
        let length = u32::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
        self.rest = (offset + u64::from(length), left - u64::from(length));
        Some(Request {
            kind: Kind::Read,
            offset,
            length,
            due_ns: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_once() {
        let mut source = ReadBack::new(vec![(512, 512), (1 << 20, (256 << 10) + 512)]);
        let reads: Vec<(u64, u32)> = std::iter::from_fn(|| source.next(0))
            .map(|one| (one.offset, one.length))
            .collect();
        let full = 128 << 10;
        let begin = 1 << 20;
        let expected = [
            (512, 512),
            (begin, full),
            (begin + (128 << 10), full),
            (begin + (256 << 10), 512),
        ];
        assert_eq!(reads, expected);
    }
}
