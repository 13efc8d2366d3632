//! The pool of files: which exist, their sizes, and a uniform choice in constant time.
//!
//! Entries are stored contiguously, the files that can still grow before those that are full, so
//! that a choice among all or among those that can grow is one random index. Each file has a
//! *slot*, a small number that is reassigned to another file when it is deleted; a model of a disk
//! may use it as the position of the file.
//!
//! Invariant: at most `limit` files; slots of files that exist differ and are below `limit`; the
//! first `growing` entries are below the bound, all others at it.

use rand::RngExt;

use crate::simulation::kernel::random::stream::Stream;

/// A file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its number, never given twice.
    pub id: u64,
    /// Its place, given again when it is deleted.
    pub slot: u64,
    /// Its subfolder, 0 if there are none.
    pub subdirectory: u32,
    /// Its size (B).
    pub bytes: u64,
}

/// The files that exist.
#[derive(Clone, Debug)]
pub struct Pool {
    entries: Vec<File>,
    growing: usize,
    free_slots: Vec<u64>,
    used_slots: u64,
    limit: u64,
    bound_bytes: u64,
    next_id: u64,
}

impl Pool {
    /// Return an empty pool for at most `limit` files of at most `bound_bytes` each.
    pub fn new(limit: u64, bound_bytes: u64) -> Self {
        Self {
            entries: Vec::new(),
            growing: 0,
            free_slots: Vec::new(),
            used_slots: 0,
            limit,
            bound_bytes,
            next_id: 1,
        }
    }

    /// The files that exist, in no order.
    pub fn files(&self) -> &[File] {
        &self.entries
    }

    /// True if there is room for another file.
    pub fn has_place(&self) -> bool {
        (self.entries.len() as u64) < self.limit
    }

    /// Add a file of `bytes` in `subdirectory`.
    ///
    /// # Panics
    ///
    /// If there is no place: see [`Pool::has_place`].
    pub fn add(&mut self, bytes: u64, subdirectory: u32) -> File {
        assert!(self.has_place(), "a pool of {} files is full", self.limit);
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.used_slots += 1;
            self.used_slots - 1
        });
        let file = File {
            id: self.next_id,
            slot,
            subdirectory,
            bytes,
        };
        self.next_id += 1;
        self.entries.push(file);
        if bytes < self.bound_bytes {
            let last = self.entries.len() - 1;
            self.entries.swap(self.growing, last);
            self.growing += 1;
        }
        file
    }

    /// Choose any file, all equally likely; None if there is none.
    pub fn choose(&self, stream: &mut Stream) -> Option<usize> {
        (!self.entries.is_empty()).then(|| stream.random_range(0..self.entries.len()))
    }

    /// Choose any file that can still grow, all equally likely; None if there is none.
    pub fn choose_growing(&self, stream: &mut Stream) -> Option<usize> {
        (self.growing > 0).then(|| stream.random_range(0..self.growing))
    }

    /// Let the file at `index` grow by `bytes`; return its previous state.
    ///
    /// # Panics
    ///
    /// If it would grow beyond the bound.
    pub fn grow(&mut self, index: usize, bytes: u64) -> File {
        let before = self.entries[index];
        let after = before.bytes + bytes;
        let bound = self.bound_bytes;
        assert!(
            after <= bound,
            "a file of {after} B exceeds the bound of {bound} B"
        );
        self.entries[index].bytes = after;
        if before.bytes < bound && after == bound {
            self.growing -= 1;
            self.entries.swap(index, self.growing);
        }
        before
    }

    /// Remove the file at `index`.
    pub fn remove(&mut self, index: usize) -> File {
        let mut index = index;
        if index < self.growing {
            self.growing -= 1;
            self.entries.swap(index, self.growing);
            index = self.growing;
        }
        let file = self.entries.swap_remove(index);
        self.free_slots.push(file.slot);
        file
    }

    /// Remove the file with the highest place among those at the end of the table.
    pub fn remove_last(&mut self) -> Option<File> {
        let last = self.entries.len().checked_sub(1)?;
        Some(self.remove(last))
    }

    /// Order the files by place, the first place last, as the deletion of all takes them.
    pub fn order_for_deletion(&mut self) {
        // All are treated as full from now on: nothing grows any more.
        self.growing = 0;
        self.entries
            .sort_unstable_by_key(|file| std::cmp::Reverse(file.slot));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::simulation::kernel::random::stream::open;

    const BOUND: u64 = 100;

    fn check(pool: &Pool, model: &BTreeMap<u64, File>) -> Result<(), TestCaseError> {
        let found: BTreeMap<u64, File> = pool.files().iter().map(|file| (file.id, *file)).collect();
        prop_assert_eq!(&found, model);
        let mut slots: Vec<u64> = model.values().map(|file| file.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        prop_assert_eq!(slots.len(), model.len());
        prop_assert!(slots.last().is_none_or(|&slot| slot < pool.limit));
        let (growing, full) = pool.files().split_at(pool.growing);
        prop_assert!(growing.iter().all(|file| file.bytes < BOUND));
        prop_assert!(full.iter().all(|file| file.bytes == BOUND));
        Ok(())
    }

    proptest! {
        /// Against a reference: a map of files by number.
        #[test]
        fn the_pool_is_a_map_of_files(seed in any::<u64>(), steps in prop::collection::vec((0_u8..3, 0_u64..=BOUND), 1..300)) {
            let (mut pool, mut stream) = (Pool::new(20, BOUND), open(seed, 0));
            let mut model = BTreeMap::new();
            for (step, bytes) in steps {
                match (step, pool.choose(&mut stream)) {
                    (0, _) if pool.has_place() => {
                        let file = pool.add(bytes, 0);
                        prop_assert!(model.insert(file.id, file).is_none());
                    }
                    (1, Some(index)) => {
                        let file = pool.files()[index];
                        let more = bytes.min(BOUND - file.bytes);
                        prop_assert_eq!(pool.grow(index, more), file);
                        model.insert(file.id, File { bytes: file.bytes + more, ..file });
                    }
                    (2, Some(index)) => {
                        let file = pool.remove(index);
                        prop_assert_eq!(model.remove(&file.id), Some(file));
                    }
                    _ => {}
                }
                check(&pool, &model)?;
                if let Some(index) = pool.choose_growing(&mut stream) {
                    prop_assert!(pool.files()[index].bytes < BOUND);
                }
            }
        }
    }
}
