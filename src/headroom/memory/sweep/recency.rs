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

/// A slot without a line.
const EMPTY: u64 = u64::MAX;

/// Number of a line among those of the largest cache; its low bits are the set.
pub trait Slot: Copy + Ord + Default + Send + 'static {
    /// Return the slot of a number, which fits.
    fn of(number: usize) -> Self;
    /// Return its number.
    fn number(self) -> usize;
}

#[allow(clippy::cast_possible_truncation, reason = "a number that fits")]
impl Slot for u16 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as Self
    }

    #[inline(always)]
    fn number(self) -> usize {
        usize::from(self)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a number that fits")]
impl Slot for u32 {
    #[inline(always)]
    fn of(number: usize) -> Self {
        number as Self
    }

    #[inline(always)]
    fn number(self) -> usize {
        self as usize
    }
}

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
    pub fn use_line(&mut self, line: u64, mut each: impl FnMut(usize, usize)) -> bool {
        let set = self.set_of(line);
        let Some(way) = self.way_of(set, line) else {
            self.bring_in(set, line);
            return false;
        };
        let slot = S::of(way << self.set_bits | set);
        let mut mask = 0;
        for bits in 0..=self.set_bits as usize {
            let list = &mut self.lists[mask + (set & mask)];
            if list[0] == slot {
                break;
            }
            each(bits, move_to_head(list, slot));
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
    fn way_of(&self, set: usize, line: u64) -> Option<usize> {
        let way = place(&self.tags[set], self.tag_of(line));
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
    fn bring_in(&mut self, set: usize, line: u64) {
        let set_count = 1 << self.set_bits;
        let slot = self.lists[set_count - 1 + set][WAYS - 1];
        let way = slot.number() >> self.set_bits;
        self.tags[set][way] = self.tag_of(line);
        self.lines[set][way] = line;
        let mut mask = 0;
        for _ in 0..=self.set_bits {
            push(&mut self.lists[mask + (set & mask)], slot);
            mask = 2 * mask + 1;
        }
    }
}

/// Return the first place of `slot` in a list, the number of ways if there is none.
#[inline(always)]
fn place<S: Slot, const WAYS: usize>(list: &[S; WAYS], slot: S) -> usize {
    // A minimum over all ways, without a branch: one comparison of vectors.
    let places: [S; WAYS] = from_fn(|way| S::of(if list[way] == slot { way } else { WAYS }));
    places.into_iter().fold(S::of(WAYS), S::min).number()
}

/// Move `slot` to the head of a list; if it is absent, the last one leaves. Return its place
/// before, the number of ways if it was absent.
#[inline(always)]
fn move_to_head<S: Slot, const WAYS: usize>(list: &mut [S; WAYS], slot: S) -> usize {
    let before = *list;
    let place = place(&before, slot);
    let found = S::of(place);
    *list = from_fn(|way| match way {
        _ if S::of(way) > found => before[way],
        0 => slot,
        _ => before[way - 1],
    });
    place
}

/// Put `slot` at the head of a list; the last one leaves.
#[inline(always)]
fn push<S: Slot, const WAYS: usize>(list: &mut [S; WAYS], slot: S) {
    let before = *list;
    *list = from_fn(|way| if way == 0 { slot } else { before[way - 1] });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lines of one set with one hash: the line itself decides.
    #[test]
    fn lines_with_the_same_hash_are_different_lines() {
        let mut recency = Recency::<u16, 8>::new(0);
        let tag = recency.tag_of(1);
        let twin = (2..1_000_000).find(|&line| recency.tag_of(line) == tag);
        let twin = twin.expect("65,536 hashes");
        let found = [1, twin, 1, twin, twin].map(|line| {
            let mut places = Vec::new();
            let is_found = recency.use_line(line, |bits, place| places.push((bits, place)));
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

    #[test]
    fn a_slot_moves_to_the_head_from_any_place() {
        for place in 0..8_u16 {
            let mut list = [10_u16, 11, 12, 13, 14, 15, 16, 17];
            assert_eq!(move_to_head(&mut list, 10 + place), usize::from(place));
            let mut expected: Vec<u16> = (10..18).collect();
            let slot = expected.remove(usize::from(place));
            expected.insert(0, slot);
            assert_eq!(list[..], expected);
        }
        let mut list = [1_u16, 2, 3, 4];
        assert_eq!(move_to_head(&mut list, 9), 4);
        assert_eq!(list, [9, 1, 2, 3]);
        push(&mut list, 7);
        assert_eq!(list, [7, 9, 1, 2]);
    }
}
