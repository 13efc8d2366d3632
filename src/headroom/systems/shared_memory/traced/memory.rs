//! Memory of a traced program: pages numbered densely, and allocations while they live.
//!
//! Invariant: a page keeps the number of its first use, so the same trace has the same numbers
//! wherever the system put the program.

#![allow(
    clippy::disallowed_types,
    reason = "pages and sites are looked up, and never listed: their order has no effect"
)]

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use crate::memory::stack_distance::LineHasher;
use crate::systems::shared_memory::machine::placement::PAGE_BITS;

/// Numbers by number.
pub type Numbers = HashMap<u64, u32, BuildHasherDefault<LineHasher>>;
/// Pages (16 GiB) that a program may use at most.
pub const MOST_PAGES: usize = 1 << 22;
/// Pages that are found without a look into the table.
const NEAR: usize = 64;
const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;

/// Pages of a sparse address space.
#[derive(Debug)]
pub struct Pages {
    numbers: Numbers,
    /// Page of each number.
    of_numbers: Vec<u64>,
    near: [(u64, u32); NEAR],
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            numbers: Numbers::default(),
            of_numbers: Vec::new(),
            near: [(u64::MAX, 0); NEAR],
        }
    }
}

impl Pages {
    /// Return the dense address of an address.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "at most MOST_PAGES")]
    pub fn dense(&mut self, address: u64) -> u64 {
        let page = address >> PAGE_BITS;
        let slot = page as usize % NEAR;
        if self.near[slot].0 != page {
            let new = self.of_numbers.len() as u32;
            let number = *self.numbers.entry(page).or_insert(new);
            if number == new {
                self.of_numbers.push(page);
            }
            self.near[slot] = (page, number);
        }
        u64::from(self.near[slot].1) << PAGE_BITS | address & PAGE_MASK
    }

    /// Return the address of a dense address.
    #[allow(clippy::cast_possible_truncation, reason = "at most MOST_PAGES")]
    pub fn sparse(&self, dense: u64) -> u64 {
        let page = self.of_numbers.get((dense >> PAGE_BITS) as usize);
        page.copied().unwrap_or(0) << PAGE_BITS | dense & PAGE_MASK
    }

    /// Return the number of pages.
    pub fn len(&self) -> usize {
        self.of_numbers.len()
    }
}

/// Number of the group of memory that no call allocated: variables, stacks, mapped files.
pub const OTHER: u32 = 0;

/// Allocations of one call in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Address of the code behind the call.
    pub site: u64,
    /// Allocations.
    pub count: u64,
    /// Requested bytes (B) of all of them.
    pub bytes: u64,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First byte.
    pub start: u64,
    end: u64,
    /// Its group.
    pub group: u32,
    is_live: bool,
}

impl Block {
    /// Return whether it has an address.
    #[inline]
    pub fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Allocations, the last one of each address.
#[derive(Debug)]
pub struct Heap {
    blocks: BTreeMap<u64, Block>,
    sites: Numbers,
    /// Groups by number, [`OTHER`] first.
    pub groups: Vec<Group>,
}

impl Default for Heap {
    fn default() -> Self {
        Self {
            blocks: BTreeMap::new(),
            sites: Numbers::default(),
            groups: vec![Group::default()],
        }
    }
}

impl Heap {
    /// Note an allocation; what was at its place is gone.
    #[allow(clippy::cast_possible_truncation, reason = "fewer sites than events")]
    pub fn allocate(&mut self, start: u64, bytes: u64, site: u64) {
        let new = self.groups.len() as u32;
        let group = *self.sites.entry(site).or_insert(new);
        if group == new {
            self.groups.push(Group {
                site,
                ..Group::default()
            });
        }
        let of = &mut self.groups[group as usize];
        of.count += 1;
        of.bytes = of.bytes.saturating_add(bytes);
        if bytes == 0 {
            return;
        }
        let end = start.saturating_add(bytes);
        while let Some((&old, block)) = self.blocks.range(..end).next_back() {
            if block.end <= start {
                break;
            }
            self.blocks.remove(&old);
        }
        let block = Block {
            start,
            end,
            group,
            is_live: true,
        };
        self.blocks.insert(start, block);
    }

    /// Note the end of an allocation.
    pub fn free(&mut self, start: u64) {
        if let Some(block) = self.blocks.get_mut(&start) {
            block.is_live = false;
        }
    }

    /// Return the allocation that has an address now, with the bytes to its end.
    pub fn at(&self, address: u64) -> Option<Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (block.is_live && address < block.end).then_some(*block)
    }

    /// Return the last allocation that had a part of some bytes, even if it has ended.
    pub fn within(&self, address: u64, bytes: u64) -> Option<Block> {
        let (_, block) = self.blocks.range(..address + bytes).next_back()?;
        (block.end > address).then_some(*block)
    }
}

#[cfg(test)]
mod tests {
    use super::{Heap, OTHER, Pages};
    use proptest::prelude::*;

    #[test]
    fn an_address_belongs_to_the_allocation_that_has_it_at_that_time() {
        let mut heap = Heap::default();
        heap.allocate(100, 50, 7);
        assert_eq!(heap.at(149).map(|block| block.group), Some(1));
        assert_eq!(heap.at(150), None);
        heap.free(100);
        assert_eq!(heap.at(100), None);
        assert_eq!(heap.within(64, 64).map(|block| block.start), Some(100));
        heap.allocate(90, 20, 8);
        heap.allocate(110, 20, 7);
        assert_eq!(heap.at(100).map(|block| block.group), Some(2));
        assert_eq!(heap.at(110).map(|block| block.group), Some(1));
        assert_eq!(heap.at(130), None, "what was freed does not come back");
        assert_eq!(heap.groups[1].count, 2);
        assert_eq!(heap.groups[OTHER as usize].count, 0);
        heap.allocate(u64::MAX - 1, 100, 9);
        heap.allocate(0, u64::MAX, 9);
        assert_eq!(heap.at(u64::MAX - 2).map(|block| block.start), Some(0));
    }

    proptest! {
        #[test]
        fn dense_addresses_come_back(addresses in prop::collection::vec(0_u64..1 << 48, 1..200)) {
            let mut pages = Pages::default();
            let dense: Vec<u64> = addresses.iter().map(|&one| pages.dense(one)).collect();
            for (one, dense) in addresses.iter().zip(dense) {
                prop_assert_eq!(pages.sparse(dense), *one);
                prop_assert_eq!(pages.dense(*one), dense);
                prop_assert!(dense >> 12 < pages.len() as u64);
            }
        }
    }
}
