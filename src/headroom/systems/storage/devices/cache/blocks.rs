//! The blocks of a cache: which are present, which are dirty, which are being written back.
//!
//! Invariant: a block has one slot; a slot can be given to another block only while its block is
//! clean and not on its way to the device, and is in the list of recency exactly then.

use std::collections::{BTreeMap, BTreeSet};

use super::super::recency::Recency;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    block: u64,
    is_dirty: bool,
    /// Its writes that are on their way to the device.
    leaving: u32,
}

impl Slot {
    fn is_pinned(self) -> bool {
        self.is_dirty || self.leaving > 0
    }
}

/// Blocks by their number.
#[derive(Debug)]
pub struct Blocks {
    found: BTreeMap<u64, u32>,
    slots: Vec<Slot>,
    capacity: u32,
    recency: Recency,
    dirty: BTreeSet<u64>,
    pinned: u32,
}

impl Blocks {
    /// Make room for `capacity` blocks.
    pub fn new(capacity: u32) -> Self {
        Self {
            found: BTreeMap::new(),
            slots: Vec::new(),
            capacity,
            recency: Recency::new(capacity),
            dirty: BTreeSet::new(),
            pinned: 0,
        }
    }

    /// Return the number of blocks present.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Return the number of blocks that must be written.
    pub fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// Return the number of blocks that cannot be given up: dirty, or on their way to the device.
    pub fn pinned_count(&self) -> u32 {
        self.pinned
    }

    /// Return whether a block is present.
    pub fn contains(&self, block: u64) -> bool {
        self.found.contains_key(&block)
    }

    /// Return whether a block is there and cannot be given up.
    pub fn is_pinned(&self, block: u64) -> bool {
        self.found
            .get(&block)
            .is_some_and(|&slot| self.slots[slot as usize].is_pinned())
    }

    /// Note a use of a block; return whether it is present.
    pub fn touch(&mut self, block: u64) -> bool {
        let Some(&slot) = self.found.get(&block) else {
            return false;
        };
        if !self.slots[slot as usize].is_pinned() {
            self.recency.remove(slot);
            self.recency.push(slot);
        }
        true
    }

    /// Keep a block that was read, in the place of the one used longest ago; not if all of them
    /// must stay.
    pub fn insert(&mut self, block: u64) {
        if self.touch(block) {
            return;
        }
        if let Some(slot) = self.slot_for(block) {
            self.recency.push(slot);
        }
    }

    /// Make a block dirty; None if there is no room for it.
    pub fn write(&mut self, block: u64) -> Option<()> {
        let slot = if let Some(&slot) = self.found.get(&block) {
            if !self.slots[slot as usize].is_pinned() {
                self.recency.remove(slot);
                self.pinned += 1;
            }
            slot
        } else {
            let slot = self.slot_for(block)?;
            self.pinned += 1;
            slot
        };
        self.slots[slot as usize].is_dirty = true;
        self.dirty.insert(block);
        Some(())
    }

    /// Return the first dirty block that is not before `from`, or of all if there is none.
    pub fn next_dirty(&self, from: u64) -> Option<u64> {
        let after = self.dirty.range(from..).next();
        after.or_else(|| self.dirty.first()).copied()
    }

    /// Return whether a block is dirty.
    pub fn is_dirty(&self, block: u64) -> bool {
        self.dirty.contains(&block)
    }

    /// Send a block to the device.
    pub fn leave(&mut self, block: u64) {
        let index = self.found[&block];
        let slot = &mut self.slots[index as usize];
        if !slot.is_pinned() {
            self.recency.remove(index);
            self.pinned += 1;
        }
        slot.is_dirty = false;
        slot.leaving += 1;
        self.dirty.remove(&block);
    }

    /// Note that a block has reached the device; return false if it never left.
    pub fn arrived(&mut self, block: u64) -> bool {
        let Some(&index) = self.found.get(&block) else {
            return false;
        };
        let slot = &mut self.slots[index as usize];
        if slot.leaving == 0 {
            return false;
        }
        slot.leaving -= 1;
        if !slot.is_pinned() {
            self.pinned -= 1;
            self.recency.push(index);
        }
        true
    }

    /// Forget that a block is dirty: its data is no longer needed.
    pub fn forget(&mut self, block: u64) {
        if !self.dirty.remove(&block) {
            return;
        }
        let index = self.found[&block];
        let slot = &mut self.slots[index as usize];
        slot.is_dirty = false;
        if !slot.is_pinned() {
            self.pinned -= 1;
            self.recency.push(index);
        }
    }

    /// Give a slot to a block that has none: a new one, or that of the block used longest ago.
    fn slot_for(&mut self, block: u64) -> Option<u32> {
        let slot = Slot {
            block,
            ..Slot::default()
        };
        let made = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let index = if made < self.capacity {
            self.slots.push(slot);
            made
        } else {
            let oldest = self.recency.oldest()?;
            self.recency.remove(oldest);
            self.found.remove(&self.slots[oldest as usize].block);
            self.slots[oldest as usize] = slot;
            oldest
        };
        self.found.insert(block, index);
        Some(index)
    }
}
