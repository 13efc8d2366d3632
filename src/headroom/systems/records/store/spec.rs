//! The parts of a table.

use serde::Deserialize;

use super::StoreError;
use super::index::check_node_bytes;
use super::placement::Placement;
use crate::memory::probe::buffer::Pages;

/// Arrangement of the records in their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// An array of records, in the order of their insertion; the index knows each record.
    Array,
    /// A page with an array of slots that know where each record is; the index knows each slot.
    Slotted,
    /// Keys in their order apart from the records; the index knows each node. Records are in the
    /// order of the keys, too, or behind slots and tags, see [`Spec::has_tags`].
    Sorted,
}

/// A table as the study describes it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Bytes (B) of a record storage node: a multiple of 4.
    pub node_bytes: u64,
    /// Bytes (B) of a record: its number, then at least 4 more.
    pub record_bytes: u64,
    /// Most records.
    pub capacity: u64,
    /// Arrangement of the records.
    pub layout: Layout,
    /// Where nodes lie.
    pub placement: Placement,
    /// Pages of the memory of nodes and index.
    pub pages: Pages,
    /// Bytes (B) of a node of the index.
    pub index_bytes: u64,
    /// Seed of the places of nodes.
    pub seed: u64,
}

/// Bytes (B) of record number and summed field.
const LEAST_RECORD_BYTES: u64 = 8;
/// Most records: every number is a key, except the one that marks none.
const MOST_RECORDS: u64 = (1 << 32) - 1;

impl Spec {
    /// Return the bytes (B) from one record to the next: whole words.
    pub const fn stride_bytes(&self) -> u64 {
        self.record_bytes.next_multiple_of(4)
    }

    /// Return how many records a node holds.
    pub const fn records_per_node(&self) -> u64 {
        let stride = self.stride_bytes();
        match self.layout {
            Layout::Array => self.node_bytes / stride,
            // The count; for each record a key, a tag and a slot; and whole words of both.
            Layout::Sorted if self.has_tags() => (self.node_bytes - 10) / (stride + 6),
            Layout::Slotted | Layout::Sorted => self.pairs_per_node(),
        }
    }

    /// Return how many records fit into a node with a word for the count, and one for each.
    const fn pairs_per_node(&self) -> u64 {
        self.node_bytes.saturating_sub(4) / (self.stride_bytes() + 4)
    }

    /// Return whether sorted nodes have tags, which find a record without a search of the keys, and
    /// slots, which let records stay where they were inserted.
    ///
    /// Fewer records have their keys in one line, which takes no longer; more than a byte numbers
    /// would share tags too often.
    pub const fn has_tags(&self) -> bool {
        let count = self.pairs_per_node();
        matches!(self.layout, Layout::Sorted) && count > 15 && count <= 255
    }

    /// Return how many nodes the records may take.
    pub const fn most_nodes(&self) -> u64 {
        let per_node = self.records_per_node();
        match self.layout {
            Layout::Array | Layout::Slotted => self.capacity.div_ceil(per_node),
            Layout::Sorted => {
                let half = if per_node < 2 { 1 } else { per_node / 2 };
                self.capacity.div_ceil(half) + 1
            }
        }
    }

    /// Return how many entries the index may have.
    pub const fn most_entries(&self) -> u64 {
        match self.layout {
            Layout::Array | Layout::Slotted => self.capacity,
            Layout::Sorted => self.most_nodes(),
        }
    }

    /// Return the memory (B) that the nodes take when all of them are used.
    pub fn node_area_bytes(&self) -> u64 {
        self.placement
            .area_bytes(self.node_bytes, self.most_nodes())
    }

    /// Refuse an impossible table before any memory is requested.
    ///
    /// # Errors
    ///
    /// The impossible part, and sizes that would work.
    pub fn check(&self) -> Result<(), StoreError> {
        let refused = |why: String| Err(StoreError::Impossible(why));
        if self.record_bytes < LEAST_RECORD_BYTES {
            return refused(format!(
                "a record of {} B has no room for its number and a field: give 8 B or more",
                self.record_bytes
            ));
        }
        if self.capacity == 0 || self.capacity > MOST_RECORDS {
            return refused(format!(
                "a table of {} records cannot be: give 1 to {MOST_RECORDS}",
                self.capacity
            ));
        }
        if !self.node_bytes.is_multiple_of(4) || self.node_bytes == 0 {
            return refused(format!(
                "nodes have whole words of 4 B, not {} B",
                self.node_bytes
            ));
        }
        if self.records_per_node() == 0 {
            let needed = match self.layout {
                Layout::Array => self.stride_bytes(),
                Layout::Slotted | Layout::Sorted => self.stride_bytes() + 8,
            };
            return refused(format!(
                "a record of {} B does not fit into a node of {} B: give nodes of {needed} B or more",
                self.record_bytes, self.node_bytes
            ));
        }
        check_node_bytes(self.index_bytes)?;
        self.placement.check(self.pages)
    }
}
