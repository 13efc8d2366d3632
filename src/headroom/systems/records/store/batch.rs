//! Look-ups in batches: each step is done for all of them, so that their misses overlap.

#![allow(unsafe_code, reason = "code for vectors that not every processor has")]
#![allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with the caller"
)]

use super::index::Index;
use super::operation::Operation;
use super::region::{At, NOWHERE};
use super::search::FIXED_WORDS;
use super::sorted::{LINE_WORDS, Sorted};
use super::table::{Body, Table};
use super::touch::Touch;

/// Most look-ups at once: more than the misses that a processor has in flight.
pub const MOST: usize = 64;

impl Table {
    /// Hand the records of `keys` to `operation` in this order, `batch` look-ups at once (1 to
    /// [`MOST`]; 1 is one after the other, without prefetches); return how many there were.
    ///
    /// # Panics
    ///
    /// If the batch is none.
    pub fn look_up(
        &self,
        keys: &[u32],
        batch: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        assert!((1..=MOST).contains(&batch), "a batch of {batch}");
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi2")
        {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.look_up_wide(keys, batch, operation, touch) };
        }
        self.look_up_here(keys, batch, operation, touch)
    }

    /// Look up with vectors of eight keys, where a build for all processors has four: `rank`
    /// is much of a look-up whose lines are in the caches.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi2")]
    fn look_up_wide(
        &self,
        keys: &[u32],
        batch: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        self.look_up_here(keys, batch, operation, touch)
    }

    #[inline(always)]
    fn look_up_here(
        &self,
        keys: &[u32],
        batch: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        if batch == 1 {
            let found = keys
                .iter()
                .map(|&key| u64::from(self.retrieve(key, operation, touch)));
            return found.sum();
        }
        if let Body::Sorted(sorted) = &self.body
            && sorted.has_tags
        {
            return if self.index.capacity + 1 == FIXED_WORDS as u32 {
                self.look_up_tagged::<true>(sorted, keys, batch, operation, touch)
            } else {
                self.look_up_tagged::<false>(sorted, keys, batch, operation, touch)
            };
        }
        let mut ats = [NOWHERE; MOST];
        let mut count = 0;
        for keys in keys.chunks(batch) {
            let ats = &mut ats[..keys.len()];
            descend::<false>(&self.index, keys, ats, touch);
            self.find_records(keys, ats, touch);
            for &at in ats.iter() {
                if at != NOWHERE {
                    operation.take(self.region(), at, touch);
                    count += 1;
                }
            }
        }
        count
    }

    /// Look up by tags; with `IS_FIXED` nodes of the index have [`FIXED_WORDS`] - 1 keys.
    #[inline(always)]
    fn look_up_tagged<const IS_FIXED: bool>(
        &self,
        sorted: &Sorted,
        keys: &[u32],
        batch: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        let (mut nodes, mut ats) = ([NOWHERE; MOST], [NOWHERE; MOST]);
        let mut count = 0;
        for keys in keys.chunks(batch) {
            let (nodes, ats) = (&mut nodes[..keys.len()], &mut ats[..keys.len()]);
            descend::<IS_FIXED>(&self.index, keys, nodes, touch);
            for (node, &key) in nodes.iter_mut().zip(keys) {
                let entry = self.index.floor_in::<IS_FIXED>(*node, key, touch);
                *node = entry.expect("the first node has separator 0").1;
                sorted.prefetch_search(*node);
            }
            for ((at, &node), &key) in ats.iter_mut().zip(&*nodes).zip(keys) {
                *at = sorted.prefetch_candidates(node, key, touch);
            }
            for ((at, &node), &key) in ats.iter_mut().zip(&*nodes).zip(keys) {
                if *at != NOWHERE && !sorted.is_of(*at, key, touch) {
                    *at = sorted.get_in(node, key, touch).unwrap_or(NOWHERE);
                }
                count += u64::from(*at != NOWHERE);
            }
            let found = ats.iter().copied().filter(|&at| at != NOWHERE);
            operation.take_each(&sorted.region, found, touch);
        }
        count
    }

    /// Replace the leaves of keys by their records.
    #[inline(always)]
    fn find_records(&self, keys: &[u32], ats: &mut [At], touch: &mut impl Touch) {
        match &self.body {
            Body::Dense(nodes) => {
                for (at, &key) in ats.iter_mut().zip(keys) {
                    *at = self.index.get_in(*at, key, touch).unwrap_or(NOWHERE);
                    nodes.region.prefetch(*at);
                }
                for at in ats.iter_mut().filter(|at| **at != NOWHERE) {
                    *at = nodes.record(*at, touch);
                    nodes.region.prefetch(*at);
                    nodes.region.prefetch(*at + LINE_WORDS);
                }
            }
            Body::Sorted(sorted) => {
                for (at, &key) in ats.iter_mut().zip(keys) {
                    let (_, node) = self
                        .index
                        .floor_in::<false>(*at, key, touch)
                        .expect("the first node has separator 0");
                    *at = node;
                    sorted.prefetch_search(node);
                }
                for (at, &key) in ats.iter_mut().zip(keys) {
                    *at = sorted.get_in(*at, key, touch).unwrap_or(NOWHERE);
                    sorted.prefetch_record(*at);
                }
            }
        }
    }
}

/// Find the leaf of each key, level by level.
#[inline(always)]
fn descend<const IS_FIXED: bool>(
    index: &Index,
    keys: &[u32],
    leaves: &mut [At],
    touch: &mut impl Touch,
) {
    leaves.fill(index.root);
    for _ in 1..index.height {
        for (node, &key) in leaves.iter_mut().zip(keys) {
            *node = index.child_of::<IS_FIXED>(*node, key, touch);
            index.prefetch_node(*node);
        }
    }
}
