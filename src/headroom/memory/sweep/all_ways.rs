//! Misses of all numbers of sets and ways of one size of line, from one pass over a stream.
//!
//! A cache of n ways with LRU misses a line whose place in the list of its set is n or more, so the
//! places of an access are its misses in all caches (Mattson, Gecsei, Slutz, Traiger, IBM Systems
//! Journal 9, 1970, for one set; Hill and Smith, IEEE Transactions on Computers 38, 1989, for all).
//!
//! Cost: an access that repeats one of the last takes O(1), any other O(log sets) moves in lists of
//! `most_ways`, which are vectors of 16, 32 or 64 slots. Memory is about 10 B for each line of the
//! largest cache, 16 B above 65,536 lines.

use super::repeats::{Access, Repeats};
use super::sets::{self, MOST_SET_BITS, Simulate};

pub use super::sets::MOST_WAYS;

/// Most lines of the largest cache.
pub const MOST_LINES: u64 = 1 << MOST_SET_BITS;
/// Accesses that are simulated together.
const TOGETHER: usize = 4096;

/// Caches with LRU of 1, 2, 4 ... `most_sets` sets with 1, 2, 3 ... `most_ways` ways each.
///
/// Lines that are written are brought in as those that are read.
pub struct AllWays {
    line_bits: u32,
    most_sets: u64,
    most_ways: u32,
    /// Reads and writes.
    counts: [u64; 2],
    /// The line used last.
    newest: u64,
    repeats: Repeats,
    sets: Box<dyn Simulate>,
    /// Accesses that were not simulated yet.
    noted: Vec<Access>,
}

impl AllWays {
    /// Return empty caches with lines of `line_bytes`.
    ///
    /// # Errors
    ///
    /// Which number is impossible: bytes and sets are powers of two, ways at most [`MOST_WAYS`],
    /// lines of the largest cache at most [`MOST_LINES`].
    pub fn new(line_bytes: u64, most_sets: u64, most_ways: u32) -> Result<Self, String> {
        if !line_bytes.is_power_of_two() {
            return Err(format!("a line of {line_bytes} B is not a power of two"));
        }
        if !most_sets.is_power_of_two() || most_sets > MOST_LINES {
            return Err(format!(
                "{most_sets} sets are not a power of two up to {MOST_LINES}"
            ));
        }
        if most_ways == 0 || most_ways > MOST_WAYS {
            return Err(format!("{most_ways} ways are not 1 to {MOST_WAYS}"));
        }
        let line_count = most_sets * u64::from(most_ways);
        if line_count > MOST_LINES {
            return Err(format!(
                "{most_sets} sets of {most_ways} ways hold {line_count} lines, more than {MOST_LINES}"
            ));
        }
        let line_bits = line_bytes.trailing_zeros();
        Ok(Self {
            line_bits,
            most_sets,
            most_ways,
            counts: [0; 2],
            newest: u64::MAX,
            repeats: Repeats::new(line_bits),
            sets: sets::empty(line_bits, most_sets.trailing_zeros(), most_ways),
            noted: Vec::with_capacity(TOGETHER),
        })
    }

    /// Return the bytes of a line.
    pub const fn line_bytes(&self) -> u64 {
        1 << self.line_bits
    }

    /// Return how many reads and how many writes there were.
    pub const fn accesses(&self) -> (u64, u64) {
        (self.counts[0], self.counts[1])
    }

    /// Carry out an access of `bytes` >= 1 at `address`, both together at most 2^56. It uses all its
    /// lines in ascending order, and a cache misses it if one of them is missing.
    #[inline]
    pub fn access(&mut self, address: u64, bytes: u32, is_write: bool) {
        if self.note(address, bytes, is_write) {
            self.settle();
        }
    }

    /// Note an access; return whether it is time to simulate those that were noted.
    #[inline]
    pub(super) fn note(&mut self, address: u64, bytes: u32, is_write: bool) -> bool {
        let mut access = Access {
            address,
            reach: bytes - 1,
            weight: [0; 2],
        };
        access.weight[usize::from(is_write)] = 1;
        self.counts[usize::from(is_write)] += 1;
        let (line, last) = access.lines(self.line_bits);
        if line == last && line == self.newest {
            return false;
        }
        self.newest = last;
        self.noted.push(access);
        self.noted.len() >= TOGETHER
    }

    /// Simulate the accesses that were noted.
    fn settle(&mut self) {
        let mut noted = self.take();
        self.carry_out(&mut noted);
        self.reuse(noted);
    }

    /// Return the accesses that were noted.
    pub(super) fn take(&mut self) -> Vec<Access> {
        std::mem::take(&mut self.noted)
    }

    /// Note the next accesses where those of `spent` were.
    pub(super) fn reuse(&mut self, mut spent: Vec<Access>) {
        spent.clear();
        self.noted = spent;
    }

    /// Simulate accesses, at most as many as are noted together; those that are left are the stream
    /// for longer lines.
    pub(super) fn carry_out(&mut self, accesses: &mut Vec<Access>) {
        self.repeats.leave_out(accesses);
        self.sets.carry_out(accesses);
    }

    /// Return the reads and the writes that a cache of `sets` sets with `ways` ways missed.
    ///
    /// # Panics
    ///
    /// If it is not one of the simulated caches.
    pub fn misses(&mut self, sets: u64, ways: u32) -> (u64, u64) {
        assert!(
            sets.is_power_of_two() && sets <= self.most_sets,
            "{sets} sets"
        );
        assert!((1..=self.most_ways).contains(&ways), "{ways} ways");
        self.settle();
        let [reads, writes] = self
            .sets
            .misses(sets.trailing_zeros() as usize, ways as usize);
        (reads, writes)
    }
}
