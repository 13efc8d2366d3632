//! Every cache of a sweep against [`Cache`], one by one.

use super::all_ways::{AllWays, MOST_LINES};
use super::*;
use crate::memory::caches::cache::{Cache, Found, Replacement};
use crate::memory::stack_distance::StackDistances;
use proptest::prelude::*;

/// An access: address, bytes, whether it writes.
type Given = (u64, u32, bool);

/// Oracle: the reads and writes that one cache misses.
fn misses_of_one(stream: &[Given], line_bytes: u64, sets: u64, ways: u32) -> (u64, u64) {
    let mut cache = Cache::new(sets, ways, Replacement::Lru).expect("sound");
    let (mut reads, mut writes) = (0, 0);
    for &(address, bytes, is_write) in stream {
        let mut is_miss = false;
        for line in address / line_bytes..=(address + u64::from(bytes) - 1) / line_bytes {
            if cache.look_up(line, is_write) == Found::Miss {
                cache.insert(line, is_write, false);
                is_miss = true;
            }
        }
        if is_write {
            writes += u64::from(is_miss);
        } else {
            reads += u64::from(is_miss);
        }
    }
    (reads, writes)
}

fn all_ways(stream: &[Given], line_bytes: u64, most_sets: u64, most_ways: u32) -> AllWays {
    let mut caches = AllWays::new(line_bytes, most_sets, most_ways).expect("sound");
    for &(address, bytes, is_write) in stream {
        caches.access(address, bytes, is_write);
    }
    caches
}

/// Return streams of loops: a few addresses used in turn, which advance each time, up to a short
/// interruption.
fn streams() -> impl Strategy<Value = Vec<Given>> {
    let bytes = prop_oneof![4 => 1..9_u32, 1 => 1..200_u32];
    let address = prop_oneof![3 => 0..2000_u64, 1 => 0..100_000_u64];
    let pattern = prop::collection::vec((address, bytes, any::<bool>()), 1..11);
    let step = prop_oneof![Just(0_u64), Just(8), Just(64)];
    let rounds = (pattern, step, 1..30_u64, 0..10_usize);
    prop::collection::vec(rounds, 1..12).prop_map(|rounds| {
        let mut stream = Vec::new();
        for (pattern, step, times, cut) in rounds {
            for time in 0..times {
                let moved = pattern.iter().map(|&(address, bytes, is_write)| {
                    (address + step * time, bytes, is_write ^ (time % 7 == 3))
                });
                stream.extend(moved);
            }
            stream.truncate(stream.len() - cut.min(stream.len()));
        }
        stream
    })
}

proptest! {
    /// Oracle: each cache alone.
    #[test]
    fn every_cache_misses_as_it_does_alone(
        stream in streams(), line_bits in 0..8_u32, set_bits in 0..7_u32, most_ways in 1..35_u32
    ) {
        let (line_bytes, most_sets) = (1 << line_bits, 1 << set_bits);
        let mut caches = all_ways(&stream, line_bytes, most_sets, most_ways);
        for bits in 0..=set_bits {
            for ways in [1, 2, 3, 4, 7, 8, 12, 16, 17, 31, 34].into_iter().filter(|&n| n <= most_ways) {
                prop_assert_eq!(
                    caches.misses(1 << bits, ways),
                    misses_of_one(&stream, line_bytes, 1 << bits, ways),
                    "{} sets of {} ways", 1 << bits, ways
                );
            }
        }
    }

    /// Accesses that a shorter line leaves out change nothing for a longer one.
    #[test]
    fn a_sweep_is_its_sizes_of_line_one_by_one(stream in streams()) {
        let mut sweep = Sweep::new(&[512, 16, 64], 16, 4).expect("sound");
        for &(address, bytes, is_write) in &stream {
            sweep.access(address, bytes, is_write);
        }
        let writes = stream.iter().filter(|one| one.2).count() as u64;
        prop_assert_eq!(sweep.accesses(), (stream.len() as u64 - writes, writes));
        let sizes = sweep.sizes();
        let lines: Vec<u64> = sizes.iter().map(AllWays::line_bytes).collect();
        prop_assert_eq!(&lines, &[16, 64, 512]);
        for size in sizes {
            for (sets, ways) in [(1, 1), (1, 4), (2, 1), (4, 3), (16, 1), (16, 4)] {
                let alone = misses_of_one(&stream, size.line_bytes(), sets, ways);
                prop_assert_eq!(size.misses(sets, ways), alone);
            }
        }
    }

    /// Counts may be read at any time, and the stream continues.
    #[test]
    fn counts_between_accesses_do_not_disturb(stream in streams(), at in 0..200_usize) {
        let at = at.min(stream.len());
        let mut caches = all_ways(&stream[..at], 64, 8, 4);
        prop_assert_eq!(caches.misses(8, 2), misses_of_one(&stream[..at], 64, 8, 2));
        for &(address, bytes, is_write) in &stream[at..] {
            caches.access(address, bytes, is_write);
        }
        prop_assert_eq!(caches.misses(8, 2), misses_of_one(&stream, 64, 8, 2));
    }

    /// Oracle: stack distances, which no number of ways bounds.
    #[test]
    fn one_set_has_the_misses_of_stack_distances(stream in streams()) {
        let mut distances = StackDistances::new(32);
        let lines: Vec<Given> = stream.iter().map(|one| (one.0, 1, one.2)).collect();
        for &(address, bytes, _) in &lines {
            distances.access_all(address, u64::from(bytes));
        }
        let mut caches = all_ways(&lines, 32, 4, 64);
        for ways in 1..=64 {
            let (reads, writes) = caches.misses(1, ways);
            let far: u64 = distances.histogram().iter().skip(ways as usize).sum();
            prop_assert_eq!(reads + writes, far + distances.first_count);
        }
    }
}

/// A stream without pattern, by a xorshift (Marsaglia 2003).
fn without_pattern(count: usize, spread: u64) -> Vec<Given> {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    let drawn = |_| {
        let (near, far, is_near) = (next() % 512, next() % spread, next() % 2 == 0);
        (64 * if is_near { near } else { far }, 1, next() % 3 == 0)
    };
    (0..count).map(drawn).collect()
}

/// Slots of 16 and of 32 bits, and lists of all lengths.
#[test]
fn caches_of_all_kinds_of_slots_miss_as_they_do_alone() {
    let stream = without_pattern(20_000, 1 << 22);
    for (sets, ways) in [
        (64, 5),
        (4096, 16),
        (8192, 8),
        (8192, 16),
        (2048, 33),
        (4096, 32),
    ] {
        let mut caches = all_ways(&stream, 64, sets, ways);
        for (sets, ways) in [
            (sets, ways),
            (sets, 1),
            (sets / 64, ways),
            (8, ways),
            (1, ways),
        ] {
            assert_eq!(
                caches.misses(sets, ways),
                misses_of_one(&stream, 64, sets, ways),
                "{sets} sets of {ways} ways"
            );
        }
    }
}

/// The most that addresses allow.
#[test]
fn the_last_lines_of_memory_are_lines() {
    let end = 1_u64 << 56;
    let stream: Vec<Given> = (0..500)
        .map(|back| (end - 1 - back % 70, 1, false))
        .collect();
    for line_bytes in [1, 64] {
        let mut caches = all_ways(&stream, line_bytes, 16, 4);
        assert_eq!(
            caches.misses(16, 4),
            misses_of_one(&stream, line_bytes, 16, 4)
        );
    }
}

/// A loop that runs longer than what is simulated together, so that it is found several times.
#[test]
fn a_long_loop_misses_in_its_first_round_only() {
    let stream: Vec<Given> = (0..30_000)
        .map(|turn| (turn % 3 * 4096, 8, turn % 3 == 2))
        .collect();
    let mut caches = all_ways(&stream, 64, 64, 4);
    assert_eq!(caches.misses(64, 4), (2, 1));
    assert_eq!(caches.misses(64, 2), (20_000, 10_000));
    assert_eq!(caches.accesses(), (20_000, 10_000));
}

#[test]
fn impossible_caches_are_refused() {
    for (line_bytes, sets, ways, why) in [
        (48, 1, 1, "48 B"),
        (0, 1, 1, "0 B"),
        (64, 3, 1, "3 sets"),
        (64, 0, 1, "0 sets"),
        (64, 2 * MOST_LINES, 1, "sets are not"),
        (64, 1, 0, "0 ways"),
        (64, 1, 65, "65 ways"),
        (64, MOST_LINES, 2, "lines, more than"),
    ] {
        let refused = AllWays::new(line_bytes, sets, ways).err().expect(why);
        assert!(refused.contains(why), "{refused}");
    }
    assert!(Sweep::new(&[], 1, 1).is_err());
}
