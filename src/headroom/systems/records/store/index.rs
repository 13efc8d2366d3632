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
use super::search::rank;
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
const KEYS: u32 = 2;

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
    words: u32,
    /// Keys of a node.
    capacity: u32,
    pub(super) root: At,
    pub(super) height: usize,
    used_words: u64,
    most_words: u64,
    free: Vec<At>,
    entry_capacity: u64,
}

impl Index {
    /// Return an empty index for at most `entries` entries.
    ///
    /// # Errors
    ///
    /// Nodes of this size cannot be, or there is no memory.
    pub fn new(node_bytes: u64, entries: u64, pages: Pages) -> Result<Self, StoreError> {
        check_node_bytes(node_bytes)?;
        let bytes = Self::most_bytes(node_bytes, entries);
        let words = (node_bytes / 4) as u32;
        let mut index = Self {
            region: Region::mapped(Area::Index, bytes, pages)?,
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

    fn new_node(&mut self, level: u32) -> Result<At, StoreError> {
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
        self.region.set_word(node + COUNT, count | level << 16, touch);
    }

    #[inline]
    const fn values(&self) -> u32 {
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
        rank(&self.region, node + KEYS, self.capacity as usize, key, touch) as u32
    }

    /// Return the child of an inner node that leads to `key`.
    #[inline(always)]
    pub(super) fn child_of(&self, node: At, key: u32, touch: &mut impl Touch) -> At {
        let place = self.rank(node, key.saturating_add(1), touch);
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
    fn leaf_of(&self, key: u32, touch: &mut impl Touch) -> At {
        let mut node = self.root;
        for _ in 1..self.height {
            node = self.child_of(node, key, touch);
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
        self.floor_in(leaf, key, touch)
    }

    /// Return that entry, given the leaf of `key`.
    #[inline(always)]
    pub(super) fn floor_in(&self, leaf: At, key: u32, touch: &mut impl Touch) -> Option<(u32, u32)> {
        let place = self.rank(leaf, key.saturating_add(1), touch);
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

    /// Add an entry; return whether it is new: the value of a present key is replaced.
    ///
    /// # Errors
    ///
    /// The index is full, and unchanged.
    ///
    /// # Panics
    ///
    /// If the key is [`NO_KEY`].
    pub fn insert(
        &mut self,
        key: u32,
        value: u32,
        touch: &mut impl Touch,
    ) -> Result<bool, StoreError> {
        assert!(key != NO_KEY, "the key {NO_KEY} is reserved");
        let path = self.path_to(key, touch);
        let leaf = path.leaf();
        let place = self.rank(leaf, key, touch);
        let (count, _) = self.header(leaf, touch);
        if place < count && self.key(leaf, place, touch) == key {
            self.region
                .set_word(leaf + self.values() + place, value, touch);
            return Ok(false);
        }
        if count == self.capacity && !self.has_room_for_splits() {
            return Err(StoreError::Full {
                capacity: self.entry_capacity,
            });
        }
        self.insert_in(&path, place, (key, value), touch)?;
        Ok(true)
    }

    /// Whether every node of a path could be split: checked before, so that nothing is half done.
    fn has_room_for_splits(&self) -> bool {
        let free = self.free.len() as u64 + (self.most_words - self.used_words) / u64::from(self.words);
        free > self.height as u64
    }

    /// Insert into a leaf, and separators into the nodes above as far as nodes split.
    fn insert_in(
        &mut self,
        path: &Path,
        place: u32,
        entry: (u32, u32),
        touch: &mut impl Touch,
    ) -> Result<(), StoreError> {
        let (mut place, mut entry) = (place, entry);
        let is_rightmost = self.next(path.leaf(), touch) == NOWHERE;
        for depth in (0..=path.depth).rev() {
            let node = path.nodes[depth];
            if self.header(node, touch).0 < self.capacity {
                self.make_room(node, place, touch);
                self.set_entry(node, place, entry, touch);
                return Ok(());
            }
            entry = self.split(node, place, entry, is_rightmost, touch)?;
            if depth > 0 {
                place = path.places[depth - 1];
            }
        }
        self.grow(entry, touch)
    }

    fn make_room(&mut self, node: At, place: u32, touch: &mut impl Touch) {
        let (count, level) = self.header(node, touch);
        let moved = (count - place) as usize;
        for at in [node + KEYS + place, node + self.values() + place] {
            self.region.shift(at, at + 1, moved, touch);
        }
        self.set_header(node, count + 1, level, touch);
    }

    /// Split a full node around a new entry; return the separator and the new node on its right.
    ///
    /// A rightmost node that grows at its end stays full: keys in ascending order leave no gaps.
    fn split(
        &mut self,
        node: At,
        place: u32,
        (key, value): (u32, u32),
        is_rightmost: bool,
        touch: &mut impl Touch,
    ) -> Result<(u32, u32), StoreError> {
        let (count, level) = self.header(node, touch);
        let is_leaf = level == 0;
        let right = self.new_node(level)?;
        let is_last = place == count && is_rightmost;
        let left_count = if is_last { count } else { count / 2 };
        if is_leaf {
            let next = self.next(node, touch);
            self.set_next(right, next, touch);
            self.set_next(node, right, touch);
        }
        if is_last && is_leaf {
            self.set_entry(right, 0, (key, value), touch);
            self.set_header(right, 1, level, touch);
            return Ok((key, right));
        }
        if is_last {
            // The separator goes up, and its node is all that the new one has.
            self.set_child(right, 0, value, touch);
            return Ok((key, right));
        }
        let separator = self.move_upper(node, right, left_count, touch);
        let in_right = key >= separator;
        let (target, place) = if !in_right {
            (node, place)
        } else if is_leaf {
            (right, place - left_count)
        } else {
            (right, place - left_count - 1)
        };
        self.make_room(target, place, touch);
        self.set_entry(target, place, (key, value), touch);
        Ok((separator, right))
    }

    /// Move the entries from `left_count` on to an empty node; return the separator of the two,
    /// which of an inner node moves up.
    fn move_upper(
        &mut self,
        node: At,
        right: At,
        left_count: u32,
        touch: &mut impl Touch,
    ) -> u32 {
        let (count, level) = self.header(node, touch);
        let separator = self.key(node, left_count, touch);
        let first = if level == 0 {
            left_count
        } else {
            let child = self.value(node, left_count, touch);
            self.set_child(right, 0, child, touch);
            left_count + 1
        };
        let moved = (count - first) as usize;
        for part in [KEYS, self.values()] {
            self.region
                .shift(node + part + first, right + part, moved, touch);
        }
        let cleared = (count - left_count) as usize;
        self.region
            .words_mut(node + KEYS + left_count, cleared)
            .fill(NO_KEY);
        self.set_header(right, count - first, level, touch);
        self.set_header(node, left_count, level, touch);
        separator
    }

    fn grow(
        &mut self,
        (key, right): (u32, u32),
        touch: &mut impl Touch,
    ) -> Result<(), StoreError> {
        let (_, level) = self.header(self.root, touch);
        let root = self.new_node(level + 1)?;
        self.set_child(root, 0, self.root, touch);
        self.set_entry(root, 0, (key, right), touch);
        self.set_header(root, 1, level + 1, touch);
        self.root = root;
        self.height += 1;
        Ok(())
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

impl Index {
    /// Return all entries in ascending order.
    pub fn entries(&self) -> Vec<(u32, u32)> {
        let touch = &mut super::touch::Silent;
        let (mut leaf, mut found) = (self.leaf_of(0, touch), Vec::new());
        while leaf != NOWHERE {
            let (count, _) = self.header(leaf, touch);
            for place in 0..count {
                found.push((self.key(leaf, place, touch), self.value(leaf, place, touch)));
            }
            leaf = self.next(leaf, touch);
        }
        found
    }

    /// Check the invariants.
    ///
    /// # Errors
    ///
    /// Which node breaks which one.
    pub fn check(&self) -> Result<(), String> {
        let mut leaves = Vec::new();
        self.check_node(self.root, self.height - 1, (0, NO_KEY), &mut leaves)?;
        let touch = &mut super::touch::Silent;
        let nexts = leaves.iter().skip(1).copied().chain([NOWHERE]);
        for (&leaf, next) in leaves.iter().zip(nexts) {
            if self.next(leaf, touch) != next {
                return Err(format!("leaf {leaf} is not followed by the next one"));
            }
        }
        Ok(())
    }

    fn check_node(
        &self,
        node: At,
        level: usize,
        (low, high): (u32, u32),
        leaves: &mut Vec<At>,
    ) -> Result<(), String> {
        let touch = &mut super::touch::Silent;
        let (count, own_level) = self.header(node, touch);
        let keys = self.region.words(node + KEYS, self.capacity as usize);
        let (used, unused) = keys.split_at(count as usize);
        if own_level as usize != level || unused.iter().any(|&key| key != NO_KEY) {
            return Err(format!("node {node} has level {own_level}, or keys too many"));
        }
        let is_sorted = used.is_sorted_by(|one, other| one < other);
        if !is_sorted || used.iter().any(|key| !(low..high).contains(key)) {
            return Err(format!("node {node} has keys that are not its own"));
        }
        if level == 0 {
            leaves.push(node);
            return Ok(());
        }
        for place in 0..=count {
            let low = if place == 0 { low } else { used[place as usize - 1] };
            let high = used.get(place as usize).copied().unwrap_or(high);
            let child = self.child(node, place, touch);
            self.check_node(child, level - 1, (low, high), leaves)?;
        }
        Ok(())
    }
}
