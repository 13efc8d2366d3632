//! A B+-tree from record numbers to addresses of 4 bytes, with nodes of any number of lines.
//!
//! A node of `b` bytes holds `c = b / 8 - 1` keys and as many values: 7 of each in a line, as in
//! the paper. Its words: count and level; first child, or next leaf; keys; values. Keys that are
//! not used are [`NO_KEY`], so that a search compares a fixed number of them.
//!
//! Invariants: leaves have level 0 and equal depth; the keys below child `i` of a node are at least
//! key `i - 1` and below key `i`; a node is freed when it is empty, never merged before (Johnson
//! and Shasha, JCSS 47, 1993, show that this costs little space and saves most of the work).

#![allow(
    clippy::inline_always,
    reason = "searches are compiled once for each kind of vectors, with the batch that calls them"
)]

use super::StoreError;
use super::region::{At, NOWHERE, Region};
use super::search::{rank, rank_fixed};
use super::touch::{Area, Touch, Work};
use crate::memory::probe::buffer::Pages;

/// A key that no record has: larger than all.
pub const NO_KEY: u32 = u32::MAX;
/// Most levels: a node has four children at least, and there are 2^32 keys.
pub const MOST_LEVELS: usize = 17;
/// Bytes (B) of a node: whole lines.
pub const NODE_BYTES: std::ops::RangeInclusive<u64> = 64..=16384;

const LINE_BYTES: u64 = 64;
const COUNT: u32 = 0;
const NEXT: u32 = 1;
pub(super) const KEYS: u32 = 2;

/// Refuse nodes that are not whole lines.
///
/// # Errors
///
/// The sizes that would work.
pub fn check_node_bytes(bytes: u64) -> Result<(), StoreError> {
    if NODE_BYTES.contains(&bytes) && bytes.is_multiple_of(LINE_BYTES) {
        return Ok(());
    }
    Err(StoreError::Impossible(format!(
        "nodes of the index have whole lines of 64 B, 64 B to 16 KiB, not {bytes} B"
    )))
}

/// The way from the root to a leaf: each node and the place of its child that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    nodes: [At; MOST_LEVELS],
    places: [u32; MOST_LEVELS],
    depth: usize,
}

/// A B+-tree.
#[derive(Debug)]
pub struct Index {
    pub(super) region: Region,
    /// Words of a node.
    pub(super) words: u32,
    /// Keys of a node.
    pub(super) capacity: u32,
    pub(super) root: At,
    pub(super) height: usize,
    pub(super) used_words: u64,
    pub(super) most_words: u64,
    pub(super) free: Vec<At>,
    pub(super) entry_capacity: u64,
}

impl Index {
    /// Return an empty index for at most `entries` entries.
    ///
    /// # Errors
    ///
    /// Nodes of this size cannot be, or there is no memory.
    #[allow(unsafe_code, reason = "who makes a region answers for its addresses")]
    pub fn new(node_bytes: u64, entries: u64, pages: Pages) -> Result<Self, StoreError> {
        check_node_bytes(node_bytes)?;
        let bytes = Self::most_bytes(node_bytes, entries);
        let words = (node_bytes / 4) as u32;
        // SAFETY: `new_node` gives out nodes below `most_words`, and no node is longer.
        let region = unsafe { Region::mapped(Area::Index, bytes, pages)? };
        let mut index = Self {
            region,
            words,
            capacity: (node_bytes / 8 - 1) as u32,
            root: 0,
            height: 1,
            used_words: 0,
            most_words: bytes / 4,
            free: Vec::new(),
            entry_capacity: entries,
        };
        index.root = index.new_node(0)?;
        Ok(index)
    }

    /// Return the memory (B) that `entries` entries may take: leaves half full, and what is above.
    pub const fn most_bytes(node_bytes: u64, entries: u64) -> u64 {
        let half = (node_bytes / 8 - 1) / 2;
        let mut nodes = 4;
        let mut level = entries;
        while level > 1 {
            level = level.div_ceil(half);
            nodes += level;
        }
        // Twice as much, as nodes that lost entries are not merged: it is address space, no more.
        2 * nodes * node_bytes
    }

    /// Return its levels.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Return the memory (B) of all nodes that were ever used.
    pub const fn used_bytes(&self) -> u64 {
        self.used_words * 4
    }

    pub(super) fn new_node(&mut self, level: u32) -> Result<At, StoreError> {
        let node = match self.free.pop() {
            Some(node) => node,
            None if self.used_words + u64::from(self.words) <= self.most_words => {
                let node = self.used_words as At;
                self.used_words += u64::from(self.words);
                node
            }
            None => {
                return Err(StoreError::Full {
                    capacity: self.entry_capacity,
                });
            }
        };
        let words = self.region.words_mut(node, self.words as usize);
        words.fill(NO_KEY);
        words[COUNT as usize] = level << 16;
        Ok(node)
    }

    pub(super) fn free_node(&mut self, node: At) {
        self.free.push(node);
    }

    #[inline]
    pub(super) fn header(&self, node: At, touch: &mut impl Touch) -> (u32, u32) {
        let word = self.region.word(node + COUNT, touch);
        (word & 0xffff, word >> 16)
    }

    pub(super) fn set_header(&mut self, node: At, count: u32, level: u32, touch: &mut impl Touch) {
        self.region
            .set_word(node + COUNT, count | level << 16, touch);
    }

    #[inline]
    pub(super) const fn values(&self) -> u32 {
        KEYS + self.capacity
    }

    pub(super) const fn keys_at(node: At) -> At {
        node + KEYS
    }

    pub(super) const fn values_at(&self, node: At) -> At {
        node + self.values()
    }

    /// Return where child `place` of an inner node stands.
    #[inline]
    const fn child_at(&self, node: At, place: u32) -> At {
        // The first child takes the word of the next leaf; the others follow as the values do.
        let values = if place == 0 { NEXT + 1 } else { self.values() };
        node + values + place - 1
    }

    /// Return the rank of `key` in a node.
    #[inline(always)]
    pub(super) fn rank(&self, node: At, key: u32, touch: &mut impl Touch) -> u32 {
        touch.work(Work::IndexNodes, 1);
        rank(
            &self.region,
            node + KEYS,
            self.capacity as usize,
            key,
            touch,
        ) as u32
    }

    /// Return how many keys of a node are not above `key`; with `IS_FIXED` it has as many keys as
    /// [`rank_fixed`] compares.
    #[inline(always)]
    fn rank_after<const IS_FIXED: bool>(&self, node: At, key: u32, touch: &mut impl Touch) -> u32 {
        if !IS_FIXED {
            return self.rank(node, key.saturating_add(1), touch);
        }
        touch.work(Work::IndexNodes, 1);
        rank_fixed(&self.region, node + KEYS, key.saturating_add(1), touch)
    }

    /// Return the child of an inner node that leads to `key`.
    #[inline(always)]
    pub(super) fn child_of<const IS_FIXED: bool>(
        &self,
        node: At,
        key: u32,
        touch: &mut impl Touch,
    ) -> At {
        let place = self.rank_after::<IS_FIXED>(node, key, touch);
        self.region.word(self.child_at(node, place), touch)
    }

    #[inline]
    pub(super) fn key(&self, node: At, place: u32, touch: &mut impl Touch) -> u32 {
        self.region.word(node + KEYS + place, touch)
    }

    #[inline]
    pub(super) fn value(&self, node: At, place: u32, touch: &mut impl Touch) -> u32 {
        self.region.word(node + self.values() + place, touch)
    }

    pub(super) fn set_entry(
        &mut self,
        node: At,
        place: u32,
        (key, value): (u32, u32),
        touch: &mut impl Touch,
    ) {
        self.region.set_word(node + KEYS + place, key, touch);
        self.region
            .set_word(node + self.values() + place, value, touch);
    }

    /// Return the leaf after another one, [`NOWHERE`] after the last.
    #[inline]
    pub(super) fn next(&self, leaf: At, touch: &mut impl Touch) -> At {
        self.region.word(leaf + NEXT, touch)
    }

    pub(super) fn set_next(&mut self, leaf: At, next: At, touch: &mut impl Touch) {
        self.region.set_word(leaf + NEXT, next, touch);
    }

    /// Say that a node will be searched: its first lines, or all of a small one.
    #[inline]
    pub(super) fn prefetch_node(&self, node: At) {
        const LINE_WORDS: u32 = 16;
        let lines = (self.words / LINE_WORDS).min(4);
        for line in 0..lines {
            // A node that is nowhere may be prefetched: nothing comes of it.
            self.region.prefetch(node.wrapping_add(line * LINE_WORDS));
        }
    }

    #[inline]
    pub(super) fn leaf_of(&self, key: u32, touch: &mut impl Touch) -> At {
        let mut node = self.root;
        for _ in 1..self.height {
            node = self.child_of::<false>(node, key, touch);
        }
        node
    }

    /// Return the value of `key`.
    #[inline]
    pub fn get(&self, key: u32, touch: &mut impl Touch) -> Option<u32> {
        let leaf = self.leaf_of(key, touch);
        self.get_in(leaf, key, touch)
    }

    /// Return the value of `key` in its leaf.
    #[inline(always)]
    pub(super) fn get_in(&self, leaf: At, key: u32, touch: &mut impl Touch) -> Option<u32> {
        let place = self.rank(leaf, key, touch);
        // Unused places have the reserved key, which may be looked up and belongs to no record.
        (place < self.capacity && self.key(leaf, place, touch) == key && key != NO_KEY)
            .then(|| self.value(leaf, place, touch))
    }

    /// Return the entry with the greatest key that is not above `key`.
    #[inline]
    pub fn floor(&self, key: u32, touch: &mut impl Touch) -> Option<(u32, u32)> {
        let leaf = self.leaf_of(key, touch);
        self.floor_in::<false>(leaf, key, touch)
    }

    /// Return that entry, given the leaf of `key`.
    #[inline(always)]
    pub(super) fn floor_in<const IS_FIXED: bool>(
        &self,
        leaf: At,
        key: u32,
        touch: &mut impl Touch,
    ) -> Option<(u32, u32)> {
        let place = self.rank_after::<IS_FIXED>(leaf, key, touch);
        if place == 0 {
            return self.last_before(key, touch);
        }
        let key = self.key(leaf, place - 1, touch);
        Some((key, self.value(leaf, place - 1, touch)))
    }

    /// Return the last entry of the leaf before that of `key`: entries were removed there.
    #[cold]
    fn last_before(&self, key: u32, touch: &mut impl Touch) -> Option<(u32, u32)> {
        let leaf = self.leaf_before(&self.path_to(key, touch), touch)?;
        let (count, _) = self.header(leaf, touch);
        let place = count.checked_sub(1)?;
        let key = self.key(leaf, place, touch);
        Some((key, self.value(leaf, place, touch)))
    }

    /// Return the leaf and the place of the first entry with a key not below `key`.
    pub fn seek(&self, key: u32, touch: &mut impl Touch) -> (At, u32) {
        let leaf = self.leaf_of(key, touch);
        let place = self.rank(leaf, key, touch);
        if place < self.header(leaf, touch).0 {
            (leaf, place)
        } else {
            (self.next(leaf, touch), 0)
        }
    }

    pub(super) fn path_to(&self, key: u32, touch: &mut impl Touch) -> Path {
        let mut path = Path {
            nodes: [NOWHERE; MOST_LEVELS],
            places: [0; MOST_LEVELS],
            depth: self.height - 1,
        };
        let mut node = self.root;
        for depth in 0..path.depth {
            path.nodes[depth] = node;
            path.places[depth] = self.rank(node, key.saturating_add(1), touch);
            node = self.child(node, path.places[depth], touch);
        }
        path.nodes[path.depth] = node;
        path
    }

    pub(super) fn child(&self, node: At, place: u32, touch: &mut impl Touch) -> At {
        self.region.word(self.child_at(node, place), touch)
    }

    pub(super) fn set_child(&mut self, node: At, place: u32, child: At, touch: &mut impl Touch) {
        self.region
            .set_word(self.child_at(node, place), child, touch);
    }

    /// Return the leaf before the last one of a path; None if it is the first.
    pub(super) fn leaf_before(&self, path: &Path, touch: &mut impl Touch) -> Option<At> {
        let depth = (0..path.depth).rfind(|&depth| path.places[depth] > 0)?;
        let mut node = self.child(path.nodes[depth], path.places[depth] - 1, touch);
        for _ in depth + 1..path.depth {
            let (count, _) = self.header(node, touch);
            node = self.child(node, count, touch);
        }
        Some(node)
    }
}

impl Path {
    pub(super) const fn leaf(&self) -> At {
        self.nodes[self.depth]
    }

    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    pub(super) const fn node(&self, depth: usize) -> (At, u32) {
        (self.nodes[depth], self.places[depth])
    }
}
