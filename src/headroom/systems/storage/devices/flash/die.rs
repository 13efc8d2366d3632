//! A flash die: erase blocks, the map of its pages, and greedy garbage collection.
//!
//! A page cannot be rewritten before its block is erased, so a write goes to the next page of the
//! open block and its old page becomes invalid. When free blocks run short, the block with the
//! fewest valid pages is collected: those pages are written again, and the block is erased.
//!
//! Invariant: each written page is valid in one place; the valid pages of all blocks are as many as
//! pages were written and not trimmed.

use std::collections::VecDeque;

/// Not written.
const NOWHERE: u32 = u32::MAX;

/// The cost of a write in addition to its own program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// Pages read and written again.
    pub moves: u32,
    /// Blocks erased.
    pub erases: u32,
}

#[derive(Clone, Debug)]
struct Block {
    valid: u32,
    /// Index within the list of blocks with as many valid pages; meaningful for full blocks.
    listed_at: u32,
}

/// A die.
#[derive(Clone, Debug)]
pub struct Die {
    pages_per_block: u32,
    /// The position of each page of the user.
    map: Vec<u32>,
    /// The page of the user at each position.
    owner: Vec<u32>,
    blocks: Vec<Block>,
    /// Full blocks by their number of valid pages.
    full: Vec<Vec<u32>>,
    free: VecDeque<u32>,
    open: u32,
    /// Next page of the open block.
    next: u32,
    /// Free blocks below which room is made.
    reserve: usize,
    written: u64,
    moved: u64,
}

impl Die {
    /// Make an erased die for `user_pages` pages in `blocks` blocks, of which `reserve` stay free.
    ///
    /// # Panics
    ///
    /// The blocks apart from the reserve and the open one must hold more than the user's pages.
    pub fn new(user_pages: u32, blocks: u32, pages_per_block: u32, reserve: u32) -> Self {
        assert!(
            u64::from(blocks - reserve - 1) * u64::from(pages_per_block) > u64::from(user_pages),
            "{blocks} blocks leave no room to collect garbage for {user_pages} pages"
        );
        let erased = Block {
            valid: 0,
            listed_at: 0,
        };
        Self {
            pages_per_block,
            map: vec![NOWHERE; user_pages as usize],
            owner: vec![NOWHERE; (blocks * pages_per_block) as usize],
            blocks: vec![erased; blocks as usize],
            full: vec![Vec::new(); pages_per_block as usize + 1],
            free: (1..blocks).collect(),
            open: 0,
            next: 0,
            reserve: reserve as usize,
            written: 0,
            moved: 0,
        }
    }

    /// Write a page of the user.
    pub fn write(&mut self, page: u32) -> Collection {
        self.written += 1;
        self.invalidate(page);
        self.append(page);
        let mut work = Collection::default();
        while self.free.len() < self.reserve {
            work.moves += self.collect();
            work.erases += 1;
        }
        work
    }

    /// Forget a page of the user.
    pub fn trim(&mut self, page: u32) {
        self.invalidate(page);
        self.map[page as usize] = NOWHERE;
    }

    /// Return whether a page of the user was written.
    pub fn holds(&self, page: u32) -> bool {
        self.map[page as usize] != NOWHERE
    }

    /// Return pages written by the user, and pages moved by collection.
    pub fn work(&self) -> (u64, u64) {
        (self.written, self.moved)
    }

    /// Restart the count of work here.
    pub fn reset_work(&mut self) {
        (self.written, self.moved) = (0, 0);
    }

    fn invalidate(&mut self, page: u32) {
        let place = self.map[page as usize];
        if place == NOWHERE {
            return;
        }
        self.owner[place as usize] = NOWHERE;
        let index = place / self.pages_per_block;
        let is_full = index != self.open;
        if is_full {
            self.unlist(index);
        }
        self.blocks[index as usize].valid -= 1;
        if is_full {
            self.list(index);
        }
    }

    /// Write a page into the open block; a block that is full by that is closed.
    fn append(&mut self, page: u32) {
        let place = self.open * self.pages_per_block + self.next;
        self.map[page as usize] = place;
        self.owner[place as usize] = page;
        self.blocks[self.open as usize].valid += 1;
        self.next += 1;
        if self.next == self.pages_per_block {
            self.list(self.open);
            // The reserve is never empty: each collection returns what it takes.
            self.open = self
                .free
                .pop_front()
                .unwrap_or_else(|| panic!("no erased block is left"));
            self.next = 0;
        }
    }

    /// Empty the block with the fewest valid pages; return how many those were.
    fn collect(&mut self) -> u32 {
        let fewest = self.full.iter().position(|list| !list.is_empty());
        let fewest = fewest.unwrap_or_else(|| panic!("no block is full, yet none is free"));
        let victim = self.full[fewest][0];
        self.unlist(victim);
        let first = victim * self.pages_per_block;
        let mut moves = 0;
        for place in first..first + self.pages_per_block {
            let page = self.owner[place as usize];
            if page != NOWHERE {
                self.owner[place as usize] = NOWHERE;
                self.blocks[victim as usize].valid -= 1;
                self.append(page);
                moves += 1;
            }
        }
        assert_eq!(
            self.blocks[victim as usize].valid, 0,
            "valid pages of block {victim}"
        );
        self.free.push_back(victim);
        self.moved += u64::from(moves);
        moves
    }

    fn list(&mut self, index: u32) {
        let block = &mut self.blocks[index as usize];
        let list = &mut self.full[block.valid as usize];
        block.listed_at = u32::try_from(list.len()).unwrap_or(u32::MAX);
        list.push(index);
    }

    fn unlist(&mut self, index: u32) {
        let Block { valid, listed_at } = self.blocks[index as usize];
        let list = &mut self.full[valid as usize];
        list.swap_remove(listed_at as usize);
        if let Some(&moved) = list.get(listed_at as usize) {
            self.blocks[moved as usize].listed_at = listed_at;
        }
    }

    /// Return valid pages, counted block by block, page by page, and by the map.
    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64, u64) {
        let by_block = self.blocks.iter().map(|block| u64::from(block.valid)).sum();
        let by_page = self.owner.iter().filter(|&&page| page != NOWHERE).count() as u64;
        let by_map = self.map.iter().filter(|&&place| place != NOWHERE).count() as u64;
        (by_block, by_page, by_map)
    }
}
