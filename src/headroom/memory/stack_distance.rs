//! Stack distances: how many other lines were used since a line was used last.
//!
//! An access misses in a fully associative cache of n lines with LRU if and only if its distance is
//! at least n (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9, 1970). So one pass gives the
//! misses of all sizes. Each line has one mark at the moment of its last use; the distance is the
//! number of marks behind that moment, which a tree of sums counts (Olken 1981): O(log n) an access.
//!
//! Sampled, only lines whose hash is below a threshold count, and distances are scaled by the rate
//! (SHARDS: Waldspurger, Park, Garthwaite, Ahmad, FAST 2015).
//!
//! Invariant: the number of marks is the number of different lines.

#![allow(
    clippy::disallowed_types,
    reason = "lines are looked up, and never listed: their order has no effect"
)]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Moments before the first renumbering.
const FIRST_MOMENTS: usize = 1 << 12;
/// Bits of the hash that the rate of sampling is compared with.
const RATE_BITS: u32 = 24;

/// Mixes the number of a line (Fibonacci hashing): lines are no attackers.
#[derive(Default)]
pub struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("lines are numbers");
    }

    fn write_u64(&mut self, line: u64) {
        let mixed = line.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// Stack distances of a stream.
#[derive(Clone, Debug)]
pub struct StackDistances {
    line_bits: u32,
    /// Lines with a hash of at most this count.
    threshold: u64,
    /// Line to the moment of its last use.
    last: HashMap<u64, u32, BuildHasherDefault<LineHasher>>,
    /// Line of each moment, for renumbering; [`u64::MAX`] where it was used again.
    lines: Vec<u64>,
    /// Sums of marks, as a Fenwick tree from 1.
    sums: Vec<u32>,
    /// Distance in sampled lines to how often it came.
    histogram: Vec<u64>,
    /// Accesses of lines that were never used before.
    pub first_count: u64,
    /// Accesses that count.
    pub sampled_count: u64,
    /// Accesses.
    pub access_count: u64,
}

impl StackDistances {
    /// Return the distances of lines of `line_bytes` (a power of two).
    pub fn new(line_bytes: u64) -> Self {
        Self::sampled(line_bytes, 1.0)
    }

    /// Return the distances of a share `rate` of the lines, above 0 and at most 1.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 2^24"
    )]
    pub fn sampled(line_bytes: u64, rate: f64) -> Self {
        let all = 1_u64 << RATE_BITS;
        Self {
            line_bits: line_bytes.trailing_zeros(),
            threshold: ((rate * all as f64) as u64).clamp(1, all),
            last: HashMap::default(),
            lines: Vec::with_capacity(FIRST_MOMENTS),
            sums: vec![0; FIRST_MOMENTS + 1],
            histogram: Vec::new(),
            first_count: 0,
            sampled_count: 0,
            access_count: 0,
        }
    }

    /// Return the share of lines that count.
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / f64::from(1_u32 << RATE_BITS)
    }

    /// Return the number of different lines that counted.
    pub fn line_count(&self) -> u64 {
        self.last.len() as u64
    }

    /// Return how often each distance came; without first uses.
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }

    /// Use all lines of an access; return whether one of them is new, and the largest distance.
    #[inline]
    pub fn access_all(&mut self, address: u64, bytes: u64) -> (bool, u64) {
        let last = (address + bytes - 1) >> self.line_bits;
        let mut found = (false, 0);
        for line in address >> self.line_bits..=last {
            match self.access(line) {
                None => found.0 = true,
                Some(distance) => found.1 = found.1.max(distance),
            }
        }
        found
    }

    /// Use a line; return its distance, None if it is new or does not count.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "moments are renumbered long before 2^32"
    )]
    pub fn access(&mut self, line: u64) -> Option<u64> {
        self.access_count += 1;
        if self.threshold < 1 << RATE_BITS && sample_hash(line) >= self.threshold {
            return None;
        }
        self.sampled_count += 1;
        if self.lines.len() + 1 >= self.sums.len() {
            self.renumber();
        }
        let now = self.lines.len() as u32;
        let before = self.last.insert(line, now);
        self.lines.push(line);
        let Some(then) = before else {
            self.first_count += 1;
            self.mark(now, 1);
            return None;
        };
        // All marks but those up to the last use of this line.
        let distance = self.last.len() as u64 - u64::from(self.marks_up_to(then));
        self.mark(then, u32::MAX);
        self.lines[then as usize] = u64::MAX;
        self.mark(now, 1);
        let place = distance as usize;
        if place >= self.histogram.len() {
            self.histogram.resize((place + 1).next_power_of_two(), 0);
        }
        self.histogram[place] += 1;
        Some(distance)
    }

    /// Add `change` (modulo 2^32) to the mark of a moment.
    #[inline]
    fn mark(&mut self, moment: u32, change: u32) {
        let mut index = moment as usize + 1;
        while index < self.sums.len() {
            self.sums[index] = self.sums[index].wrapping_add(change);
            index += index & index.wrapping_neg();
        }
    }

    /// Return the number of marks up to a moment, with it.
    #[inline]
    fn marks_up_to(&self, moment: u32) -> u32 {
        let mut index = moment as usize + 1;
        let mut sum = 0_u32;
        while index > 0 {
            sum = sum.wrapping_add(self.sums[index]);
            index &= index - 1;
        }
        sum
    }

    /// Number the last uses from 0 again, with room for as many more: amortised O(1) an access.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "fewer than 2^32 different lines"
    )]
    fn renumber(&mut self) {
        self.lines.retain(|&line| line != u64::MAX);
        for (moment, line) in self.lines.iter().enumerate() {
            if let Some(last) = self.last.get_mut(line) {
                *last = moment as u32;
            }
        }
        let room = (4 * self.lines.len()).max(FIRST_MOMENTS);
        self.sums.clear();
        self.sums.resize(room + 1, 0);
        let marked = self.lines.len();
        for index in 1..=room {
            // Each sum of the tree covers as many moments as its lowest bit says.
            let first = index - (index & index.wrapping_neg());
            self.sums[index] = (index.min(marked) - first.min(marked)) as u32;
        }
    }
}

/// Return the hash of a line that decides whether it counts, from 0 to 2^24.
fn sample_hash(line: u64) -> u64 {
    // The finalizer of SplitMix64: bits of its own, so that the table is not skewed.
    let mut mixed = line.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ mixed >> 31) >> (64 - RATE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::caches::cache::{Cache, Found, Replacement};
    use proptest::prelude::*;

    #[test]
    fn distances_of_a_short_stream() {
        let mut distances = StackDistances::new(64);
        let found: Vec<_> = [1, 2, 3, 1, 1, 3, 2]
            .map(|line| distances.access(line))
            .into();
        assert_eq!(
            found,
            [None, None, None, Some(2), Some(0), Some(1), Some(2)]
        );
        assert_eq!(&distances.histogram()[..3], [1, 1, 2]);
        assert_eq!((distances.first_count, distances.line_count()), (3, 3));
    }

    proptest! {
        /// Oracle: a fully associative cache with LRU of every size.
        #[test]
        fn they_are_the_misses_of_every_size(
            lines in prop::collection::vec(0_u64..40, 1..400), repeats in 1..40_usize
        ) {
            let stream: Vec<u64> = lines.iter().copied().cycle().take(lines.len() * repeats).collect();
            let mut distances = StackDistances::new(1);
            for &line in &stream {
                distances.access(line);
            }
            for size in [1_u32, 2, 3, 7, 16, 39, 64] {
                let mut cache = Cache::new(1, size, Replacement::Lru).expect("sound");
                let mut misses = 0;
                for &line in &stream {
                    if cache.look_up(line, false) == Found::Miss {
                        cache.insert(line, false, false);
                        misses += 1;
                    }
                }
                let far: u64 = distances.histogram().iter().skip(size as usize).sum();
                prop_assert_eq!(far + distances.first_count, misses);
            }
        }
    }
}
