//! Nodes whose keys are in order, apart from the records; the index knows nodes, not records.
//!
//! The index knows the smallest number that may be in each node; that of the first node is 0, so
//! every number has a node. Words of a node: count; keys in order; records, at its end. Keys that
//! are not used are [`NO_KEY`], so that a search compares as many in every node.
//!
//! Nodes of 16 to 255 records have tags behind the count, one byte for each record, and slots behind
//! the keys, one byte for each key: where its record is. A look-up reads a line of tags and the
//! record, instead of about three lines of keys and the record; an insert moves keys and slots, and
//! no records. In other nodes records are in the order of the keys.
//!
//! Invariants of slots: those of `n` records are 0 to `n - 1`, each once; the tag of a slot is that
//! of its record's number, `NO_TAG` from slot `n` on.

#![allow(
    clippy::inline_always,
    reason = "searches are compiled once for each kind of vectors, with the batch that calls them"
)]

use super::StoreError;
use super::index::{Index, NO_KEY};
use super::placement::Placer;
use super::region::{At, NOWHERE, Region, WORD_BYTES};
use super::search::rank;
use super::spec::Spec;
use super::tags::{LINE_BYTES, NO_TAG, matching, tag_of};
use super::touch::{Area, Touch, Work};

/// Words of a line.
pub(super) const LINE_WORDS: u32 = 16;
/// Most lines of a node that are prefetched: the processor follows by itself.
const LINES_AHEAD: u32 = 20;
/// Bytes (B) of the count, which are before the tags.
const COUNT_BYTES: u32 = 4;

/// Sorted nodes.
#[derive(Debug)]
pub struct Sorted {
    pub(super) region: Region,
    pub(super) placer: Placer,
    pub(super) words: u32,
    pub(super) record_words: u32,
    pub(super) per_node: u32,
    pub(super) has_tags: bool,
    /// Words from the start of a node to its keys.
    keys: u32,
    pub(super) capacity: u64,
    /// Nodes in the order in which they were begun.
    pub(super) directory: Vec<At>,
}

impl Sorted {
    /// Return one empty node, and make it known to the index.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn new(spec: &Spec, index: &mut Index, touch: &mut impl Touch) -> Result<Self, StoreError> {
        let (region, placer) = Placer::new(spec)?;
        let per_node = spec.records_per_node() as u32;
        let tag_bytes = if spec.has_tags() { per_node } else { 0 };
        let mut sorted = Self {
            region,
            placer,
            words: (spec.node_bytes / WORD_BYTES) as u32,
            record_words: (spec.stride_bytes() / WORD_BYTES) as u32,
            per_node,
            has_tags: spec.has_tags(),
            keys: (COUNT_BYTES + tag_bytes).div_ceil(WORD_BYTES as u32),
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

    #[inline]
    pub(super) fn count(&self, node: At, touch: &mut impl Touch) -> u32 {
        self.region.word(node, touch)
    }

    /// Return where key `place` of a node is.
    #[inline]
    pub(super) const fn key_at(&self, node: At, place: u32) -> At {
        node + self.keys + place
    }

    /// Return where the slots of a node are.
    #[inline]
    pub(super) const fn slots_at(&self, node: At) -> At {
        self.key_at(node, self.per_node)
    }

    /// Return where the record in a slot of a node is.
    #[inline]
    pub(super) const fn record_at(&self, node: At, slot: u32) -> At {
        node + self.words - (self.per_node - slot) * self.record_words
    }

    /// Return the slot of key `place`.
    #[inline]
    pub(super) fn slot(&self, node: At, place: u32, touch: &mut impl Touch) -> u32 {
        if !self.has_tags {
            return place;
        }
        let at = self.slots_at(node);
        touch.read(
            Area::Nodes,
            u64::from(at) * WORD_BYTES + u64::from(place),
            1,
        );
        u32::from(self.region.bytes(at, self.per_node as usize)[place as usize])
    }

    /// Return the rank of `key` in a node, and whether the record there has this number.
    #[inline(always)]
    pub(super) fn find(&self, node: At, key: u32, touch: &mut impl Touch) -> (u32, bool) {
        touch.work(Work::RecordNodes, 1);
        let keys = self.key_at(node, 0);
        let place = rank(&self.region, keys, self.per_node as usize, key, touch) as u32;
        let is_here =
            key != NO_KEY && place < self.per_node && self.region.word(keys + place, touch) == key;
        (place, is_here)
    }

    /// Return where the record of `key` is in its node.
    #[inline(always)]
    pub(super) fn get_in(&self, node: At, key: u32, touch: &mut impl Touch) -> Option<At> {
        if self.has_tags {
            touch.work(Work::RecordNodes, 1);
            return self.candidates(node, key, touch, |at, touch| self.is_of(at, key, touch));
        }
        let (place, is_here) = self.find(node, key, touch);
        is_here.then(|| self.record_at(node, place))
    }

    /// Return whether the record at `at` has a number.
    #[inline(always)]
    pub(super) fn is_of(&self, at: At, key: u32, touch: &mut impl Touch) -> bool {
        touch.work(Work::Comparisons, 1);
        self.region.word(at, touch) == key
    }

    /// Prefetch the records of a node that have the tag of `key`; return the first one.
    #[inline(always)]
    pub(super) fn prefetch_candidates(&self, node: At, key: u32, touch: &mut impl Touch) -> At {
        let mut first = NOWHERE;
        self.candidates(node, key, touch, |at, _| {
            self.prefetch_record(at);
            first = first.min(at);
            false
        });
        first
    }

    /// Return the first record with the tag of `key` that `is_it` accepts.
    #[inline(always)]
    fn candidates<T: Touch>(
        &self,
        node: At,
        key: u32,
        touch: &mut T,
        mut is_it: impl FnMut(At, &mut T) -> bool,
    ) -> Option<At> {
        let tag = tag_of(key);
        for line in 0..self.tag_lines() {
            let at = node + line * LINE_WORDS;
            touch.read(Area::Nodes, u64::from(at) * WORD_BYTES, LINE_BYTES as u64);
            let bytes = self.region.bytes(at, LINE_BYTES);
            let mut bits = matching(bytes.try_into().expect("a line"), tag);
            if line == 0 {
                // The count is no tag.
                bits &= u64::MAX << COUNT_BYTES;
            }
            while bits != 0 {
                let slot = line * LINE_BYTES as u32 + bits.trailing_zeros() - COUNT_BYTES;
                // Behind the last tag are keys, whose bytes may look like tags.
                if slot >= self.per_node {
                    break;
                }
                let at = self.record_at(node, slot);
                if is_it(at, touch) {
                    return Some(at);
                }
                bits &= bits - 1;
            }
        }
        None
    }

    #[inline]
    const fn tag_lines(&self) -> u32 {
        (COUNT_BYTES + self.per_node).div_ceil(LINE_BYTES as u32)
    }

    /// Return the tags of a node, to change them.
    #[inline]
    pub(super) fn tags_mut(&mut self, node: At) -> &mut [u8] {
        self.region.bytes_mut(node + 1, self.per_node as usize)
    }

    /// Set the tag of a slot.
    #[inline]
    pub(super) fn set_tag(&mut self, node: At, slot: u32, tag: u8, touch: &mut impl Touch) {
        let byte = u64::from(node) * WORD_BYTES + u64::from(COUNT_BYTES + slot);
        touch.write(Area::Nodes, byte, 1);
        self.tags_mut(node)[slot as usize] = tag;
    }

    /// Say that a record will be looked up in a node.
    #[inline]
    pub(super) fn prefetch_search(&self, node: At) {
        let lines = if self.has_tags {
            self.tag_lines()
        } else {
            (self.keys + self.per_node).div_ceil(LINE_WORDS)
        };
        self.prefetch_lines(node, lines.min(4));
    }

    /// Say that a record will be inserted into a node.
    #[inline]
    pub(super) fn prefetch_change(&self, node: At) {
        // Without slots, the records behind the place move: their misses overlap with the keys'.
        let words = if self.has_tags {
            self.record_at(0, 0)
        } else {
            self.words
        };
        self.prefetch_lines(node, (words / LINE_WORDS).min(LINES_AHEAD));
    }

    /// Say that the records of a node will be read in order.
    #[inline]
    pub(super) fn prefetch_order(&self, node: At) {
        self.region.prefetch(node);
        if self.has_tags {
            // A node that is nowhere may be prefetched: nothing comes of it.
            let slots = node.wrapping_add(self.slots_at(0));
            for line in 0..=(self.per_node / LINE_BYTES as u32) {
                self.region.prefetch(slots.wrapping_add(line * LINE_WORDS));
            }
        }
    }

    #[inline]
    pub(super) fn prefetch_lines(&self, node: At, lines: u32) {
        for line in 0..lines {
            self.region.prefetch(node.wrapping_add(line * LINE_WORDS));
        }
    }

    /// Say that the record at `at` will be read.
    #[inline]
    pub(super) fn prefetch_record(&self, at: At) {
        let lines = self.record_words.div_ceil(LINE_WORDS);
        self.prefetch_lines(at, lines.min(4));
    }

    /// Return the node whose range a number is in.
    #[inline]
    pub(super) fn node_of(index: &Index, key: u32, touch: &mut impl Touch) -> At {
        let (_, node) = index
            .floor(key, touch)
            .expect("the first node has separator 0");
        node
    }

    /// Return the place of the first record of a node that is not below `key`.
    pub(super) fn seek_in(&self, node: At, key: u32, touch: &mut impl Touch) -> u32 {
        self.find(node, key, touch).0
    }

    /// Check the invariants of a node with numbers from `low` to below `high`; return its records.
    ///
    /// # Errors
    ///
    /// The broken one.
    pub(super) fn check_node(&self, node: At, low: u32, high: u32) -> Result<u32, String> {
        let touch = &mut super::touch::Silent;
        let count = self.count(node, touch);
        let keys = self
            .region
            .words(self.key_at(node, 0), self.per_node as usize);
        let (used, unused) = keys.split_at(count as usize);
        let is_sorted = used.is_sorted_by(|one, other| one < other);
        let is_inside = used.iter().all(|key| (low..high).contains(key));
        if !is_sorted || !is_inside || unused.iter().any(|&key| key != NO_KEY) {
            return Err(format!("node {node} has numbers that are not its own"));
        }
        let mut slots = Vec::new();
        for (&key, place) in used.iter().zip(0..) {
            let slot = self.slot(node, place, touch);
            if self.region.word(self.record_at(node, slot), touch) != key {
                return Err(format!("record {key} of node {node} is another one"));
            }
            slots.push((slot, tag_of(key)));
        }
        slots.sort_unstable();
        if !slots.iter().map(|one| one.0).eq(0..count) {
            return Err(format!("node {node} has records without a key"));
        }
        let free = std::iter::repeat(NO_TAG);
        let expected = slots.iter().map(|one| one.1).chain(free);
        let tags = self.region.bytes(node + 1, self.per_node as usize);
        if self.has_tags && !tags.iter().copied().eq(expected.take(tags.len())) {
            return Err(format!("node {node} has tags that are not its own"));
        }
        Ok(count)
    }
}
