//! Scans of a table, in physical order and in the order of the record numbers.

use super::index::Index;
use super::nodes::Nodes;
use super::operation::Operation;
use super::region::{At, NOWHERE};
use super::sorted::Sorted;
use super::table::{Body, Table};
use super::touch::{Silent, Touch};

impl Table {
    /// Hand `count` records to `operation` in physical order, from a share (0 to 1) of the table
    /// on, and from its beginning on after its end.
    pub fn scan_physical(
        &self,
        from: f64,
        count: u64,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) {
        let start = |all: u64| ((from * all as f64) as u64).min(all.saturating_sub(1));
        match &self.body {
            Body::Dense(nodes) => {
                nodes.scan(start(nodes.place_count()), count, operation, touch);
            }
            Body::Sorted(sorted) => {
                let first = start(sorted.directory().len() as u64) as usize;
                sorted.scan(first, count.min(self.len()), operation, touch);
            }
        }
    }

    /// Hand `count` records to `operation` in the order of their numbers, from `key` on, and from
    /// the smallest on after the largest. `ahead` records or nodes are prefetched.
    pub fn scan_index(
        &self,
        key: u32,
        count: u64,
        ahead: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) {
        let mut left = count.min(self.len());
        left -= self.scan_from(key, left, ahead, operation, touch);
        if left > 0 {
            self.scan_from(0, left, ahead, operation, touch);
        }
    }

    /// Scan to the largest number at most; return how many records there were.
    fn scan_from(
        &self,
        key: u32,
        most: u64,
        ahead: usize,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        match &self.body {
            Body::Dense(nodes) => {
                let cursor = Cursor::seek(&self.index, key, touch);
                scan_dense(&self.index, nodes, cursor, most, ahead, operation, touch)
            }
            Body::Sorted(sorted) => {
                scan_sorted(&self.index, sorted, key, most, ahead, operation, touch)
            }
        }
    }
}

/// A place in the leaves of the index.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    leaf: At,
    place: u32,
    count: u32,
    next: At,
}

impl Cursor {
    /// Return the place of the first entry that is not below `key`.
    fn seek(index: &Index, key: u32, touch: &mut impl Touch) -> Self {
        let (leaf, place) = index.seek(key, touch);
        Self::enter(index, leaf, place, touch)
    }

    fn enter(index: &Index, leaf: At, place: u32, touch: &mut impl Touch) -> Self {
        if leaf == NOWHERE {
            return Self {
                leaf,
                place,
                count: place,
                next: NOWHERE,
            };
        }
        let (count, _) = index.header(leaf, touch);
        let next = index.next(leaf, touch);
        index.prefetch_node(next);
        Self {
            leaf,
            place,
            count,
            next,
        }
    }

    /// Return the value here and go to the next one; [`NOWHERE`] after the last.
    #[inline]
    fn take(&mut self, index: &Index, touch: &mut impl Touch) -> At {
        while self.place >= self.count {
            if self.next == NOWHERE {
                return NOWHERE;
            }
            *self = Self::enter(index, self.next, 0, touch);
        }
        let value = index.value(self.leaf, self.place, touch);
        self.place += 1;
        value
    }
}

fn scan_dense<T: Touch>(
    index: &Index,
    nodes: &Nodes,
    mut here: Cursor,
    most: u64,
    ahead: usize,
    operation: &mut impl Operation,
    touch: &mut T,
) -> u64 {
    let mut unseen = here;
    for _ in 0..T::AHEAD {
        nodes.region.prefetch(unseen.take(index, &mut Silent));
    }
    let mut soon = here;
    for _ in 0..ahead {
        nodes.region.prefetch(soon.take(index, touch));
    }
    let mut taken = 0;
    while taken < most {
        if T::AHEAD > 0 {
            nodes.region.prefetch(unseen.take(index, &mut Silent));
        }
        if ahead > 0 {
            nodes.region.prefetch(soon.take(index, touch));
        }
        let handle = here.take(index, touch);
        if handle == NOWHERE {
            break;
        }
        let at = nodes.record(handle, touch);
        operation.take(&nodes.region, at, touch);
        taken += 1;
    }
    taken
}

fn scan_sorted<T: Touch>(
    index: &Index,
    sorted: &Sorted,
    key: u32,
    most: u64,
    ahead: usize,
    operation: &mut impl Operation,
    touch: &mut T,
) -> u64 {
    let (separator, node) = index
        .floor(key, touch)
        .expect("the first node has separator 0");
    let first = sorted.seek_in(node, key, touch);
    let mut cursor = Cursor::seek(index, separator, touch);
    let mut next = |touch: &mut T| cursor.take(index, touch);
    sorted.scan_nodes(&mut next, first, most, ahead, operation, touch)
}
