//! Nodes whose records stay where they were inserted: arrays and slotted pages.
//!
//! A *handle* is the index's value of a record: its address in an array, the address of its slot
//! in a slotted page. A slot holds the distance (words) to its record, 0 if it is free.
//!
//! Invariants: all nodes but the last of the directory are full of records and of free places; a
//! place is either a record's or in the list of free ones.

use super::StoreError;
use super::index::NO_KEY;
use super::operation::Operation;
use super::placement::Placer;
use super::region::{At, Region, WORD_BYTES};
use super::spec::{Layout, Spec};
use super::touch::{Area, Touch, Work};

/// Record storage nodes in the order in which they were begun.
#[derive(Debug)]
pub struct Nodes {
    pub(super) region: Region,
    placer: Placer,
    is_slotted: bool,
    /// Words of a node, and of a record.
    words: u32,
    record_words: u32,
    per_node: u32,
    capacity: u64,
    directory: Vec<At>,
    /// Places that were ever used in the last node.
    filled: u32,
    /// Handles of free places, and where their records were.
    free: Vec<(At, At)>,
}

impl Nodes {
    /// Return nodes without records.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn new(spec: &Spec) -> Result<Self, StoreError> {
        let (region, placer) = Placer::new(spec)?;
        Ok(Self {
            region,
            placer,
            is_slotted: spec.layout == Layout::Slotted,
            words: (spec.node_bytes / WORD_BYTES) as u32,
            record_words: (spec.stride_bytes() / WORD_BYTES) as u32,
            per_node: spec.records_per_node() as u32,
            capacity: spec.capacity,
            directory: Vec::new(),
            filled: 0,
            free: Vec::new(),
        })
    }

    /// Return the nodes in physical order.
    pub fn directory(&self) -> &[At] {
        &self.directory
    }

    /// Return the records and free places.
    pub fn place_count(&self) -> u64 {
        let full = self.directory.len().saturating_sub(1) as u64;
        full * u64::from(self.per_node) + u64::from(self.filled)
    }

    /// Return how many places are free.
    pub fn free_count(&self) -> u64 {
        self.free.len() as u64
    }

    /// Return the handle of place `place` of a node.
    #[inline]
    const fn handle(&self, node: At, place: u32) -> At {
        if self.is_slotted {
            node + self.words - 1 - place
        } else {
            node + place * self.record_words
        }
    }

    /// Return where the record of a handle is.
    #[inline]
    pub fn record(&self, handle: At, touch: &mut impl Touch) -> At {
        if self.is_slotted {
            handle - self.region.word(handle, touch)
        } else {
            handle
        }
    }

    /// Add a record; return its handle.
    ///
    /// # Errors
    ///
    /// All places are taken.
    pub fn insert(&mut self, record: &[u32], touch: &mut impl Touch) -> Result<At, StoreError> {
        let (handle, at) = match self.free.pop() {
            Some(place) => place,
            None => self.new_place(touch)?,
        };
        if self.is_slotted {
            self.region.set_word(handle, handle - at, touch);
        }
        self.write(at, 0, record, touch);
        Ok(handle)
    }

    /// Return a place that was never used: its handle, and where its record goes.
    fn new_place(&mut self, touch: &mut impl Touch) -> Result<(At, At), StoreError> {
        if self.directory.is_empty() || self.filled == self.per_node {
            let node = self.placer.place().ok_or(StoreError::Full {
                capacity: self.capacity,
            })?;
            self.directory.push(node);
            self.filled = 0;
        }
        let node = self.directory[self.directory.len() - 1];
        let place = self.filled;
        self.filled += 1;
        let handle = self.handle(node, place);
        if !self.is_slotted {
            return Ok((handle, handle));
        }
        self.region.set_word(node, self.filled, touch);
        Ok((handle, node + 1 + place * self.record_words))
    }

    /// Write words into a record, from word `first` of it on.
    pub fn write(&mut self, at: At, first: u32, words: &[u32], touch: &mut impl Touch) {
        self.region.write(at + first, words, touch);
    }

    /// Free the place of a handle.
    pub fn remove(&mut self, handle: At, touch: &mut impl Touch) {
        let at = self.record(handle, touch);
        let mark = if self.is_slotted { 0 } else { NO_KEY };
        self.region.set_word(handle, mark, touch);
        self.free.push((handle, at));
    }

    /// Return the record of a place; None if it is free.
    #[inline]
    fn at_place(&self, node: At, place: u32, touch: &mut impl Touch) -> Option<At> {
        let handle = self.handle(node, place);
        if self.is_slotted {
            let distance = self.region.word(handle, touch);
            return (distance != 0).then(|| handle - distance);
        }
        // Without free places there is none to look for.
        let is_free = !self.free.is_empty() && self.region.word(handle, touch) == NO_KEY;
        (!is_free).then_some(handle)
    }

    /// Hand `count` records to `operation` in physical order, from place `first` on, and from the
    /// first place on after the last.
    pub fn scan<T: Touch>(
        &self,
        first: u64,
        count: u64,
        operation: &mut impl Operation,
        touch: &mut T,
    ) {
        let mut left = count.min(self.place_count() - self.free_count());
        let mut number = (first / u64::from(self.per_node)) as usize;
        let mut place = (first % u64::from(self.per_node)) as u32;
        while left > 0 {
            if number == self.directory.len() {
                number = 0;
            }
            touch.read(Area::Directory, number as u64 * WORD_BYTES, WORD_BYTES);
            touch.work(Work::RecordNodes, 1);
            let node = self.directory[number];
            number += 1;
            if T::AHEAD > 0
                && let Some(&soon) = self.directory.get(number + T::AHEAD)
            {
                self.region.prefetch(soon);
            }
            let places = if number == self.directory.len() {
                self.filled
            } else {
                self.per_node
            };
            for place in place..places {
                let Some(at) = self.at_place(node, place, touch) else {
                    continue;
                };
                operation.take(&self.region, at, touch);
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            place = 0;
        }
    }

    /// Return the handles of all records in physical order, and the numbers of these.
    pub fn handles(&self, touch: &mut impl Touch) -> Vec<(u32, At)> {
        let mut found = Vec::new();
        for (number, &node) in self.directory.iter().enumerate() {
            let is_last = number + 1 == self.directory.len();
            let places = if is_last { self.filled } else { self.per_node };
            for place in 0..places {
                if let Some(at) = self.at_place(node, place, touch) {
                    found.push((self.region.word(at, touch), self.handle(node, place)));
                }
            }
        }
        found
    }
}
