//! Brings the events of all threads into one order that agrees with their synchronisation.
//!
//! Stamps are handed out in ascending order, and an event that follows some stamps after all of
//! these (`runtime/format.h`); so a lock is released before another thread acquires it. Between
//! two such events the threads take turns of some accesses. A turn is given to a thread only if the
//! words of all running threads are there, as far as they come within [`Pace::patience`] chunks of each
//! thread: a thread that writes nothing for so long is assumed to be at rest.
//!
//! Invariant: the order depends on the trace alone, and at most the given memory is used: when it
//! is full, a stamp that is still missing is assumed to be lost, and counted.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use super::chunks::{Chunk, Chunks};
use super::decode::{Content, Decoder, Order, Step};
use super::events::{Event, Events};
use super::reader::{Population, Report, TraceError, hand};

/// Chunks that each live thread may write while a merge waits for one of another thread: twice the
/// number after which the runtime sends the words of a thread that does not do it itself.
const PATIENCE: u64 = 8;

/// How a merge proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Accesses that a thread may do before it is the turn of the next one, >= 1.
    pub turn_accesses: usize,
    /// Words of 8 bytes that are kept while a thread has to wait.
    pub most_words: usize,
    /// Chunks that each live thread may write while a merge waits for one of another thread.
    pub patience: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            turn_accesses: 32,
            most_words: 1 << 25,
            patience: PATIENCE,
        }
    }
}

/// The words of one thread that have not been handed out.
#[derive(Default)]
struct Lane {
    decoder: Decoder,
    waiting: VecDeque<Chunk>,
    /// First word of the first chunk that has not been handed out.
    at: usize,
    /// Chunks of the trace that had been read when the last of this thread came.
    last_seen: u64,
    has_ended: bool,
}

struct Merge<'a, R, S> {
    chunks: Chunks<R>,
    pace: Pace,
    sink: &'a mut S,
    lanes: BTreeMap<u32, Lane>,
    population: Population,
    /// The stamp that is handed out next.
    next: u64,
    lost_stamps: u64,
    waiting_words: usize,
    chunks_read: u64,
    is_over: bool,
}

/// Hand out all events of a trace in an order that agrees with the synchronisation.
///
/// If the trace was cut, the events that need missing ones are left out.
///
/// # Errors
///
/// The trace is empty, damaged, of another version, or cannot be read.
pub fn merge(input: impl Read, pace: Pace, sink: &mut impl Events) -> Result<Report, TraceError> {
    let mut merge = Merge {
        chunks: Chunks::open(input)?,
        pace,
        sink,
        lanes: BTreeMap::new(),
        population: Population::default(),
        next: 0,
        lost_stamps: 0,
        waiting_words: 0,
        chunks_read: 0,
        is_over: false,
    };
    merge.run()?;
    Ok(merge.report())
}

impl<R: Read, S: Events> Merge<'_, R, S> {
    fn run(&mut self) -> Result<(), TraceError> {
        loop {
            while self.needs_more() {
                self.read_chunk()?;
            }
            if self.give_turns()? {
                continue;
            }
            if !self.is_over && self.waiting_words < self.pace.most_words {
                self.read_chunk()?;
            } else if self.waiting_words == 0 || (self.is_over && self.chunks.cut.is_some()) {
                return Ok(());
            } else {
                self.give_up_stamps();
            }
        }
    }

    /// True while a thread that may be running has nothing to hand out.
    fn needs_more(&self) -> bool {
        let live = self.lanes.values().filter(|lane| !lane.has_ended).count();
        let patience = self.pace.patience * live as u64;
        !self.is_over
            && self.waiting_words < self.pace.most_words
            && (live == 0
                || self
                    .lanes
                    .values()
                    .any(|lane| lane.is_expected(self.chunks_read, patience)))
    }

    fn read_chunk(&mut self) -> Result<(), TraceError> {
        let Some(chunk) = self.chunks.next()? else {
            self.is_over = true;
            return Ok(());
        };
        self.chunks_read += 1;
        self.waiting_words += chunk.words.len();
        self.population.note_chunk(chunk.thread);
        let lane = self.lanes.entry(chunk.thread).or_default();
        lane.last_seen = self.chunks_read;
        lane.waiting.push_back(chunk);
        Ok(())
    }

    /// Give each thread a turn; true if one of them did something.
    fn give_turns(&mut self) -> Result<bool, TraceError> {
        let (mut is_moving, mut children) = (false, Vec::new());
        for (&thread, lane) in &mut self.lanes {
            let mut left = self.pace.turn_accesses;
            while left > 0 {
                let Some(chunk) = lane.waiting.front() else {
                    break;
                };
                let before = lane.at;
                while left > 0
                    && let Some(&word) = chunk.words.get(lane.at)
                    && let Some(access) = lane.decoder.access(word)
                {
                    self.sink.access(thread, access);
                    lane.at += 1;
                    left -= 1;
                }
                if left > 0 && lane.at < chunk.words.len() {
                    let words = &chunk.words[lane.at..];
                    let wrong = |reason| chunk.wrong(lane.at, reason);
                    let step = lane.decoder.event(words).map_err(wrong)?;
                    if is_due(step, self.next, self.lost_stamps).map_err(wrong)? {
                        self.next += u64::from(step.order == Order::Stamp(self.next));
                        lane.at += step.length;
                        left -= 1;
                        match step.content {
                            Content::Event(Event::Started { child }) => children.push(child),
                            Content::Event(Event::Ended) => lane.has_ended = true,
                            _ => {}
                        }
                        hand(thread, step.content, &mut self.population, self.sink);
                    }
                }
                if lane.at == before {
                    break;
                }
                is_moving = true;
                if lane.at == chunk.words.len() {
                    self.waiting_words -= lane.at;
                    lane.at = 0;
                    if let Some(chunk) = lane.waiting.pop_front() {
                        self.chunks.recycle(chunk.words);
                    }
                }
            }
        }
        for child in children {
            let lane = self.lanes.entry(child).or_default();
            lane.last_seen = lane.last_seen.max(self.chunks_read);
        }
        Ok(is_moving)
    }

    /// Continue with the smallest number that a thread waits for.
    fn give_up_stamps(&mut self) {
        let waits = self.lanes.values_mut().filter_map(Lane::waits_for);
        let next = waits.min().unwrap_or(self.next + 1);
        self.lost_stamps += next - self.next;
        self.next = next;
    }

    fn report(mut self) -> Report {
        let mut report = self.population.report(&mut self.chunks);
        report.lost_stamps = self.lost_stamps;
        if self.waiting_words > 0 {
            let words = self.waiting_words - self.lanes.values().map(|lane| lane.at).sum::<usize>();
            report.missing = format!(
                "{}; {words} words that need missing events are left out",
                report.missing
            );
        }
        report
    }
}

impl Lane {
    fn is_expected(&self, chunks_read: u64, patience: u64) -> bool {
        self.waiting.is_empty() && !self.has_ended && chunks_read - self.last_seen < patience
    }

    /// Return the number of stamps that have to be handed out before the next event.
    fn waits_for(&mut self) -> Option<u64> {
        let chunk = self.waiting.front()?;
        match self.decoder.event(&chunk.words[self.at..]).ok()?.order {
            Order::Free => None,
            Order::Stamp(number) | Order::After(number) => Some(number),
        }
    }
}

/// True if an event may be handed out now.
fn is_due(step: Step, next: u64, lost_stamps: u64) -> Result<bool, String> {
    match step.order {
        Order::Free => Ok(true),
        Order::After(number) => Ok(number <= next),
        Order::Stamp(number) if number >= next => Ok(number == next),
        // It was given up, and has come after all.
        Order::Stamp(_) if lost_stamps > 0 => Ok(true),
        Order::Stamp(number) => Err(format!("stamp {number} is there twice")),
    }
}
