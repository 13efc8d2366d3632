//! A table: records in nodes, and an index on their numbers.

use super::StoreError;
use super::index::{Index, NO_KEY};
use super::nodes::Nodes;
use super::operation::{Operation, Sum};
use super::region::{At, Region};
use super::sorted::Sorted;
use super::spec::{Layout, Spec};
use super::touch::{Silent, Touch};

/// Records and their index.
#[derive(Debug)]
pub struct Table {
    spec: Spec,
    pub(super) index: Index,
    pub(super) body: Body,
    count: u64,
}

/// The nodes by their arrangement.
#[derive(Debug)]
pub(super) enum Body {
    /// The index knows each record.
    Dense(Nodes),
    /// The index knows each node.
    Sorted(Sorted),
}

impl Table {
    /// Return an empty table.
    ///
    /// # Errors
    ///
    /// The table cannot be, or there is no memory for it.
    pub fn new(spec: Spec) -> Result<Self, StoreError> {
        spec.check()?;
        let mut index = Index::new(spec.index_bytes, spec.most_entries(), spec.pages)?;
        let body = match spec.layout {
            Layout::Array | Layout::Slotted => Body::Dense(Nodes::new(&spec)?),
            Layout::Sorted => Body::Sorted(Sorted::new(&spec, &mut index, &mut Silent)?),
        };
        Ok(Self {
            spec,
            index,
            body,
            count: 0,
        })
    }

    /// Return its description.
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Return the number of records.
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Return whether there is no record.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Return the index.
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// Return the nodes in physical order.
    pub fn directory(&self) -> &[At] {
        match &self.body {
            Body::Dense(nodes) => nodes.directory(),
            Body::Sorted(sorted) => sorted.directory(),
        }
    }

    /// Return the memory of the nodes.
    pub const fn region(&self) -> &Region {
        match &self.body {
            Body::Dense(nodes) => &nodes.region,
            Body::Sorted(sorted) => &sorted.region,
        }
    }

    /// Add a record, whose first word is its number; return whether the number is new. The record
    /// of a number that is present stays unchanged.
    ///
    /// # Errors
    ///
    /// The table is full; nothing has changed.
    ///
    /// # Panics
    ///
    /// If the record has another length, or the reserved number.
    pub fn insert(&mut self, record: &[u32], touch: &mut impl Touch) -> Result<bool, StoreError> {
        assert_eq!(record.len() as u64 * 4, self.spec.stride_bytes(), "length");
        assert!(record[0] != NO_KEY, "the number {NO_KEY} is reserved");
        if self.count == self.spec.capacity {
            return Err(StoreError::Full {
                capacity: self.spec.capacity,
            });
        }
        let is_new = match &mut self.body {
            Body::Sorted(sorted) => sorted.insert(&mut self.index, record, touch)?,
            Body::Dense(nodes) => {
                if self.index.get(record[0], touch).is_some() {
                    return Ok(false);
                }
                let handle = nodes.insert(record, touch)?;
                if let Err(why) = self.index.insert(record[0], handle, touch) {
                    nodes.remove(handle, touch);
                    return Err(why);
                }
                true
            }
        };
        self.count += u64::from(is_new);
        Ok(is_new)
    }

    /// Fill an empty table with records of these numbers, in this order. With `is_grown` the index
    /// grows with them; otherwise it is built afterwards, from full nodes.
    ///
    /// # Errors
    ///
    /// The table is full.
    ///
    /// # Panics
    ///
    /// If the table has records, or a number occurs twice.
    pub fn load(&mut self, keys: &[u32], is_grown: bool) -> Result<(), StoreError> {
        assert!(self.is_empty(), "only an empty table is loaded");
        let touch = &mut Silent;
        let mut record = vec![0; (self.spec.stride_bytes() / 4) as usize];
        if is_grown {
            for &key in keys {
                fill(&mut record, key);
                assert!(self.insert(&record, touch)?, "number {key} occurs twice");
            }
            return Ok(());
        }
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        if let Body::Dense(nodes) = &mut self.body {
            let mut entries = Vec::with_capacity(keys.len());
            for &key in keys {
                fill(&mut record, key);
                entries.push((key, nodes.insert(&record, touch)?));
            }
            entries.sort_unstable();
            for (key, handle) in entries {
                assert!(
                    self.index.insert(key, handle, touch)?,
                    "number {key} occurs twice"
                );
            }
            self.count = keys.len() as u64;
            return Ok(());
        }
        self.load(&sorted, true)
    }

    /// Return where the record of a number is.
    #[inline]
    pub fn find(&self, key: u32, touch: &mut impl Touch) -> Option<At> {
        match &self.body {
            Body::Dense(nodes) => {
                let handle = self.index.get(key, touch)?;
                Some(nodes.record(handle, touch))
            }
            Body::Sorted(sorted) => {
                let node = Sorted::node_of(&self.index, key, touch);
                sorted.get_in(node, key, touch)
            }
        }
    }

    /// Hand the record of a number to `operation`; return whether there is one.
    #[inline]
    pub fn retrieve(
        &self,
        key: u32,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> bool {
        let found = self.find(key, touch);
        if let Some(at) = found {
            operation.take(self.region(), at, touch);
        }
        found.is_some()
    }

    /// Overwrite words of a record, from word `first` >= 1 on; return whether there is one.
    ///
    /// # Panics
    ///
    /// If the words are not all of the record's, or its number would change.
    pub fn update(&mut self, key: u32, first: u32, words: &[u32], touch: &mut impl Touch) -> bool {
        let end = (u64::from(first) + words.len() as u64) * 4;
        assert!(
            first > 0 && end <= self.spec.stride_bytes(),
            "words {first} to {end}"
        );
        let Some(at) = self.find(key, touch) else {
            return false;
        };
        match &mut self.body {
            Body::Dense(nodes) => nodes.write(at, first, words, touch),
            Body::Sorted(sorted) => sorted.write(at, first, words, touch),
        }
        true
    }

    /// Remove a record; return whether there was one. Its place is used again.
    pub fn remove(&mut self, key: u32, touch: &mut impl Touch) -> bool {
        let is_removed = match &mut self.body {
            Body::Dense(nodes) => match self.index.remove(key, touch) {
                Some(handle) => {
                    nodes.remove(handle, touch);
                    true
                }
                None => false,
            },
            Body::Sorted(sorted) => sorted.remove(&mut self.index, key, touch),
        };
        self.count -= u64::from(is_removed);
        is_removed
    }

    /// Sum a field of all records, which reads each of them.
    pub fn sum(&self) -> u64 {
        let mut sum = Sum::default();
        self.scan_physical(0.0, self.count, &mut sum, &mut Silent);
        sum.total
    }

    /// Compare index and nodes, and the invariants of both.
    ///
    /// # Errors
    ///
    /// The broken invariant, and its place.
    pub fn check(&self) -> Result<(), String> {
        self.index.check()?;
        let touch = &mut Silent;
        let entries = self.index.entries();
        match &self.body {
            Body::Dense(nodes) => {
                let mut found = nodes.handles(touch);
                found.sort_unstable();
                if found != entries {
                    let differ = found.iter().zip(&entries).find(|(one, other)| one != other);
                    return Err(format!(
                        "{} records in nodes, {} in the index; first difference: {differ:?}",
                        found.len(),
                        entries.len()
                    ));
                }
                self.check_count(entries.len() as u64)
            }
            Body::Sorted(sorted) => {
                let mut count = 0;
                for (number, &(separator, node)) in entries.iter().enumerate() {
                    let end = entries.get(number + 1).map_or(NO_KEY, |next| next.0);
                    count += u64::from(sorted.check_node(node, separator, end)?);
                }
                if entries.len() != sorted.directory().len() {
                    return Err("index and directory have different nodes".to_owned());
                }
                self.check_count(count)
            }
        }
    }

    fn check_count(&self, found: u64) -> Result<(), String> {
        if found == self.count {
            return Ok(());
        }
        Err(format!(
            "{found} records, where {} were counted",
            self.count
        ))
    }

    /// Return how much (B) of the nodes' memory the system keeps in huge pages; None where it is
    /// not chosen.
    pub fn huge_bytes(&self) -> Option<u64> {
        self.region().huge_bytes()
    }
}

/// Fill a record: its number, then a word that depends on it, over and over.
pub fn fill(record: &mut [u32], key: u32) {
    record.fill(key ^ 0x5bd1_e995);
    record[0] = key;
}
