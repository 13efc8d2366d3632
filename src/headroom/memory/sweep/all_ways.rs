//! Misses of all numbers of sets and ways of one size of line, from one pass over a stream.
//!
//! A cache of n ways with LRU misses a line whose place in the list of its set is n or more, so the
//! places of an access are its misses in all caches (Mattson, Gecsei, Slutz, Traiger, IBM Systems
//! Journal 9, 1970, for one set; Hill and Smith, IEEE Transactions on Computers 38, 1989, for all).
//!
//! Cost: an access that repeats takes O(1), any other O(log sets) moves in lists of `most_ways`,
//! which are vectors of 8, 16, 32 or 64 slots; an access whose line is at the head of its list
//! takes those of fewer sets only. Memory is about 14 B for each line of the largest cache, 18 B
//! above 65,536 lines.

#![allow(unsafe_code, reason = "code for vectors that not every processor has")]
#![allow(
    clippy::inline_always,
    reason = "compiled once for each kind of vectors, with the caller"
)]

use super::recency::{Recency, Slot};
use super::repeats::{Access, Repeats, add};

/// Most ways: those of a fully associative cache are stack distances.
pub const MOST_WAYS: u32 = 64;
/// Most lines of the largest cache.
pub const MOST_LINES: u64 = 1 << 24;
/// Most numbers of sets: 1, 2, 4 ... [`MOST_LINES`].
const SIZES: usize = MOST_LINES.trailing_zeros() as usize + 1;
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
    pub(super) given: Vec<Access>,
    /// Those that remained of the ones before.
    pub(super) kept: Vec<Access>,
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
            sets: sets(most_sets.trailing_zeros(), most_ways),
            given: Vec::with_capacity(TOGETHER),
            kept: Vec::with_capacity(TOGETHER),
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
    pub fn access(&mut self, address: u64, bytes: u64, is_write: bool) {
        if self.add(address, bytes, is_write) {
            self.settle();
        }
    }

    /// Note an access; return whether it is time to simulate those that were noted.
    #[inline]
    pub(super) fn add(&mut self, address: u64, bytes: u64, is_write: bool) -> bool {
        let last = address + bytes - 1;
        let (line, last_line) = (address >> self.line_bits, last >> self.line_bits);
        self.counts[usize::from(is_write)] += 1;
        if line == last_line && line == self.newest {
            return false;
        }
        self.newest = last_line;
        let mut weight = [0; 2];
        weight[usize::from(is_write)] = 1;
        self.given.push(Access {
            first: address,
            last,
            weight,
        });
        self.given.len() >= TOGETHER
    }

    /// Simulate the accesses that were noted.
    pub(super) fn settle(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi2")
        {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { self.leave_out_wide() };
            // SAFETY: as above.
            unsafe { self.sets.carry_out_wide(&self.kept, self.line_bits) };
            self.given.clear();
            return;
        }
        self.repeats.leave_out(&self.given, &mut self.kept);
        self.sets.carry_out(&self.kept, self.line_bits);
        self.given.clear();
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi2")]
    fn leave_out_wide(&mut self) {
        self.repeats.leave_out(&self.given, &mut self.kept);
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

/// Sets of some number of slots and ways.
trait Simulate: Send {
    /// Carry out accesses to lines of 2^`line_bits` bytes.
    fn carry_out(&mut self, accesses: &[Access], line_bits: u32);

    /// The same with vectors of 32 bytes.
    ///
    /// # Safety
    ///
    /// The processor has AVX2 and BMI2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe fn carry_out_wide(&mut self, accesses: &[Access], line_bits: u32);

    /// Return reads and writes that 2^`set_bits` sets with `ways` ways missed.
    fn misses(&self, set_bits: usize, ways: usize) -> [u64; 2];
}

/// Return empty sets with the fewest slots that fit.
fn sets(set_bits: u32, most_ways: u32) -> Box<dyn Simulate> {
    fn made<S: Slot, const WAYS: usize>(set_bits: u32) -> Box<dyn Simulate> {
        Box::new(Sets::<S, WAYS>::new(set_bits))
    }
    let ways = most_ways.next_power_of_two().max(8);
    let is_small = set_bits + ways.trailing_zeros() <= u16::BITS;
    match (is_small, ways) {
        (true, 8) => made::<u16, 8>(set_bits),
        (true, 16) => made::<u16, 16>(set_bits),
        (true, 32) => made::<u16, 32>(set_bits),
        (true, _) => made::<u16, 64>(set_bits),
        (false, 8) => made::<u32, 8>(set_bits),
        (false, 16) => made::<u32, 16>(set_bits),
        (false, 32) => made::<u32, 32>(set_bits),
        (false, _) => made::<u32, 64>(set_bits),
    }
}

/// Sets with what was counted: reads and writes.
struct Sets<S, const WAYS: usize> {
    recency: Recency<S, WAYS>,
    /// By the binary logarithm of the number of sets, and by the place: `WAYS` is a miss.
    places: Vec<[[u64; 2]; MOST_WAYS as usize + 1]>,
    /// Misses of all caches.
    lost: [u64; 2],
}

impl<S: Slot, const WAYS: usize> Sets<S, WAYS> {
    fn new(set_bits: u32) -> Self {
        Self {
            recency: Recency::new(set_bits),
            places: vec![[[0; 2]; MOST_WAYS as usize + 1]; set_bits as usize + 1],
            lost: [0; 2],
        }
    }

    #[inline(always)]
    fn carry_out_here(&mut self, accesses: &[Access], line_bits: u32) {
        for access in accesses {
            let (line, last) = (access.first >> line_bits, access.last >> line_bits);
            if line != last {
                self.use_lines(line, last, access.weight);
                continue;
            }
            let places = &mut self.places;
            let is_found = self.recency.use_line(line, |bits, place| {
                add(&mut places[bits][place], access.weight);
            });
            if !is_found {
                add(&mut self.lost, access.weight);
            }
        }
    }

    /// Use several lines as one access: the one farthest down its list decides.
    fn use_lines(&mut self, first: u64, last: u64, weight: [u64; 2]) {
        let mut farthest = [0; SIZES];
        for line in first..=last {
            let is_found = self.recency.use_line(line, |bits, place| {
                farthest[bits] = place.max(farthest[bits]);
            });
            if !is_found {
                farthest = [WAYS; SIZES];
            }
        }
        for (places, place) in self.places.iter_mut().zip(farthest) {
            add(&mut places[place], weight);
        }
    }
}

impl<S: Slot, const WAYS: usize> Simulate for Sets<S, WAYS> {
    fn carry_out(&mut self, accesses: &[Access], line_bits: u32) {
        self.carry_out_here(accesses, line_bits);
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi2")]
    unsafe fn carry_out_wide(&mut self, accesses: &[Access], line_bits: u32) {
        self.carry_out_here(accesses, line_bits);
    }

    fn misses(&self, set_bits: usize, ways: usize) -> [u64; 2] {
        let mut sum = self.lost;
        for &count in &self.places[set_bits][ways..] {
            add(&mut sum, count);
        }
        sum
    }
}
