//! A trace as a stream of chunks, each checked before its words are looked at.

use std::collections::BTreeMap;
use std::io::Read;

use super::format::{
    CHUNK_END, CHUNK_HEAD_BYTES, CHUNK_MAGIC, CHUNK_MAPS, CHUNK_WORDS, END_WORDS, HEAD_BYTES,
    MOST_MAPS_WORDS, MOST_WORDS, TRACE_BYTE_ORDER, TRACE_MAGIC, TRACE_VERSION,
};
use super::reader::TraceError;

const WORD_BYTES: usize = 8;
/// Words of chunks that are kept for the next ones.
const MOST_SPARE: usize = 64;

/// Events of one thread.
#[derive(Debug)]
pub struct Chunk {
    /// The thread.
    pub thread: u32,
    /// Byte of the trace at which its words start.
    pub offset: u64,
    /// Its words, at least one.
    pub words: Vec<u64>,
}

impl Chunk {
    /// Return an error at a word.
    pub fn wrong(&self, word: usize, reason: String) -> TraceError {
        TraceError::Wrong {
            offset: self.offset + (word * WORD_BYTES) as u64,
            reason,
        }
    }
}

/// Totals that the last chunk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Numbers of threads that were given.
    pub threads: u64,
    /// Stamps that were taken.
    pub stamps: u64,
    /// Words that the runtime dropped in signal handlers.
    pub lost_words: u64,
    /// How much of the run was recorded.
    pub share: Share,
}

/// Processor time in which the hooks saw accesses, and in which they did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Processor time (ns) of the threads in the region.
    pub spent_ns: u64,
    /// The part of it without accesses.
    pub unseen_ns: u64,
    /// Processor time (ns) of other processes that the program waited for.
    pub children_ns: u64,
    /// Times that the program forked.
    pub forks: u64,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    chunks: u64,
    entries: u64,
}

struct Head {
    kind: u32,
    thread: u32,
    words: u32,
    sequence: u64,
    entries: u64,
}

/// A trace that is being read.
pub struct Chunks<R> {
    input: R,
    offset: u64,
    count: u64,
    threads: BTreeMap<u32, Progress>,
    bytes: Vec<u8>,
    spare: Vec<Vec<u64>>,
    /// The last text that says where code is.
    pub maps: String,
    /// The last chunk, once it was read.
    pub end: Option<End>,
    /// Why the trace ends without its last chunk.
    pub cut: Option<String>,
}

impl<R: Read> Chunks<R> {
    /// Read the head of a trace.
    ///
    /// # Errors
    ///
    /// It is not a trace, or one of another version.
    pub fn open(input: R) -> Result<Self, TraceError> {
        let mut chunks = Self {
            input,
            offset: 0,
            count: 0,
            threads: BTreeMap::new(),
            bytes: Vec::new(),
            spare: Vec::new(),
            maps: String::new(),
            end: None,
            cut: None,
        };
        let length = chunks.fill(HEAD_BYTES)?;
        if length == 0 {
            return Err(TraceError::Empty);
        }
        chunks.check_head(length)?;
        chunks.offset = HEAD_BYTES as u64;
        Ok(chunks)
    }

    fn check_head(&self, length: usize) -> Result<(), TraceError> {
        if !self.bytes[..length].starts_with(TRACE_MAGIC) || length < HEAD_BYTES {
            return Err(wrong(0, "this is not a trace of hooked accesses"));
        }
        let (version, order) = (self.half(8), self.half(12));
        if order == TRACE_BYTE_ORDER.swap_bytes() {
            return Err(wrong(12, "the trace is of a big-endian machine"));
        }
        if version != TRACE_VERSION || order != TRACE_BYTE_ORDER {
            let reason = format!(
                "the trace has version {version}, but this reads {TRACE_VERSION}: link the program \
                 again with the runtime of this Headroom, and record it again"
            );
            return Err(wrong(8, reason));
        }
        Ok(())
    }

    /// Return the next chunk with events; None at the end, where `end` or `cut` is set.
    ///
    /// # Errors
    ///
    /// The trace is damaged, or cannot be read.
    pub fn next(&mut self) -> Result<Option<Chunk>, TraceError> {
        loop {
            if self.end.is_some() || self.cut.is_some() {
                return Ok(None);
            }
            let Some(head) = self.head()? else {
                return Ok(None);
            };
            let start = self.offset + CHUNK_HEAD_BYTES as u64;
            let length = head.words as usize * WORD_BYTES;
            let read = self.fill(length)?;
            if read < length {
                let of = if head.kind == CHUNK_WORDS {
                    format!(" of thread {}", head.thread)
                } else {
                    String::new()
                };
                self.cut = Some(format!(
                    "it ends at byte {}, within a chunk{of}: {read} of its {length} bytes are there",
                    start + read as u64
                ));
                return Ok(None);
            }
            let chunk_start = self.offset;
            self.offset = start + length as u64;
            match head.kind {
                CHUNK_WORDS => {
                    self.follows(&head, chunk_start)?;
                    let words = self.words();
                    self.count += 1;
                    return Ok(Some(Chunk {
                        thread: head.thread,
                        offset: start,
                        words,
                    }));
                }
                CHUNK_MAPS => self.maps = String::from_utf8_lossy(&self.bytes).into_owned(),
                _ => self.finish(start)?,
            }
            self.count += 1;
        }
    }

    /// Keep the memory of a chunk for a later one.
    pub fn recycle(&mut self, words: Vec<u64>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(words);
        }
    }

    /// Return the entries of functions of all threads, as far as their chunks have come.
    pub fn entries(&self) -> u64 {
        self.threads
            .values()
            .map(|progress| progress.entries)
            .fold(0, u64::wrapping_add)
    }

    fn head(&mut self) -> Result<Option<Head>, TraceError> {
        let read = self.fill(CHUNK_HEAD_BYTES)?;
        if read < CHUNK_HEAD_BYTES {
            let end = self.offset + read as u64;
            self.cut = Some(format!("it ends at byte {end}, without its last chunk"));
            return Ok(None);
        }
        let head = Head {
            kind: self.half(4),
            thread: self.half(8),
            words: self.half(12),
            sequence: self.whole(16),
            entries: self.whole(24),
        };
        let magic = self.half(0);
        if magic != CHUNK_MAGIC {
            let reason =
                format!("a chunk starts with {magic:#010x} instead of {CHUNK_MAGIC:#010x}");
            return Err(wrong(self.offset, reason));
        }
        let (least, most) = match head.kind {
            CHUNK_WORDS => (1, MOST_WORDS),
            CHUNK_MAPS => (0, MOST_MAPS_WORDS),
            CHUNK_END => (END_WORDS, END_WORDS),
            kind => {
                return Err(wrong(
                    self.offset + 4,
                    format!("no chunk has the kind {kind}"),
                ));
            }
        };
        if !(least..=most).contains(&head.words) {
            let words = head.words;
            let reason = format!("a chunk has {words} words, but {least} to {most} are possible");
            return Err(wrong(self.offset + 12, reason));
        }
        Ok(Some(head))
    }

    /// Check that a chunk is the next one of its thread.
    fn follows(&mut self, head: &Head, start: u64) -> Result<(), TraceError> {
        let progress = self.threads.entry(head.thread).or_default();
        if head.sequence != progress.chunks {
            let reason = format!(
                "chunk {} of thread {} comes where chunk {} should be",
                head.sequence, head.thread, progress.chunks
            );
            return Err(wrong(start + 16, reason));
        }
        progress.chunks += 1;
        progress.entries = head.entries;
        Ok(())
    }

    fn finish(&mut self, start: u64) -> Result<(), TraceError> {
        let chunks = self.whole(16);
        if chunks != self.count {
            let reason = format!(
                "the trace should have {chunks} chunks, but has {}",
                self.count
            );
            return Err(wrong(start + 16, reason));
        }
        self.end = Some(End {
            threads: self.whole(0),
            stamps: self.whole(8),
            lost_words: self.whole(24),
            share: Share {
                spent_ns: self.whole(32),
                unseen_ns: self.whole(40),
                children_ns: self.whole(48),
                forks: self.whole(56),
            },
        });
        if self.fill(1)? > 0 {
            return Err(wrong(
                self.offset,
                "the trace continues after its last chunk",
            ));
        }
        Ok(())
    }

    /// Read bytes, fewer if the input ends; return how many.
    fn fill(&mut self, length: usize) -> Result<usize, TraceError> {
        self.bytes.clear();
        let mut part = (&mut self.input).take(length as u64);
        part.read_to_end(&mut self.bytes)
            .map_err(|error| wrong(self.offset, format!("the trace cannot be read: {error}")))
    }

    fn words(&mut self) -> Vec<u64> {
        let mut words = self.spare.pop().unwrap_or_default();
        words.clear();
        let (bytes, _) = self.bytes.as_chunks::<WORD_BYTES>();
        words.extend(bytes.iter().map(|word| u64::from_le_bytes(*word)));
        words
    }

    fn half(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    fn whole(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_le_bytes(bytes)
    }
}

fn wrong(offset: u64, reason: impl Into<String>) -> TraceError {
    TraceError::Wrong {
        offset,
        reason: reason.into(),
    }
}
