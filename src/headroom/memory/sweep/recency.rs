//! Lines by recency in every set of every size: a list for each set, the line used last at its head.
//!
//! Each set of 2n sets is one half of a set of n sets. So a line at the head of its list is at the
//! head of its lists of all larger numbers of sets too, and no list there changes; and a line that
//! is missing from its list of the largest number of sets is missing from all of its lists (Hill
//! and Smith, IEEE Transactions on Computers 38, 1989).
//!
//! Lists hold slots, not lines: the largest cache gives each of its lines a slot, and no list holds
//! a line that the largest cache does not. Slots of caches of up to 65,536 lines have 16 bits, so
//! that a list of 16 ways is one vector, which is compared and moved at once.
//!
//! Invariants: each list of the largest number of sets has every slot of its set once. A slot that
//! gets another line was the last of that list; so it is the last or absent in its other lists, and
//! leaves them as it moves to their heads.

#![allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with the caller"
)]

use std::array::from_fn;

use super::lists::{Moves, Slot};

/// A slot without a line.
const EMPTY: u64 = u64::MAX;

/// The lists of 1, 2, 4 ... 2^`set_bits` sets, with `WAYS` slots each.
pub struct Recency<S, const WAYS: usize> {
    set_bits: u32,
    /// Lists of one set, of two, of four: that of set s among n is number n - 1 + s.
    lists: Vec<[S; WAYS]>,
    /// Hashes of the lines of the largest cache, set by set.
    tags: Vec<[u16; WAYS]>,
    /// Lines of the largest cache, set by set.
    lines: Vec<[u64; WAYS]>,
}

impl<S: Slot, const WAYS: usize> Recency<S, WAYS> {
    /// Return empty sets.
    pub fn new(set_bits: u32) -> Self {
        let set_count = 1 << set_bits;
        let mut lists = vec![[S::default(); WAYS]; 2 * set_count - 1];
        for (set, list) in lists[set_count - 1..].iter_mut().enumerate() {
            *list = from_fn(|way| S::of(way << set_bits | set));
        }
        Self {
            set_bits,
            lists,
            tags: vec![[0; WAYS]; set_count],
            lines: vec![[EMPTY; WAYS]; set_count],
        }
    }

    /// Use a line; hand the binary logarithm of each number of sets with its place in the list
    /// there to `each`, without those at the head. Return false if it is in no list.
    #[inline(always)]
    pub fn use_line(
        &mut self,
        line: u64,
        moves: impl Moves,
        mut each: impl FnMut(usize, usize),
    ) -> bool {
        let set = self.set_of(line);
        let Some(way) = self.way_of(set, line, moves) else {
            self.bring_in(set, line, moves);
            return false;
        };
        let slot = S::of(way << self.set_bits | set);
        let mut mask = 0;
        for bits in 0..self.set_bits as usize + 1 {
            let list = &mut self.lists[mask + (set & mask)];
            let Some(place) = moves.move_to_head(list, slot) else {
                break;
            };
            each(bits, place);
            mask = 2 * mask + 1;
        }
        true
    }

    #[inline(always)]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a set is below the number of lists"
    )]
    fn set_of(&self, line: u64) -> usize {
        (line & ((1 << self.set_bits) - 1)) as usize
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the upper 16 bits")]
    fn tag_of(&self, line: u64) -> u16 {
        // Fibonacci hashing: lines are no attackers.
        ((line >> self.set_bits).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16
    }

    /// Return the way of a line in its set of the largest cache.
    #[inline(always)]
    fn way_of(&self, set: usize, line: u64, moves: impl Moves) -> Option<usize> {
        let way = moves.place(&self.tags[set], self.tag_of(line));
        if way == WAYS {
            return None;
        }
        let lines = &self.lines[set];
        if lines[way] == line {
            return Some(way);
        }
        // Another line, or an empty slot, has the same hash.
        lines.iter().position(|&one| one == line)
    }

    /// Give a line that is missing the slot of the line that the largest cache displaces.
    #[inline(always)]
    fn bring_in(&mut self, set: usize, line: u64, moves: impl Moves) {
        let set_count = 1 << self.set_bits;
        let slot = self.lists[set_count - 1 + set][WAYS - 1];
        let way = slot.number() >> self.set_bits;
        self.tags[set][way] = self.tag_of(line);
        self.lines[set][way] = line;
        let mut mask = 0;
        for _ in 0..self.set_bits + 1 {
            moves.push(&mut self.lists[mask + (set & mask)], slot);
            mask = 2 * mask + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lists::Plain;
    use super::*;

    /// Two lines of one set with one hash: the line itself decides.
    #[test]
    fn lines_with_the_same_hash_are_different_lines() {
        let mut recency = Recency::<u16, 16>::new(0);
        let tag = recency.tag_of(1);
        let twin = (2..).find(|&line| recency.tag_of(line) == tag);
        let twin = twin.expect("65,536 hashes");
        let found = [1, twin, 1, twin, twin].map(|line| {
            let mut places = Vec::new();
            let is_found = recency.use_line(line, Plain, |bits, place| places.push((bits, place)));
            (is_found, places)
        });
        let none = Vec::new;
        let second = || vec![(0, 1)];
        assert_eq!(
            found,
            [
                (false, none()),
                (false, none()),
                (true, second()),
                (true, second()),
                (true, none())
            ]
        );
    }
}
