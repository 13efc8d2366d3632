//! Reads: one thread reads words of memory one after another, and the others wait.
//!
//! The time of a read of each kind of memory is what tables of machines state.

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
}

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Memory that is read.
    pub of: Of,
    /// Words that are read, 1 to 2^24.
    pub words: usize,
    /// Bytes (B) from one word to the next, a multiple of 8.
    pub stride: usize,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            of: Of::Local,
            words: 4096,
            stride: 256,
        }
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
    sum: Shared,
}

impl Reads {
    /// Make the program for `threads` >= 1.
    ///
    /// # Errors
    ///
    /// The size that is invalid, and why; or there is no memory.
    pub fn new(spec: Spec, threads: usize) -> Result<Self, String> {
        let Spec { of, words, stride } = spec;
        let is_whole = stride > 0 && stride.is_multiple_of(WORD_BYTES as usize);
        if !(1..=MOST_WORDS).contains(&words) || !is_whole || stride > 1 << 16 {
            return Err(format!(
                "reads of {words} words, each {stride} B after the one before: give 1 to \
                 {MOST_WORDS} words and a multiple of {WORD_BYTES} B, at most 65536"
            ));
        }
        if of == Of::Remote && threads < 2 {
            return Err("reads of remote memory on one thread: use two or more".into());
        }
        let all = words * stride / WORD_BYTES as usize;
        let mut layout = Layout::default();
        let (parts, part_words) = layout.parts("words", threads, all)?;
        let private = layout.private("private words", 0, all)?;
        let sum = layout.private("sum", 0, 1)?;
        Ok(Self {
            spec,
            threads,
            layout,
            parts,
            part_words,
            private,
            sum,
        })
    }

    /// Return the array that is read, and the first word.
    fn source(&self) -> (&Shared, usize) {
        match self.spec.of {
            Of::Private => (&self.private, 0),
            Of::Local => (&self.parts, 0),
            Of::Remote => (&self.parts, (self.threads - 1) * self.part_words),
        }
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
        if thread == 0 {
            self.sum.set(0, 0_u64, watch);
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
        } else if thread == 0 {
            let (array, first) = self.source();
            let mut sum = 0_u64;
            for word in 0..self.spec.words {
                watch.compute(OF_READ);
                let value: u64 = array.get(first + word * self.step(), watch);
                sum += value;
            }
            self.sum.set(0, sum, watch);
        }
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    #[allow(clippy::cast_precision_loss, reason = "sums are far below 2^53")]
    fn result(&self) -> Vec<f64> {
        vec![self.sum.get::<u64>(0, &mut super::watch::Silent) as f64]
    }

    /// The sum is the number of words that the owner has touched among those that are read.
    fn verify(&self) -> Result<Check, String> {
        let page = PAGE_BYTES as usize;
        let touched = (0..self.spec.words)
            .filter(|word| (word * self.spec.stride).is_multiple_of(page))
            .count();
        let deviation = (self.result()[0] - touched as f64).abs();
        let name = match self.spec.of {
            Of::Private => "deviation of the sum of private words",
            Of::Local => "deviation of the sum of local words",
            Of::Remote => "deviation of the sum of remote words",
        };
        Check::of(vec![(name, deviation, 0.0)])
    }
}
