//! Misses of caches of many sizes, from one pass over a stream.
//!
//! Invariant: every count is that of [`Cache`](super::caches::cache::Cache) with LRU, exactly.

pub mod all_ways;
mod lists;
mod repeats;
mod sets;
#[cfg(test)]
mod tests;

use all_ways::AllWays;

/// Caches of several sizes of line, with all numbers of sets and ways of [`AllWays`] each.
///
/// Accesses that repeat with short lines repeat with longer ones, so each size of line gets what
/// the next shorter one left.
pub struct Sweep {
    /// By the size of line, ascending.
    sizes: Vec<AllWays>,
}

impl Sweep {
    /// Return empty caches with lines of each of `line_bytes`.
    ///
    /// # Errors
    ///
    /// Which number is impossible, as [`AllWays::new`]; or that there is no size of line.
    pub fn new(line_bytes: &[u64], most_sets: u64, most_ways: u32) -> Result<Self, String> {
        let mut ascending = line_bytes.to_vec();
        ascending.sort_unstable();
        ascending.dedup();
        if ascending.is_empty() {
            return Err("a sweep needs a size of line".to_owned());
        }
        let sizes = ascending
            .into_iter()
            .map(|bytes| AllWays::new(bytes, most_sets, most_ways));
        Ok(Self {
            sizes: sizes.collect::<Result<_, _>>()?,
        })
    }

    /// Carry out an access, as [`AllWays::access`].
    #[inline]
    pub fn access(&mut self, address: u64, bytes: u32, is_write: bool) {
        if self.sizes[0].note(address, bytes, is_write) {
            self.settle();
        }
    }

    /// Return how many reads and how many writes there were.
    pub fn accesses(&self) -> (u64, u64) {
        self.sizes[0].accesses()
    }

    /// Return the caches of each size of line, ascending, with all accesses carried out.
    pub fn sizes(&mut self) -> &mut [AllWays] {
        self.settle();
        &mut self.sizes
    }

    fn settle(&mut self) {
        let mut accesses = self.sizes[0].take();
        for size in &mut self.sizes {
            size.carry_out(&mut accesses);
        }
        self.sizes[0].reuse(accesses);
    }
}
