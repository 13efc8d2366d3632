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
    unsafe_code,
    reason = "lists are found without checks, by code for vectors that not every processor has"
)]
#![allow(
    clippy::inline_always,
    reason = "compiled for the vectors of the caller"
)]

use std::array::from_fn;
use std::mem::{replace, take};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::lists::Wide;
use super::lists::{Moves, Plain, Slot};
use super::repeats::Access;
use crate::memory::streams::ADDRESS_BITS;

/// Most ways.
pub const MOST_WAYS: u32 = 64;
/// Places of a line: the ways, and missing.
const PLACES: usize = MOST_WAYS as usize + 1;
/// Binary logarithm of the most sets.
pub const MOST_SET_BITS: u32 = 24;
/// Bits of a line that its set and its place in it do not tell, with one that no line has.
const KNOWN_BITS: u32 = u16::BITS + u32::BITS - 1;
/// The top of a slot without a line.
const EMPTY: u32 = u32::MAX;

/// Caches with 1, 2, 4 ... sets that carry out accesses and count their misses.
pub trait Simulate: Send {
    /// Carry out accesses, together fewer than 2^32 by weight.
    fn carry_out(&mut self, accesses: &[Access]);

    /// Return reads and writes that 2^`set_bits` sets with `ways` ways missed.
    fn misses(&self, set_bits: usize, ways: usize) -> [u64; 2];
}

/// Return empty sets, 2^`set_bits` and fewer, for lines of 2^`line_bits` bytes, with lists of
/// `most_ways` or the next larger vectors.
pub fn empty(line_bits: u32, set_bits: u32, most_ways: u32) -> Box<dyn Simulate> {
    fn made<S: Slot, const WAYS: usize>(bits: (u32, u32)) -> Box<dyn Simulate> {
        Box::new(Sets::<S, WAYS>::new(bits.0, bits.1))
    }
    // With more sets than asked for, the rest of a line fits into tag and top.
    let least = (ADDRESS_BITS - KNOWN_BITS).saturating_sub(line_bits);
    let bits = (line_bits, set_bits.max(least));
    let ways = most_ways.next_power_of_two().max(16);
    let is_small = bits.1 + ways.trailing_zeros() <= u16::BITS;
    match (is_small, ways) {
        (true, 16) => made::<u16, 16>(bits),
        (true, 32) => made::<u16, 32>(bits),
        (true, _) => made::<u16, { MOST_WAYS as usize }>(bits),
        (false, 16) => made::<u32, 16>(bits),
        (false, 32) => made::<u32, 32>(bits),
        (false, _) => made::<u32, { MOST_WAYS as usize }>(bits),
    }
}

/// Counts of a number of sets, by the place of lines in their lists, the last one if missing.
struct Level {
    /// Reads in the lower half and writes in the upper one, since they were added to the sums.
    recent: [u64; PLACES],
    sums: [[u64; 2]; PLACES],
}

impl Level {
    const fn new() -> Self {
        Self {
            recent: [0; PLACES],
            sums: [[0; 2]; PLACES],
        }
    }

    fn add_recent(&mut self) {
        for (sum, recent) in self.sums.iter_mut().zip(&mut self.recent) {
            let both = take(recent);
            sum[0] += both & u64::from(u32::MAX);
            sum[1] += both >> 32;
        }
    }
}

/// A set of the largest number of sets.
#[derive(Clone)]
#[repr(align(64))]
struct Home<S, const WAYS: usize> {
    /// The lowest bits of each line above those of the set, by its slot.
    tags: [u16; WAYS],
    /// Its slots by recency.
    list: [S; WAYS],
    /// The bits of each line above the tag, by its slot.
    tops: [u32; WAYS],
}

/// The lists of 1, 2, 4 ... 2^`set_bits` sets, with `WAYS` slots each.
struct Sets<S, const WAYS: usize> {
    line_bits: u32,
    set_bits: u32,
    /// The line used last: a hit in every cache.
    newest: u64,
    /// Counts of one set, of two, of four ...
    levels: Vec<Level>,
    /// Lists of one set, of two, of four ... 2^(`set_bits` - 1): that of set s among n is number
    /// n - 1 + s.
    lists: Vec<[S; WAYS]>,
    homes: Vec<Home<S, WAYS>>,
}

impl<S: Slot, const WAYS: usize> Sets<S, WAYS> {
    fn new(line_bits: u32, set_bits: u32) -> Self {
        let set_count = 1 << set_bits;
        let homes = (0..set_count).map(|set| Home {
            tags: [0; WAYS],
            list: from_fn(|way| S::of(way << set_bits | set)),
            tops: [EMPTY; WAYS],
        });
        Self {
            line_bits,
            set_bits,
            newest: u64::MAX,
            levels: (0..=set_bits).map(|_| Level::new()).collect(),
            lists: vec![[S::default(); WAYS]; set_count - 1],
            homes: homes.collect(),
        }
    }

    #[inline(always)]
    fn carry_out_by<M: Moves>(&mut self, accesses: &[Access], moves: M) {
        for access in accesses {
            let (line, last) = access.lines(self.line_bits);
            let weight = access.both();
            let newest = replace(&mut self.newest, last);
            if line != last {
                self.use_lines(line, last, weight, moves);
                continue;
            }
            if line == newest {
                continue;
            }
            let is_found = self.use_line(line, moves, |_, level, place| {
                level.recent[place] += weight;
            });
            if !is_found {
                self.lose(weight);
            }
        }
        for level in &mut self.levels {
            level.add_recent();
        }
    }

    /// Use several lines as one access: the one farthest down its list decides.
    #[inline(always)]
    fn use_lines<M: Moves>(&mut self, first: u64, last: u64, weight: u64, moves: M) {
        let mut farthest = [0; MOST_SET_BITS as usize + 1];
        let mut is_found = true;
        for line in first..=last {
            is_found &= self.use_line(line, moves, |bits, _, place| {
                farthest[bits] = place.max(farthest[bits]);
            });
        }
        if !is_found {
            self.lose(weight);
            return;
        }
        for (level, place) in self.levels.iter_mut().zip(farthest) {
            level.recent[place] += weight;
        }
    }

    /// Count an access that all caches missed: with the largest number of sets only.
    #[inline(always)]
    fn lose(&mut self, weight: u64) {
        self.levels[self.set_bits as usize].recent[WAYS] += weight;
    }

    /// Use a line; hand the binary logarithm of each number of sets, its counts, and the place of
    /// the line there to `each`. Places 0 may be left out. Return false if it is in no list.
    #[inline(always)]
    fn use_line<M: Moves>(
        &mut self,
        line: u64,
        moves: M,
        mut each: impl FnMut(usize, &mut Level, usize),
    ) -> bool {
        let set = self.set_of(line);
        let Some(way) = self.way_of(set, line, moves) else {
            self.bring_in(set, line, moves);
            return false;
        };
        let slot = S::of(way << self.set_bits | set);
        let (coarser, finest) = self.levels.split_at_mut(self.set_bits as usize);
        let (mut last, at) = (0, set * size_of::<[S; WAYS]>());
        for (bits, level) in coarser.iter_mut().enumerate() {
            // SAFETY: `bits` counts the sets up to half of the largest number.
            let of_set = unsafe { list_of(&mut self.lists, last, at) };
            let place = moves.move_to_head(of_set, slot);
            if bits >= M::MOVES_BEFORE_LOOKING && place == 0 {
                return true;
            }
            each(bits, level, place);
            last = 2 * last + size_of::<[S; WAYS]>();
        }
        let place = moves.move_to_head(&mut self.homes[set].list, slot);
        each(self.set_bits as usize, &mut finest[0], place);
        true
    }

    #[inline(always)]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a set is below the number of sets"
    )]
    fn set_of(&self, line: u64) -> usize {
        (line & ((1 << self.set_bits) - 1)) as usize
    }

    /// Return the bits of a line above those of the set: 16, and the others.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "parts of a number")]
    fn tag_and_top(&self, line: u64) -> (u16, u32) {
        let rest = line >> self.set_bits;
        (rest as u16, (rest >> u16::BITS) as u32)
    }

    /// Return the way of a line in its set of the largest cache.
    #[inline(always)]
    fn way_of(&self, set: usize, line: u64, moves: impl Moves) -> Option<usize> {
        let (tag, top) = self.tag_and_top(line);
        let home = &self.homes[set];
        let way = moves.place(&home.tags, tag);
        if way == WAYS {
            return None;
        }
        if home.tops[way] == top {
            return Some(way);
        }
        // Another line, or an empty slot, has the same tag.
        (0..WAYS).find(|&way| home.tags[way] == tag && home.tops[way] == top)
    }

    /// Give a line that is missing the slot of the line that the largest cache displaces.
    #[inline(always)]
    fn bring_in(&mut self, set: usize, line: u64, moves: impl Moves) {
        let (tag, top) = self.tag_and_top(line);
        let home = &mut self.homes[set];
        let slot = home.list[WAYS - 1];
        let way = slot.number() >> self.set_bits;
        (home.tags[way], home.tops[way]) = (tag, top);
        moves.push(&mut home.list, slot);
        let (mut last, at) = (0, set * size_of::<[S; WAYS]>());
        for _ in 0..self.set_bits {
            // SAFETY: as above.
            moves.push(unsafe { list_of(&mut self.lists, last, at) }, slot);
            last = 2 * last + size_of::<[S; WAYS]>();
        }
    }
}

/// Return the list of a set among a number of sets. The last list of that number, and the set, are
/// given in bytes from the first list on: the processor multiplies by 8 at most.
///
/// # Safety
///
/// The number of sets is a power of two, at most half of the largest: those have a list for each set.
#[inline(always)]
unsafe fn list_of<S, const WAYS: usize>(
    lists: &mut [[S; WAYS]],
    last: usize,
    set: usize,
) -> &mut [S; WAYS] {
    let bytes = last + (set & last);
    debug_assert!(
        bytes < size_of_val(lists),
        "fewer sets than the largest number"
    );
    // SAFETY: the set is masked to one of its number, which has its list by the contract.
    unsafe { &mut *lists.as_mut_ptr().byte_add(bytes) }
}

impl<S: Slot, const WAYS: usize> Simulate for Sets<S, WAYS> {
    fn carry_out(&mut self, accesses: &[Access]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(wide) = Wide::detected() {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.carry_out_wide(accesses, wide) };
        }
        self.carry_out_by(accesses, Plain);
    }

    fn misses(&self, set_bits: usize, ways: usize) -> [u64; 2] {
        let finest = self.set_bits as usize;
        let lost = (set_bits < finest).then(|| &self.levels[finest].sums[WAYS]);
        let counts = self.levels[set_bits].sums[ways..].iter().chain(lost);
        counts.fold([0; 2], |sum, count| [sum[0] + count[0], sum[1] + count[1]])
    }
}

impl<S: Slot, const WAYS: usize> Sets<S, WAYS> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn carry_out_wide(&mut self, accesses: &[Access], wide: Wide) {
        self.carry_out_by(accesses, wide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used<M: Moves>(
        sets: &mut Sets<u16, 16>,
        line: u64,
        moves: M,
    ) -> (bool, Vec<(usize, usize)>) {
        let mut places = Vec::new();
        let is_found = sets.use_line(line, moves, |bits, _, place| places.push((bits, place)));
        (is_found, places)
    }

    /// Two lines of one set with one tag: the top decides.
    #[test]
    fn lines_with_the_same_tag_are_different_lines() {
        let mut sets = Sets::new(6, 3);
        let twin = 1 | 5 << (3 + u16::BITS);
        for (line, is_known, is_first) in [
            (1, false, false),
            (twin, false, false),
            (1, true, false),
            (twin, true, false),
            (twin, true, true),
        ] {
            let (is_found, places) = used(&mut sets, line, Plain);
            assert_eq!(is_found, is_known, "{line}");
            let expected = (0..4).map(|bits| (bits, 1));
            let places: Vec<_> = places.into_iter().filter(|&(_, place)| place > 0).collect();
            assert_eq!(
                places,
                expected
                    .filter(|_| is_known && !is_first)
                    .collect::<Vec<_>>()
            );
        }
    }

    /// The code for every processor counts as the one for this processor.
    #[test]
    fn accesses_are_counted_without_vectors_too() {
        let mut state = 1_u64;
        let accesses: Vec<Access> = (0..20_000)
            .map(|turn| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                Access {
                    address: (state >> 40) % 100_000,
                    reach: if turn % 9 == 0 { 100 } else { 3 },
                    weight: if turn % 3 == 0 { [0, 2] } else { [1, 0] },
                }
            })
            .collect();
        let (mut plain, mut any) = (Sets::<u16, 16>::new(6, 7), Sets::<u16, 16>::new(6, 7));
        plain.carry_out_by(&accesses, Plain);
        any.carry_out(&accesses);
        for bits in 0..=7 {
            for ways in 1..=16 {
                let misses = any.misses(bits, ways);
                assert_eq!(misses, plain.misses(bits, ways));
                assert!(misses.iter().all(|&count| count > 0));
            }
        }
    }
}
