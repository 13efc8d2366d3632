//! Nodes whose records are in the order of their numbers: keys apart from records, both sorted.
//!
//! A search reads the keys, which are few lines, and then one record. The index knows the smallest
//! number that may be in each node; that of the first node is 0, so every number has a node.
//!
//! Words of a node: count; keys; records, at its end. Keys that are not used are [`NO_KEY`], so that
//! a search compares as many in every node, and need not know the count.

#![allow(
    clippy::inline_always,
    reason = "searches are compiled once for each kind of vectors, with the batch that calls them"
)]

use super::StoreError;
use super::index::{Index, NO_KEY};
use super::placement::Placer;
use super::region::{At, Region, WORD_BYTES};
use super::search::rank;
use super::spec::Spec;
use super::touch::{Area, Touch, Work};

const KEYS: u32 = 1;
/// Words of a line.
pub(super) const LINE_WORDS: u32 = 16;
/// Most lines of a node that are prefetched: the processor follows by itself.
const LINES_AHEAD: u32 = 20;

/// Sorted nodes.
#[derive(Debug)]
pub struct Sorted {
    pub(super) region: Region,
    placer: Placer,
    pub(super) words: u32,
    pub(super) record_words: u32,
    per_node: u32,
    capacity: u64,
    /// Nodes in the order in which they were begun.
    directory: Vec<At>,
}

impl Sorted {
    /// Return one empty node, and make it known to the index.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn new(spec: &Spec, index: &mut Index, touch: &mut impl Touch) -> Result<Self, StoreError> {
        let (region, placer) = Placer::new(spec)?;
        let mut sorted = Self {
            region,
            placer,
            words: (spec.node_bytes / WORD_BYTES) as u32,
            record_words: (spec.stride_bytes() / WORD_BYTES) as u32,
            per_node: spec.records_per_node() as u32,
            capacity: spec.capacity,
            directory: Vec::new(),
        };
        let first = sorted.new_node(touch)?;
        index.insert(0, first, touch)?;
        Ok(sorted)
    }

    /// Return the nodes in physical order.
    pub fn directory(&self) -> &[At] {
        &self.directory
    }

    fn new_node(&mut self, touch: &mut impl Touch) -> Result<At, StoreError> {
        let node = self.placer.place().ok_or(StoreError::Full {
            capacity: self.capacity,
        })?;
        self.region.set_word(node, 0, touch);
        self.region
            .words_mut(node + KEYS, self.per_node as usize)
            .fill(NO_KEY);
        self.directory.push(node);
        Ok(node)
    }

    #[inline]
    pub(super) fn count(&self, node: At, touch: &mut impl Touch) -> u32 {
        self.region.word(node, touch)
    }

    /// Return where record `place` of a node is.
    #[inline]
    pub(super) const fn record_at(&self, node: At, place: u32) -> At {
        node + self.words - (self.per_node - place) * self.record_words
    }

    /// Return the rank of `key` in a node, and whether the record there has this number.
    #[inline(always)]
    fn find(&self, node: At, key: u32, touch: &mut impl Touch) -> (u32, bool) {
        touch.work(Work::RecordNodes, 1);
        let place = rank(&self.region, node + KEYS, self.per_node as usize, key, touch) as u32;
        let is_here = key != NO_KEY
            && place < self.per_node && self.region.word(node + KEYS + place, touch) == key;
        (place, is_here)
    }

    /// Return where the record of `key` is in its node.
    #[inline(always)]
    pub(super) fn get_in(&self, node: At, key: u32, touch: &mut impl Touch) -> Option<At> {
        let (place, is_here) = self.find(node, key, touch);
        is_here.then(|| self.record_at(node, place))
    }

    /// Say that the keys of a node will be searched.
    #[inline]
    pub(super) fn prefetch_keys(&self, node: At) {
        let lines = (KEYS + self.per_node).div_ceil(LINE_WORDS).min(4);
        for line in 0..lines {
            self.region.prefetch(node.wrapping_add(line * LINE_WORDS));
        }
    }

    /// Say that all of a node will be read.
    #[inline]
    pub(super) fn prefetch_node(&self, node: At) {
        for line in 0..(self.words / LINE_WORDS).min(LINES_AHEAD) {
            self.region.prefetch(node.wrapping_add(line * LINE_WORDS));
        }
    }

    /// Say that the record at `at` will be read.
    #[inline]
    pub(super) fn prefetch_record(&self, at: At) {
        let lines = self.record_words.div_ceil(LINE_WORDS);
        for line in 0..lines.min(4) {
            self.region.prefetch(at.wrapping_add(line * LINE_WORDS));
        }
    }

    /// Add a record to the node of its number; return whether the number is new. A present record
    /// is left as it is.
    ///
    /// # Errors
    ///
    /// The memory is exhausted; nothing has changed.
    pub fn insert(
        &mut self,
        index: &mut Index,
        record: &[u32],
        touch: &mut impl Touch,
    ) -> Result<bool, StoreError> {
        let key = record[0];
        let node = Self::node_of(index, key, touch);
        // The records behind the place will move: their misses overlap with those of the keys.
        self.prefetch_node(node);
        let (place, is_here) = self.find(node, key, touch);
        if is_here {
            return Ok(false);
        }
        let count = self.count(node, touch);
        if count < self.per_node {
            self.insert_at(node, place, record, touch);
            return Ok(true);
        }
        let right = self.new_node(touch)?;
        let is_last = place == count && index.floor(NO_KEY - 1, touch).is_some_and(|(_, last)| last == node);
        // Records in ascending order leave full nodes behind.
        let left_count = if is_last || place > count / 2 && count == 1 {
            count
        } else {
            count / 2
        };
        let separator = if left_count == count {
            key
        } else {
            self.region.word(node + KEYS + left_count, touch)
        };
        if let Err(why) = index.insert(separator, right, touch) {
            self.directory.pop();
            self.placer.take_back(right);
            return Err(why);
        }
        self.move_upper(node, right, left_count, touch);
        if key >= separator {
            self.insert_at(right, place - left_count, record, touch);
        } else {
            self.insert_at(node, place, record, touch);
        }
        Ok(true)
    }

    /// Return the node whose range a number is in.
    #[inline]
    pub(super) fn node_of(index: &Index, key: u32, touch: &mut impl Touch) -> At {
        let (_, node) = index
            .floor(key, touch)
            .expect("the first node has separator 0");
        node
    }

    fn insert_at(&mut self, node: At, place: u32, record: &[u32], touch: &mut impl Touch) {
        let count = self.count(node, touch);
        let moved = count - place;
        let keys = node + KEYS + place;
        self.region.shift(keys, keys + 1, moved as usize, touch);
        let at = self.record_at(node, place);
        let words = (moved * self.record_words) as usize;
        self.region.shift(at, at + self.record_words, words, touch);
        self.region.set_word(keys, record[0], touch);
        self.write(at, 0, record, touch);
        self.region.set_word(node, count + 1, touch);
    }

    /// Write words into a record, from word `first` of it on.
    pub fn write(&mut self, at: At, first: u32, words: &[u32], touch: &mut impl Touch) {
        let bytes = words.len() as u64 * WORD_BYTES;
        let at = at + first;
        touch.write(Area::Nodes, u64::from(at) * WORD_BYTES, bytes);
        touch.work(Work::CopiedBytes, bytes);
        self.region
            .words_mut(at, words.len())
            .copy_from_slice(words);
    }

    fn move_upper(&mut self, node: At, right: At, left_count: u32, touch: &mut impl Touch) {
        let count = self.count(node, touch);
        let moved = count - left_count;
        self.region
            .shift(node + KEYS + left_count, right + KEYS, moved as usize, touch);
        let words = (moved * self.record_words) as usize;
        let (from, to) = (self.record_at(node, left_count), self.record_at(right, 0));
        self.region.shift(from, to, words, touch);
        self.region
            .words_mut(node + KEYS + left_count, moved as usize)
            .fill(NO_KEY);
        self.region.set_word(right, moved, touch);
        self.region.set_word(node, left_count, touch);
    }

    /// Remove a record; return whether it was there. An empty node is freed.
    ///
    /// # Panics
    ///
    /// If the index lost the first node, which is a defect.
    pub fn remove(&mut self, index: &mut Index, key: u32, touch: &mut impl Touch) -> bool {
        let (separator, node) = index
            .floor(key, touch)
            .expect("the first node has separator 0");
        let (place, is_here) = self.find(node, key, touch);
        if !is_here {
            return false;
        }
        let count = self.count(node, touch);
        let moved = count - place - 1;
        let keys = node + KEYS + place;
        self.region.shift(keys + 1, keys, moved as usize, touch);
        self.region.set_word(keys + moved, NO_KEY, touch);
        let at = self.record_at(node, place);
        let words = (moved * self.record_words) as usize;
        self.region.shift(at + self.record_words, at, words, touch);
        self.region.set_word(node, count - 1, touch);
        if count == 1 && separator != 0 {
            index.remove(separator, touch);
            let number = self.directory.iter().position(|&one| one == node);
            self.directory
                .swap_remove(number.expect("each node is in the directory"));
            self.placer.take_back(node);
        }
        true
    }

    /// Return the place of the first record of a node that is not below `key`.
    pub(super) fn seek_in(&self, node: At, key: u32, touch: &mut impl Touch) -> u32 {
        self.find(node, key, touch).0
    }

    /// Return whether the keys that a node does not use are [`NO_KEY`].
    pub(super) fn is_padded(&self, node: At) -> bool {
        let keys = self.region.words(node + KEYS, self.per_node as usize);
        keys[self.keys_of(node).len()..]
            .iter()
            .all(|&key| key == NO_KEY)
    }

    /// Return the numbers in a node.
    pub(super) fn keys_of(&self, node: At) -> &[u32] {
        let count = self.region.words(node, 1)[0];
        self.region.words(node + KEYS, count as usize)
    }
}
