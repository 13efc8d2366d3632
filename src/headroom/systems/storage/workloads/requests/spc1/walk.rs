//! The hierarchical reuse random walk: requests return to recent positions, at every scale.
//!
//! A region is cut into leaves of eight blocks. From its leaf the walk chooses a window of 2^h
//! leaves around it, aligned like a node of a binary tree, and goes to any leaf in it. h is usually
//! small: it starts at its lowest value and grows by one with a probability of 0.44, until it stops
//! growing or the window holds the region. If a region is not a power of two of leaves, its last
//! windows are cut at its end (as if the walk drew again until it is inside).
//!
//! Reads take the blocks of a leaf in turn. Writes are concentrated on every eighth leaf: half of
//! them on any block there, half on the block of that leaf that was read last; 15% of them are
//! written once more by the next write of the same walk.
//!
//! For each h the walk is uniform in the cells of a partition, so all leaves are equally likely in
//! the long run, regardless of the size of the region.
//!
//! Source: `McNutt` (2000), *The Fractal Structure of Data Reference*, chapter on the hierarchical
//! reuse model; Daniel & Faith (2005), see the parent module.

use super::super::draws::{self, Chance};
use crate::simulation::kernel::random::stream::Stream as Generator;
use crate::systems::storage::workloads::request::Kind;

/// Blocks of a leaf.
pub const LEAF_BLOCKS: u64 = 8;
/// Writes gather on leaves whose number is a multiple of this.
pub const WRITE_LEAVES: u64 = 8;
/// Probability that the window doubles once more.
pub const GROWTH: f64 = 0.44;
/// Probability that a write is written once more.
pub const REPEAT: f64 = 0.15;
/// Counters that are allocated together.
const PAGE: u64 = 4096;

/// A region of leaves.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    first_block: u64,
    leaves: u64,
    window_bits: u32,
}

impl Region {
    /// Make the region from the block `first` to before the block `end` of the ASU; a window has
    /// 2^`window_bits` leaves at least.
    pub const fn new(first: u64, end: u64, window_bits: u32) -> Self {
        Self {
            first_block: first,
            leaves: (end - first) / LEAF_BLOCKS,
            window_bits,
        }
    }

    /// Draw the leaf behind `leaf`.
    fn step(self, leaf: u64, generator: &mut Generator) -> u64 {
        let growth = Chance::new(GROWTH);
        let mut bits = self.window_bits;
        while (1 << bits) < self.leaves && growth.draw(generator) {
            bits += 1;
        }
        let low = leaf >> bits << bits;
        let size = (self.leaves - low).min(1 << bits);
        low + draws::below(generator, size)
    }
}

/// The leaves of a region, as the walks of one context see them.
#[derive(Clone, Debug)]
pub struct Leaves {
    region: Region,
    /// Next block to read of each leaf, in pages that are allocated when first needed.
    next_reads: Vec<Option<Box<[u8]>>>,
}

impl Leaves {
    /// Make the leaves of `region`, of which nothing was read.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "pages of a target are far fewer than addresses of this machine"
    )]
    pub fn new(region: Region) -> Self {
        Self {
            region,
            next_reads: vec![None; region.leaves.div_ceil(PAGE) as usize],
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "as many pages as the vector has"
    )]
    fn next_read(&mut self, leaf: u64) -> &mut u8 {
        let page = self.next_reads[(leaf / PAGE) as usize]
            .get_or_insert_with(|| vec![0; PAGE as usize].into_boxed_slice());
        &mut page[(leaf % PAGE) as usize]
    }

    /// Return the block of `leaf` to read next.
    fn read(&mut self, leaf: u64) -> u64 {
        let next = self.next_read(leaf);
        let block = u64::from(*next);
        *next = (*next + 1) % 8;
        block
    }

    /// Return the block of `leaf` that was read last.
    fn last_read(&mut self, leaf: u64) -> u64 {
        u64::from((*self.next_read(leaf) + 7) % 8)
    }
}

/// A walk: its current leaf, and the block that its next write will repeat.
#[derive(Clone, Copy, Debug)]
pub struct Walker {
    leaf: u64,
    again: Option<u64>,
}

impl Walker {
    /// Begin anywhere in `region`.
    pub fn new(region: Region, generator: &mut Generator) -> Self {
        Self {
            leaf: draws::below(generator, region.leaves),
            again: None,
        }
    }

    /// Return the block, counted in the ASU, of the next request.
    pub fn next(&mut self, leaves: &mut Leaves, kind: Kind, generator: &mut Generator) -> u64 {
        let block = match (kind, self.again) {
            (Kind::Read, _) => {
                self.leaf = leaves.region.step(self.leaf, generator);
                self.leaf * LEAF_BLOCKS + leaves.read(self.leaf)
            }
            (_, None) => self.first_write(leaves, generator),
            (_, Some(block)) => {
                self.again = None;
                self.leaf = block / LEAF_BLOCKS;
                block
            }
        };
        leaves.region.first_block + block
    }

    fn first_write(&mut self, leaves: &mut Leaves, generator: &mut Generator) -> u64 {
        let leaf = leaves.region.step(self.leaf, generator);
        self.leaf = leaf - leaf % WRITE_LEAVES;
        let is_anywhere = Chance::new(0.5).draw(generator);
        let within = if is_anywhere {
            draws::below(generator, LEAF_BLOCKS)
        } else {
            leaves.last_read(self.leaf)
        };
        let block = self.leaf * LEAF_BLOCKS + within;
        self.again = Chance::new(REPEAT).draw(generator).then_some(block);
        block
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::chances::{assert_share, chi_square};
    use super::*;
    use crate::simulation::kernel::random::stream;

    fn region(leaves: u64) -> Region {
        Region::new(80, 80 + leaves * LEAF_BLOCKS, 6)
    }

    /// Oracle: P(h = k) = 0.56 x 0.44^(k - 6) below the top of the tree, 0.44^(10 - 6) at the top;
    /// a window of 2^h leaves leads back to the same 64 leaves with 64 / 2^h. In a whole tree the
    /// steps are independent of the place.
    #[test]
    fn steps_stay_near_as_often_as_the_tree_says() {
        let (region, mut generator) = (region(1 << 10), stream::open(3, 1));
        let expected: f64 = (6..=10)
            .map(|h| {
                let grown = GROWTH.powi(h - 6);
                let share = if h == 10 {
                    grown
                } else {
                    grown * (1.0 - GROWTH)
                };
                share / f64::powi(2.0, h - 6)
            })
            .sum();
        let (mut leaf, mut near) = (0, 0);
        for _ in 0..200_000 {
            let next = region.step(leaf, &mut generator);
            near += usize::from(next / 64 == leaf / 64);
            leaf = next;
        }
        assert_share(near, 200_000, expected);
    }

    /// Oracle: from a leaf chosen uniformly one step leads to a leaf that is uniform too, also
    /// where the region is no power of two (99.9% point of chi-square with 99 degrees: 148.2).
    #[test]
    fn all_leaves_are_equally_likely_in_any_region() {
        for leaves in [100, 128, 65] {
            let region = region(leaves);
            let mut counts = vec![0_u32; usize::try_from(leaves).expect("few leaves")];
            for seed in 0..100_000 {
                let mut generator = stream::open(seed, 1);
                let walker = Walker::new(region, &mut generator);
                let leaf = region.step(walker.leaf, &mut generator);
                counts[usize::try_from(leaf).expect("few leaves")] += 1;
            }
            let share = 1.0 / leaves as f64;
            let distance = chi_square(&counts, |_| share);
            let limit = leaves as f64 + 4.5 * (2.0 * leaves as f64).sqrt();
            assert!(distance < limit, "{leaves} leaves: {distance}");
        }
    }

    #[test]
    fn reads_take_the_blocks_of_a_leaf_in_turn() {
        let region = region(64);
        let (mut leaves, mut generator) = (Leaves::new(region), stream::open(1, 1));
        let mut walker = Walker::new(region, &mut generator);
        let mut reads = [0_u64; 64];
        for _ in 0..5000 {
            let block = walker.next(&mut leaves, Kind::Read, &mut generator) - region.first_block;
            let count = &mut reads[usize::try_from(block / 8).expect("few leaves")];
            assert_eq!(block % 8, *count % 8);
            *count += 1;
        }
    }

    /// Oracle: a new write takes the last-read block with 1/2, or any of the eight: 9/16 together;
    /// it is repeated with 0.15, at the same block, by the next write and not by a read.
    #[test]
    fn writes_gather_and_repeat_as_the_rule_says() {
        let region = region(1 << 12);
        let (mut leaves, mut generator) = (Leaves::new(region), stream::open(1, 1));
        let mut walker = Walker::new(region, &mut generator);
        let (mut firsts, mut repeated, mut at_last_read) = (0, 0, 0);
        for turn in 0..200_000 {
            if turn % 3 == 0 {
                let again = walker.again;
                walker.next(&mut leaves, Kind::Read, &mut generator);
                assert_eq!(walker.again, again);
                continue;
            }
            let again = walker.again;
            let block = walker.next(&mut leaves, Kind::Write, &mut generator) - region.first_block;
            if let Some(again) = again {
                assert_eq!(block, again);
                assert_eq!(walker.again, None);
                continue;
            }
            let leaf = block / LEAF_BLOCKS;
            assert_eq!(leaf % WRITE_LEAVES, 0);
            firsts += 1;
            repeated += usize::from(walker.again.is_some());
            at_last_read += usize::from(block % 8 == leaves.last_read(leaf));
        }
        assert_share(repeated, firsts, REPEAT);
        assert_share(at_last_read, firsts, 9.0 / 16.0);
    }

    proptest! {
        #[test]
        fn walks_never_leave_their_region(
            blocks in 512..5_000_000_u64,
            first in 0..1_000_000_u64,
            bits in 6..8_u32,
            kinds in prop::collection::vec(any::<bool>(), 1..500),
            seed: u64,
        ) {
            prop_assume!(blocks / LEAF_BLOCKS >= 1 << bits);
            let region = Region::new(first, first + blocks, bits);
            let (mut leaves, mut generator) = (Leaves::new(region), stream::open(seed, 1));
            let mut walker = Walker::new(region, &mut generator);
            for is_read in kinds {
                let kind = if is_read { Kind::Read } else { Kind::Write };
                let block = walker.next(&mut leaves, kind, &mut generator);
                prop_assert!((first..first + blocks).contains(&block));
            }
        }
    }
}
