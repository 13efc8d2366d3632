//! Reads: one thread reads words of memory one after another, and the others wait; or each thread
//! reads a mixture.
//!
//! The time of a read of each kind of memory is what tables of machines state. A mixture shows from
//! which share of remote reads on, and which re-use, a machine is the better one.

use serde::Deserialize;

use super::layout::{Layout, PAGE_BYTES, WORD_BYTES};
use super::shared::Shared;
use super::watch::Watch;
use super::{Check, Program};

/// The memory that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Used by one thread alone.
    Private,
    /// Shared, and owned by the thread that reads.
    Local,
    /// Shared, and owned by the last thread.
    Remote,
    /// Shared: each thread reads its own words, and among them those of the next thread.
    Mixed,
}

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Memory that is read.
    pub of: Of,
    /// Words that are read, 1 to 2^24.
    pub words: usize,
    /// Bytes (B) from one word to the next, a multiple of 8.
    pub stride: usize,
    /// Share of a mixture's reads that go to words of the next thread, 0 to 1.
    pub remote_share: f64,
    /// Reads of each of these words, one after another, on average; 1 to 2^24.
    pub repeats: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            of: Of::Local,
            words: 4096,
            stride: 256,
            remote_share: 0.5,
            repeats: 1.0,
        }
    }
}

impl Spec {
    fn check_mixture(&self) -> Result<(), String> {
        let is_share = (0.0..=1.0).contains(&self.remote_share);
        if is_share && (1.0..=MOST_WORDS as f64).contains(&self.repeats) {
            return Ok(());
        }
        Err(format!(
            "a share of {} of remote reads, and {} reads of each word: give 0 to 1, and 1 to \
             {MOST_WORDS}",
            self.remote_share, self.repeats
        ))
    }

    /// Return how many local and remote reads come before one of a mixture, and whether it is
    /// remote itself; they take turns as evenly as possible.
    fn counts(&self, read: usize) -> (usize, usize, bool) {
        let before = |reads: usize| (reads as f64 * self.remote_share) as usize;
        let remote = before(read);
        (read - remote, remote, before(read + 1) > remote)
    }
}

const MOST_WORDS: usize = 1 << 24;
/// Control of the loop, and the address.
const OF_READ: u32 = 3;

/// The program.
#[derive(Debug)]
pub struct Reads {
    spec: Spec,
    threads: usize,
    layout: Layout,
    parts: Shared,
    part_words: usize,
    private: Shared,
    /// Of each thread.
    sums: Vec<Shared>,
}

impl Reads {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(spec: Spec, threads: usize) -> Result<Self, String> {
        let Spec {
            of, words, stride, ..
        } = spec;
        let is_whole = stride > 0 && stride.is_multiple_of(WORD_BYTES as usize);
        if !(1..=MOST_WORDS).contains(&words) || !is_whole || stride > 1 << 16 {
            return Err(format!(
                "reads of {words} words, each {stride} B after the one before: give 1 to \
                 {MOST_WORDS} words and a multiple of {WORD_BYTES} B, at most 65536"
            ));
        }
        if of == Of::Mixed {
            spec.check_mixture()?;
        }
        if matches!(of, Of::Remote | Of::Mixed) && threads < 2 {
            return Err("reads of remote memory on one thread: use two or more".into());
        }
        let all = words * stride / WORD_BYTES as usize;
        let mut layout = Layout::default();
        let (parts, part_words) = layout.parts("words", threads, all)?;
        let private = layout.private("private words", 0, all)?;
        let sums = (0..threads).map(|thread| layout.private("sum", thread, 1));
        let sums = sums.collect::<Result<_, _>>()?;
        Ok(Self {
            spec,
            threads,
            layout,
            parts,
            part_words,
            private,
            sums,
        })
    }

    /// Return the array that is read, and the first word.
    fn source(&self, thread: usize) -> (&Shared, usize) {
        match self.spec.of {
            Of::Private => (&self.private, 0),
            Of::Local => (&self.parts, 0),
            Of::Remote => (&self.parts, (self.threads - 1) * self.part_words),
            Of::Mixed => (&self.parts, thread * self.part_words),
        }
    }

    /// Return the word that is the read of this number of a thread's mixture.
    fn mixed_word(&self, thread: usize, read: usize) -> usize {
        let (local, remote, is_remote) = self.spec.counts(read);
        let (owner, word) = if is_remote {
            let again = (remote as f64 / self.spec.repeats) as usize;
            ((thread + 1) % self.threads, again)
        } else {
            (thread, local)
        };
        owner * self.part_words + word * self.step()
    }

    /// Read the words of a thread; return their sum.
    fn read<W: Watch>(&self, thread: usize, watch: &mut W) -> u64 {
        let (array, first) = self.source(thread);
        let mut sum = 0_u64;
        for read in 0..self.spec.words {
            watch.compute(OF_READ);
            let word = match self.spec.of {
                Of::Mixed => self.mixed_word(thread, read),
                _ => first + read * self.step(),
            };
            let value: u64 = array.get(word, watch);
            sum += value;
        }
        sum
    }

    fn is_reader(&self, thread: usize) -> bool {
        thread == 0 || self.spec.of == Of::Mixed
    }

    fn step(&self) -> usize {
        self.spec.stride / WORD_BYTES as usize
    }

    /// Touch each page of the own part, as its owner.
    fn fill<W: Watch>(&self, thread: usize, watch: &mut W) {
        let page = (PAGE_BYTES / WORD_BYTES) as usize;
        for word in (0..self.part_words).step_by(page) {
            self.parts
                .set(thread * self.part_words + word, 1_u64, watch);
        }
        self.sums[thread].set(0, 0_u64, watch);
        if thread == 0 {
            // All of them: what table 1 calls private memory is what the processor's caches answer.
            for word in (0..self.spec.words * self.step()).step_by(self.step()) {
                self.private
                    .set(word, u64::from(word.is_multiple_of(page)), watch);
            }
        }
    }
}

impl Program for Reads {
    fn name(&self) -> &'static str {
        "reads"
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn has_phase(&self, phase: usize) -> bool {
        phase < 2
    }

    fn is_start_up(&self, phase: usize) -> bool {
        phase == 0
    }

    fn run_phase<W: Watch>(&self, phase: usize, thread: usize, watch: &mut W) {
        if phase == 0 {
            self.fill(thread, watch);
        } else if self.is_reader(thread) {
            let sum = self.read(thread, watch);
            self.sums[thread].set(0, sum, watch);
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    #[allow(clippy::cast_precision_loss, reason = "sums are far below 2^53")]
    fn result(&self) -> Vec<f64> {
        let sums = self.sums.iter();
        let sums = sums.map(|sum| sum.get::<u64>(0, &mut super::watch::Silent));
        vec![sums.sum::<u64>() as f64]
    }

    /// The sum is the number of words that the owner has touched among those that are read.
    fn verify(&self) -> Result<Check, String> {
        let page = PAGE_BYTES as usize;
        let is_touched = |word: usize| (word * self.spec.stride).is_multiple_of(page);
        let read = |thread: usize, read: usize| match self.spec.of {
            Of::Mixed => self.mixed_word(thread, read) % self.part_words / self.step(),
            _ => read,
        };
        let readers = (0..self.threads).filter(|thread| self.is_reader(*thread));
        let touched = readers.map(|thread| {
            let words = (0..self.spec.words).map(|number| read(thread, number));
            words.filter(|word| is_touched(*word)).count()
        });
        let touched: usize = touched.sum();
        let deviation = (self.result()[0] - touched as f64).abs();
        let name = match self.spec.of {
            Of::Private => "deviation of the sum of private words",
            Of::Local => "deviation of the sum of local words",
            Of::Remote => "deviation of the sum of remote words",
            Of::Mixed => "deviation of the sum of mixed words",
        };
        Check::of(vec![(name, deviation, 0.0)])
    }
}
