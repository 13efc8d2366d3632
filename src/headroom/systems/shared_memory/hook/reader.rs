//! Reads a trace thread by thread, and reports how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use thiserror::Error;

use super::chunks::{Chunk, Chunks, Share};
use super::decode::{Content, Decoder, Order};
use super::events::{Event, Events};

/// Numbers of threads that a message lists.
const LISTED: usize = 8;

/// Why a trace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// There is not even a head.
    #[error("the trace is empty: no hooked program wrote it")]
    Empty,
    /// Something is wrong.
    #[error("byte {offset} of the trace: {reason}")]
    Wrong {
        /// Where, in bytes from the start.
        offset: u64,
        /// The fault.
        reason: String,
    },
}

/// How a trace ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Threads with events.
    pub threads: u64,
    /// Entries of hooked functions.
    pub entries: u64,
    /// Text about missing events; empty if the program closed its trace.
    pub missing: String,
    /// Words that were dropped because a signal handler interrupted the runtime.
    pub lost_words: u64,
    /// Stamps that a merge waited for in vain.
    pub lost_stamps: u64,
    /// How much of the run was recorded; nothing if the trace was cut.
    pub share: Share,
    /// Text of `/proc/self/maps`, to find the lines of sites.
    pub maps: String,
}

/// Threads that have begun and not ended.
#[derive(Clone, Debug, Default)]
pub struct Population {
    seen: BTreeSet<u32>,
    live: BTreeSet<u32>,
}

impl Population {
    /// Note a chunk of a thread.
    pub fn note_chunk(&mut self, thread: u32) {
        if self.seen.insert(thread) {
            self.live.insert(thread);
        }
    }

    /// Note an event of a thread.
    pub fn note(&mut self, thread: u32, event: Event) {
        if event == Event::Ended {
            self.live.remove(&thread);
        }
    }

    /// Return how a trace ended, after its last chunk was read.
    pub fn report<R: Read>(&self, chunks: &mut Chunks<R>) -> Report {
        let missing = chunks.cut.as_ref().map_or_else(String::new, |cut| {
            format!("the trace was cut: {cut}; {}", self.missing_words())
        });
        Report {
            threads: self.seen.len() as u64,
            entries: chunks.entries(),
            missing,
            lost_words: chunks.end.map_or(0, |end| end.lost_words),
            lost_stamps: 0,
            share: chunks.end.map_or_else(Share::default, |end| end.share),
            maps: std::mem::take(&mut chunks.maps),
        }
    }

    fn missing_words(&self) -> String {
        let listed: Vec<_> = self.live.iter().take(LISTED).map(u32::to_string).collect();
        let more = match self.live.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match listed.as_slice() {
            [] => "no thread was running".to_owned(),
            [one] if more.is_empty() => {
                format!("the last events of thread {one} are missing, which had not ended")
            }
            many => format!(
                "the last events of the threads {}{more} are missing, which had not ended",
                many.join(", ")
            ),
        }
    }
}

/// Hand out all events of a trace, chunk by chunk: those of one thread are in order.
///
/// # Errors
///
/// The trace is empty, damaged, of another version, or cannot be read.
pub fn read(input: impl Read, sink: &mut impl Events) -> Result<Report, TraceError> {
    let mut chunks = Chunks::open(input)?;
    let mut threads = BTreeMap::<u32, Thread>::new();
    let mut population = Population::default();
    while let Some(chunk) = chunks.next()? {
        population.note_chunk(chunk.thread);
        let thread = threads.entry(chunk.thread).or_default();
        thread.read(&chunk, &mut population, sink)?;
        chunks.recycle(chunk.words);
    }
    Ok(population.report(&mut chunks))
}

/// A thread whose chunks are read one after the other.
#[derive(Default)]
struct Thread {
    decoder: Decoder,
    last_stamp: Option<u64>,
}

impl Thread {
    fn read(
        &mut self,
        chunk: &Chunk,
        population: &mut Population,
        sink: &mut impl Events,
    ) -> Result<(), TraceError> {
        let words = chunk.words.as_slice();
        let mut at = 0;
        while let Some(&word) = words.get(at) {
            if let Some(access) = self.decoder.access(word) {
                sink.access(chunk.thread, access);
                at += 1;
                continue;
            }
            let wrong = |reason| chunk.wrong(at, reason);
            let step = self.decoder.event(&words[at..]).map_err(wrong)?;
            if let Order::Stamp(stamp) = step.order {
                if self.last_stamp.is_some_and(|last| last >= stamp) {
                    return Err(wrong(format!("stamp {stamp} comes after a later one")));
                }
                self.last_stamp = Some(stamp);
            }
            hand(chunk.thread, step.content, population, sink);
            at += step.length;
        }
        Ok(())
    }
}

/// Hand out what an event brings.
pub fn hand(thread: u32, content: Content, population: &mut Population, sink: &mut impl Events) {
    match content {
        Content::Access(access) => sink.access(thread, access),
        Content::Event(event) => {
            population.note(thread, event);
            sink.event(thread, event);
        }
        Content::Nothing => {}
    }
}
