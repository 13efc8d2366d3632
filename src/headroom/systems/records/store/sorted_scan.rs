//! Scans of sorted nodes: the lines of the next nodes are prefetched while records are taken.
//!
//! After random inserts each node lies somewhere else, and the prefetcher of a processor finds out
//! after some lines of each: scans of 10 million records took half as long again without this.

use std::collections::VecDeque;

use super::operation::Operation;
use super::region::{At, NOWHERE, Region, WORD_BYTES};
use super::sorted::{LINE_WORDS, Sorted};
use super::touch::{Area, Touch, Work};

/// Lines between the one that is prefetched and the one that is read: what memory delivers in the
/// time that it takes to answer.
const LINES_AHEAD: u32 = 24;

/// Lines that are still to be prefetched.
#[derive(Clone, Copy, Debug)]
struct Soon {
    line: At,
    due: At,
    end: At,
}

impl Soon {
    const NOTHING: Self = Self {
        line: 0,
        due: 0,
        end: 0,
    };

    /// Ask for the lines of the next `words`.
    #[inline]
    fn ask(&mut self, region: &Region, words: u32) {
        self.due = (self.due + words).min(self.end);
        while self.line < self.due {
            region.prefetch_far(self.line);
            self.line += LINE_WORDS;
        }
    }
}

impl Sorted {
    /// Return how many nodes ahead a scan asks for by itself.
    pub(super) const fn nodes_ahead(&self) -> usize {
        LINES_AHEAD.div_ceil(self.words / LINE_WORDS + 1) as usize
    }

    /// Hand `count` records to `operation`, node by node in physical order, from node `number` on.
    pub fn scan<T: Touch>(
        &self,
        number: usize,
        count: u64,
        operation: &mut impl Operation,
        touch: &mut T,
    ) {
        let nodes = self.directory().len();
        let mut numbers = (number..nodes).chain(0..number);
        let mut next = |touch: &mut T| {
            let Some(number) = numbers.next() else {
                return NOWHERE;
            };
            touch.read(Area::Directory, number as u64 * WORD_BYTES, WORD_BYTES);
            self.directory()[number]
        };
        self.scan_nodes(&mut next, 0, count, self.nodes_ahead(), operation, touch);
    }

    /// Hand the records of the nodes that `next` gives to `operation`, at most `most`, from place
    /// `first` of the first node on; return how many. `ahead` nodes are prefetched.
    pub(super) fn scan_nodes<T: Touch>(
        &self,
        next: &mut impl FnMut(&mut T) -> At,
        first: u32,
        most: u64,
        ahead: usize,
        operation: &mut impl Operation,
        touch: &mut T,
    ) -> u64 {
        let (mut left, mut place) = (most, first);
        let mut coming = VecDeque::with_capacity(2 * ahead + 1);
        while left > 0 {
            // First lines, which hold the counts, come twice as early as records do.
            while coming.len() <= 2 * ahead {
                let node = next(touch);
                self.prefetch_order(node);
                coming.push_back(node);
            }
            let node = coming.pop_front().unwrap_or(NOWHERE);
            if node == NOWHERE {
                break;
            }
            let soon = coming.get(ahead.wrapping_sub(1));
            let mut soon = soon.map_or(Soon::NOTHING, |&node| self.records_of(node, touch));
            left -= self.scan_node(node, place, left, &mut soon, operation, touch);
            place = 0;
        }
        most - left
    }

    /// Return the lines of the records of a node.
    #[inline]
    fn records_of(&self, node: At, touch: &mut impl Touch) -> Soon {
        if node == NOWHERE {
            return Soon::NOTHING;
        }
        let line = self.record_at(node, 0);
        let end = line + self.count(node, touch) * self.record_words;
        Soon {
            line,
            due: line,
            end,
        }
    }

    /// Hand the records of a node to `operation`, at most `most` from `place` on; return how many.
    #[inline]
    fn scan_node(
        &self,
        node: At,
        place: u32,
        most: u64,
        soon: &mut Soon,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) -> u64 {
        touch.work(Work::RecordNodes, 1);
        let count = self.count(node, touch).saturating_sub(place);
        let taken = most.min(u64::from(count)) as u32;
        for place in place..place + taken {
            soon.ask(&self.region, self.record_words);
            let at = self.record_at(node, self.slot(node, place, touch));
            operation.take(&self.region, at, touch);
        }
        soon.ask(&self.region, self.words);
        u64::from(taken)
    }
}
