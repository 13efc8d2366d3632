//! Changes of sorted nodes: inserts, with the splits that they cause, and removals.

use super::StoreError;
use super::index::{Index, NO_KEY};
use super::region::{At, WORD_BYTES};
use super::sorted::Sorted;
use super::tags::{NO_TAG, tag_of};
use super::touch::{Area, Touch, Work};

impl Sorted {
    pub(super) fn new_node(&mut self, touch: &mut impl Touch) -> Result<At, StoreError> {
        let node = self.placer.place().ok_or(StoreError::Full {
            capacity: self.capacity,
        })?;
        self.region.set_word(node, 0, touch);
        self.clear_keys(self.key_at(node, 0), self.per_node, touch);
        if self.has_tags {
            let first = u64::from(node + 1) * WORD_BYTES;
            touch.write(Area::Nodes, first, u64::from(self.per_node));
            self.tags_mut(node).fill(NO_TAG);
        }
        self.directory.push(node);
        Ok(node)
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
        self.prefetch_change(node);
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
        let is_last = place == count
            && index
                .floor(NO_KEY - 1, touch)
                .is_some_and(|(_, last)| last == node);
        // Records in ascending order leave full nodes behind.
        let left_count = if is_last || place > count / 2 && count == 1 {
            count
        } else {
            count / 2
        };
        let separator = if left_count == count {
            key
        } else {
            self.region.word(self.key_at(node, left_count), touch)
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

    fn insert_at(&mut self, node: At, place: u32, record: &[u32], touch: &mut impl Touch) {
        let count = self.count(node, touch);
        let moved = (count - place) as usize;
        let keys = self.key_at(node, place);
        self.region.shift(keys, keys + 1, moved, touch);
        self.region.set_word(keys, record[0], touch);
        let slot = if self.has_tags {
            self.move_slots(node, place, place + 1, moved, touch);
            self.set_slot(node, place, count, touch);
            self.set_tag(node, count, tag_of(record[0]), touch);
            count
        } else {
            let at = self.record_at(node, place);
            let words = moved * self.record_words as usize;
            self.region.shift(at, at + self.record_words, words, touch);
            place
        };
        self.write(self.record_at(node, slot), 0, record, touch);
        self.region.set_word(node, count + 1, touch);
    }

    /// Write words into a record, from word `first` of it on.
    pub fn write(&mut self, at: At, first: u32, words: &[u32], touch: &mut impl Touch) {
        self.region.write(at + first, words, touch);
    }

    fn set_slot(&mut self, node: At, place: u32, slot: u32, touch: &mut impl Touch) {
        let at = self.slots_at(node);
        touch.write(
            Area::Nodes,
            u64::from(at) * WORD_BYTES + u64::from(place),
            1,
        );
        self.region.bytes_mut(at, self.per_node as usize)[place as usize] = slot as u8;
    }

    /// Move the slots of `count` keys from one place on to another.
    fn move_slots(&mut self, node: At, from: u32, to: u32, count: usize, touch: &mut impl Touch) {
        let at = self.slots_at(node);
        let byte = |place: u32| u64::from(at) * WORD_BYTES + u64::from(place);
        touch.read(Area::Nodes, byte(from), count as u64);
        touch.write(Area::Nodes, byte(to), count as u64);
        touch.work(Work::CopiedBytes, count as u64);
        let slots = self.region.bytes_mut(at, self.per_node as usize);
        slots.copy_within(from as usize..from as usize + count, to as usize);
    }

    /// Move the records from key `left_count` on to an empty node.
    fn move_upper(&mut self, node: At, right: At, left_count: u32, touch: &mut impl Touch) {
        let count = self.count(node, touch);
        let moved = count - left_count;
        if self.has_tags {
            for place in 0..moved {
                let slot = self.slot(node, left_count + place, touch);
                self.move_record((node, slot), (right, place), touch);
                self.set_slot(right, place, place, touch);
            }
            self.close_gaps(node, left_count, touch);
        } else {
            let words = (moved * self.record_words) as usize;
            let (from, to) = (self.record_at(node, left_count), self.record_at(right, 0));
            self.region.shift(from, to, words, touch);
        }
        let (from, to) = (self.key_at(node, left_count), self.key_at(right, 0));
        self.region.shift(from, to, moved as usize, touch);
        self.clear_keys(from, moved, touch);
        self.region.set_word(right, moved, touch);
        self.region.set_word(node, left_count, touch);
    }

    fn clear_keys(&mut self, at: At, count: u32, touch: &mut impl Touch) {
        let bytes = u64::from(count) * WORD_BYTES;
        touch.write(Area::Nodes, u64::from(at) * WORD_BYTES, bytes);
        self.region.words_mut(at, count as usize).fill(NO_KEY);
    }

    /// Move a record, and its tag, from a slot of a node to another slot.
    fn move_record(
        &mut self,
        (node, slot): (At, u32),
        (target, place): (At, u32),
        touch: &mut impl Touch,
    ) {
        let (from, to) = (self.record_at(node, slot), self.record_at(target, place));
        self.region
            .shift(from, to, self.record_words as usize, touch);
        let tag = self.tags_mut(node)[slot as usize];
        self.set_tag(node, slot, NO_TAG, touch);
        self.set_tag(target, place, tag, touch);
    }

    /// Bring the records of the first `count` keys into the first slots: the others are free.
    fn close_gaps(&mut self, node: At, count: u32, touch: &mut impl Touch) {
        let mut gap = 0;
        for place in 0..count {
            let slot = self.slot(node, place, touch);
            if slot < count {
                continue;
            }
            while self.tags_mut(node)[gap as usize] != NO_TAG {
                gap += 1;
            }
            self.move_record((node, slot), (node, gap), touch);
            self.set_slot(node, place, gap, touch);
        }
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
        let moved = (count - place - 1) as usize;
        if self.has_tags {
            let slot = self.slot(node, place, touch);
            self.move_slots(node, place + 1, place, moved, touch);
            self.free_slot(node, slot, count - 1, touch);
        } else {
            let at = self.record_at(node, place);
            let words = moved * self.record_words as usize;
            self.region.shift(at + self.record_words, at, words, touch);
        }
        let keys = self.key_at(node, place);
        self.region.shift(keys + 1, keys, moved, touch);
        self.region.set_word(keys + moved as u32, NO_KEY, touch);
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

    /// Free a slot, to which the record in the last one moves; `last` records are left.
    fn free_slot(&mut self, node: At, slot: u32, last: u32, touch: &mut impl Touch) {
        if slot == last {
            self.set_tag(node, slot, NO_TAG, touch);
            return;
        }
        self.move_record((node, last), (node, slot), touch);
        let place = (0..last).find(|&place| self.slot(node, place, touch) == last);
        self.set_slot(node, place.expect("each slot has a key"), slot, touch);
    }
}
