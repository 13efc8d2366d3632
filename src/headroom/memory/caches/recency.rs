//! Ways in the order of their last use, found by the number of their line: a set of many ways.
//!
//! A look at a set takes as long as it has ways; here it takes the same time for any number.
//!
//! Invariant: each way is in the list once, and the index has those with a line.

#![allow(
    clippy::disallowed_types,
    reason = "lines are looked up, and never listed: their order has no effect"
)]

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::cache::{EMPTY, FLAG_BITS};
use crate::memory::stack_distance::LineHasher;

/// A way of the set, with its neighbours in the order of use.
#[derive(Clone, Copy, Debug)]
struct Way {
    entry: u64,
    newer: u32,
    older: u32,
}

/// A set whose lines are displaced in the order of their last use.
#[derive(Clone, Debug)]
pub struct Recency {
    ways: Vec<Way>,
    newest: u32,
    oldest: u32,
    index: HashMap<u64, u32, BuildHasherDefault<LineHasher>>,
}

impl Recency {
    /// Return a set of `count` (at least 1) ways without lines.
    pub fn new(count: u32) -> Self {
        let way = |number: u32| Way {
            entry: EMPTY,
            newer: number.wrapping_sub(1),
            older: number + 1,
        };
        Self {
            ways: (0..count).map(way).collect(),
            newest: 0,
            oldest: count - 1,
            index: HashMap::with_capacity_and_hasher(count as usize, BuildHasherDefault::default()),
        }
    }

    /// Return whether a line is here.
    pub fn holds(&self, line: u64) -> bool {
        self.index.contains_key(&line)
    }

    /// Use a line; return its entry if it is here.
    #[inline]
    pub fn look_up(&mut self, line: u64) -> Option<&mut u64> {
        if self.ways[self.newest as usize].entry >> FLAG_BITS != line {
            let way = *self.index.get(&line)?;
            self.make_newest(way);
        }
        Some(&mut self.ways[self.newest as usize].entry)
    }

    /// Bring an entry in; return the one that goes, [`EMPTY`] if there was room.
    #[inline]
    pub fn insert(&mut self, entry: u64) -> u64 {
        let way = self.oldest;
        self.make_newest(way);
        let old = std::mem::replace(&mut self.ways[way as usize].entry, entry);
        if old != EMPTY {
            self.index.remove(&(old >> FLAG_BITS));
        }
        self.index.insert(entry >> FLAG_BITS, way);
        old
    }

    /// Take a line out; return its entry if it was here.
    pub fn remove(&mut self, line: u64) -> Option<u64> {
        let way = self.index.remove(&line)?;
        if way != self.oldest {
            self.unlink(way);
            let before = std::mem::replace(&mut self.oldest, way);
            self.ways[before as usize].older = way;
            self.ways[way as usize].newer = before;
        }
        Some(std::mem::replace(&mut self.ways[way as usize].entry, EMPTY))
    }

    fn make_newest(&mut self, way: u32) {
        if way == self.newest {
            return;
        }
        self.unlink(way);
        let before = std::mem::replace(&mut self.newest, way);
        self.ways[before as usize].newer = way;
        self.ways[way as usize].older = before;
    }

    /// Take a way out of the list, for one of its ends.
    fn unlink(&mut self, way: u32) {
        let Way { newer, older, .. } = self.ways[way as usize];
        if way == self.newest {
            self.newest = older;
        } else {
            self.ways[newer as usize].older = older;
        }
        if way == self.oldest {
            self.oldest = newer;
        } else {
            self.ways[older as usize].newer = newer;
        }
    }
}
