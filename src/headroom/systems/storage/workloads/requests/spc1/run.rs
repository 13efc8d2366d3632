//! Sequential runs that end and start again elsewhere.
//!
//! Invariant: a request of a run ends no later than the run.

use super::super::draws;
use crate::simulation::kernel::random::stream::Stream as Generator;

/// Start positions and lengths of runs, in blocks of the ASU.
#[derive(Clone, Copy, Debug)]
pub struct RunLaw {
    /// Lowest start.
    pub first: u64,
    /// How many starts there are, one block from the next.
    pub starts: u64,
    /// Blocks of a run.
    pub length: u64,
    /// Starts and ends are rounded down to a multiple of this.
    pub align: u64,
}

/// A run: its next block, and the block behind it. At first it has none left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    next: u64,
    end: u64,
}

impl Run {
    /// Return the first of the next `blocks`, from a new run if too few are left.
    pub fn next(&mut self, law: RunLaw, blocks: u32, generator: &mut Generator) -> u64 {
        let blocks = u64::from(blocks);
        if self.next + blocks > self.end {
            let start = law.first + draws::below(generator, law.starts);
            self.next = start - start % law.align;
            self.end = start + law.length - (start + law.length) % law.align;
        }
        let block = self.next;
        self.next += blocks;
        block
    }
}
