//! The log of a verifying run: requests to a target and its acknowledgements, kept elsewhere.
//!
//! A record is written before a write or a flush begins and after it was acknowledged. Whatever the
//! target loses afterwards, the log knows its promises. It must be on a different device, or on a
//! different machine, than the target that may lose its power.
//!
//! Bytes of a record, and how the end is found: `docs/background/formats.md`.

use std::io::{self, Read, Write};

/// Bytes of a record.
const RECORD_BYTES: usize = 40;
/// The first eight bytes of a log.
const MAGIC: u64 = u64::from_le_bytes(*b"hr-log-1");

/// The log's facts about the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the run.
    pub run: u64,
    /// Bytes of a cell.
    pub cell_bytes: u64,
    /// Bytes of the target.
    pub target_bytes: u64,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A write is about to begin.
    Write(Extent),
    /// A write was acknowledged.
    Written(Extent),
    /// Another operation on these bytes is about to begin: their content is unknown from now on.
    Unknown(Extent),
    /// A flush is about to begin: it covers all writes acknowledged before.
    Flush(u64),
    /// The flush of that number was acknowledged.
    Flushed(u64),
}

/// Cells that one write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte (B).
    pub offset: u64,
    /// Length (B).
    pub length: u64,
    /// Number of the write within the run.
    pub generation: u64,
}

/// Writes a log.
#[derive(Debug)]
pub struct LogWriter<W: Write> {
    to: W,
}

impl<W: Write> LogWriter<W> {
    /// Begin a log.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn begin(mut to: W, head: Head) -> io::Result<Self> {
        let words = [MAGIC, head.run, head.cell_bytes, head.target_bytes];
        to.write_all(&record(words))?;
        Ok(Self { to })
    }

    /// Append an entry and hand it to the system.
    ///
    /// # Errors
    ///
    /// If it cannot be written: then no request may be sent to the target.
    pub fn append(&mut self, entry: Entry) -> io::Result<()> {
        let words = match entry {
            Entry::Write(extent) => [1, extent.offset, extent.length, extent.generation],
            Entry::Written(extent) => [2, extent.offset, extent.length, extent.generation],
            Entry::Unknown(extent) => [5, extent.offset, extent.length, extent.generation],
            Entry::Flush(number) => [3, 0, 0, number],
            Entry::Flushed(number) => [4, 0, 0, number],
        };
        self.to.write_all(&record(words))
    }
}

fn record(words: [u64; 4]) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    let checksum = u64::from(crc32c::crc32c(&bytes[..32]));
    bytes[32..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Read a log up to its last whole record.
///
/// # Errors
///
/// If it cannot be read or is not a log.
pub fn read(mut from: impl Read) -> io::Result<(Head, Vec<Entry>)> {
    let Some([MAGIC, run, cell_bytes, target_bytes]) = next(&mut from)? else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "this is not the log of a verifying run: its first record is missing",
        ));
    };
    let head = Head {
        run,
        cell_bytes,
        target_bytes,
    };
    let mut entries = Vec::new();
    while let Some(words) = next(&mut from)? {
        let Some(entry) = entry(words) else { break };
        entries.push(entry);
    }
    Ok((head, entries))
}

fn next(from: &mut impl Read) -> io::Result<Option<[u64; 4]>> {
    let mut bytes = [0; RECORD_BYTES];
    let mut filled = 0;
    while filled < RECORD_BYTES {
        match from.read(&mut bytes[filled..]) {
            Ok(0) => return Ok(None),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut words = [0; 5];
    for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(from.try_into().unwrap_or_default());
    }
    let [a, b, c, d, checksum] = words;
    let is_whole = checksum == u64::from(crc32c::crc32c(&bytes[..32]));
    Ok(is_whole.then_some([a, b, c, d]))
}

const fn entry([what, offset, length, generation]: [u64; 4]) -> Option<Entry> {
    let extent = Extent {
        offset,
        length,
        generation,
    };
    Some(match what {
        1 => Entry::Write(extent),
        2 => Entry::Written(extent),
        3 => Entry::Flush(generation),
        4 => Entry::Flushed(generation),
        5 => Entry::Unknown(extent),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: Head = Head {
        run: 7,
        cell_bytes: 512,
        target_bytes: 4096,
    };

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let extent =
            (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(offset, length, g)| Extent {
                offset,
                length,
                generation: g,
            });
        let one = prop_oneof![
            extent.clone().prop_map(Entry::Write),
            extent.clone().prop_map(Entry::Written),
            extent.prop_map(Entry::Unknown),
            any::<u64>().prop_map(Entry::Flush),
            any::<u64>().prop_map(Entry::Flushed),
        ];
        proptest::collection::vec(one, 0..20)
    }

    fn written(entries: &[Entry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut log = LogWriter::begin(&mut bytes, HEAD).expect("memory takes everything");
        for &entry in entries {
            log.append(entry).expect("memory takes everything");
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(entries in entries()) {
            let (head, found) = read(written(&entries).as_slice()).expect("a log");
            prop_assert_eq!(head, HEAD);
            prop_assert_eq!(found, entries);
        }

        #[test]
        fn a_log_that_was_cut_off_ends_with_its_last_whole_record(
            entries in entries(), cut in 0_usize..800,
        ) {
            let bytes = written(&entries);
            let cut = cut.min(bytes.len() - RECORD_BYTES) + RECORD_BYTES;
            let (_, found) = read(&bytes[..cut]).expect("a log");
            prop_assert_eq!(&found[..], &entries[..cut / RECORD_BYTES - 1]);
        }
    }

    #[test]
    fn anything_else_is_no_log() {
        assert!(read([0_u8; 80].as_slice()).is_err());
        assert!(read([].as_slice()).is_err());
    }
}
