//! Scans of sorted nodes: the lines of the next nodes are prefetched while records are taken.
//!
//! After random inserts each node lies somewhere else, and the prefetcher of a processor finds out
//! only after some lines of each.

use std::collections::VecDeque;

use super::operation::Operation;
use super::region::{At, NOWHERE, Region, WORD_BYTES};
use super::sorted::{LINE_WORDS, Sorted};
use super::touch::{Area, Touch, Work};

/// Lines that are prefetched at once before a node with slots is read: prefetches among reads in the
/// order of slots slow these down. `make bench PART=records` times the scan.
const AT_ONCE: u32 = 64;

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
    /// Hand `count` records to `operation`, node by node in physical order, from node `number` on.
    pub fn scan(
        &self,
        number: usize,
        count: u64,
        operation: &mut impl Operation,
        touch: &mut impl Touch,
    ) {
        let nodes = self.directory.len();
        let mut left = count;
        for number in (number..nodes).chain(0..number) {
            if left == 0 {
                break;
            }
            touch.read(Area::Directory, number as u64 * WORD_BYTES, WORD_BYTES);
            let node = self.directory[number];
            touch.work(Work::RecordNodes, 1);
            let taken = left.min(u64::from(self.count(node, touch))) as u32;
            let ats = (0..taken).map(|slot| self.record_at(node, slot));
            operation.take_each(&self.region, ats, touch);
            left -= u64::from(taken);
            if let Some(&next) = self.directory.get(number + 1) {
                self.prefetch_between(node, taken, next);
            }
        }
    }

    /// Prefetch the lines between record `count` of a node and the first records of the next one,
    /// which need not be read: the prefetcher of a processor follows lines in a row, and has to find
    /// them again after a gap. A prefetch of each record would cost more.
    #[inline]
    fn prefetch_between(&self, node: At, count: u32, next: At) {
        if next == node + self.words {
            let free = (self.per_node - count) * self.record_words;
            self.prefetch_lines(self.record_at(node, count), free / LINE_WORDS);
        }
        self.prefetch_lines(next, self.record_at(0, 0) / LINE_WORDS);
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
        if self.has_tags {
            soon.ask(&self.region, AT_ONCE * LINE_WORDS);
            let slots = self.slots_at(node);
            let first = u64::from(slots) * WORD_BYTES + u64::from(place);
            touch.read(Area::Nodes, first, u64::from(taken));
            let slots = &self.region.bytes(slots, self.per_node as usize)[place as usize..];
            let ats = slots[..taken as usize].iter().map(|&slot| {
                soon.ask(&self.region, self.record_words);
                self.record_at(node, u32::from(slot))
            });
            operation.take_each(&self.region, ats, touch);
        } else {
            let ats = (place..place + taken).map(|place| {
                soon.ask(&self.region, self.record_words);
                self.record_at(node, place)
            });
            operation.take_each(&self.region, ats, touch);
        }
        soon.ask(&self.region, self.words);
        u64::from(taken)
    }
}
