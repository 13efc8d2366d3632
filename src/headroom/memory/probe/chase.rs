//! Loads that depend on each other: the latency of memory.
//!
//! The words at a fixed stride form one cycle in random order (Sattolo 1986), so that no prefetcher
//! can guess the next address and every word is used equally often. With several chains, each
//! follows the same cycle from another place.

#![allow(unsafe_code, reason = "following an address needs no check of bounds")]

use std::time::Instant;

use super::buffer::{Buffer, Pages};
use super::counters::{Counters, Reading};

/// Most chains at once.
pub const MOST_CHAINS: usize = 16;
/// Loads between two looks at the clock, of each chain: a look takes some 30 ns.
const BLOCK: usize = 64;

/// Settings of a chase.
#[derive(Clone, Copy, Debug)]
pub struct Chase {
    /// Bytes (B) that are touched.
    pub bytes: usize,
    /// Distance (B) of two words: a multiple of 8.
    pub stride_bytes: usize,
    /// Kind of the pages.
    pub pages: Pages,
    /// Chains at once, 1 to 16.
    pub chains: usize,
    /// Rounds that are timed one by one.
    pub rounds: usize,
    /// Time (s) of a round, at least.
    pub round_s: f64,
    /// Seed of the order.
    pub seed: u64,
}

/// Results of a chase.
#[derive(Debug)]
pub struct Chased {
    /// Time (s) of a load of one chain, round by round.
    pub load_s: Vec<f64>,
    /// Loads of all chains that were timed.
    pub loads: u64,
    /// Bytes (B) in huge pages.
    pub huge_bytes: u64,
    /// Hardware counters.
    pub counters: Vec<Reading>,
}

/// Measure the latency of loads.
///
/// # Errors
///
/// Why it cannot be measured.
pub fn chase(asked: Chase) -> Result<Chased, String> {
    let words = asked.bytes / asked.stride_bytes;
    if words < asked.chains.max(2) || asked.chains == 0 || asked.chains > MOST_CHAINS {
        return Err(format!(
            "{} chains over {words} words cannot be followed",
            asked.chains
        ));
    }
    let mut buffer = Buffer::new(asked.bytes, asked.pages)?;
    let order = cycle(words, asked.seed);
    let starts = link(&mut buffer, &order, asked.stride_bytes, asked.chains);
    drop(order);
    let mut follow = Follow::new(&starts);
    // Once around, so that what fits into a cache is there.
    follow.steps(words.div_ceil(asked.chains) + words / asked.chains / 2);
    let counters = Counters::open();
    let mut load_s = Vec::with_capacity(asked.rounds);
    let mut loads = 0;
    counters.start();
    for _ in 0..asked.rounds {
        let start = Instant::now();
        let mut steps = 0;
        let taken_s = loop {
            follow.steps(BLOCK);
            steps += BLOCK;
            let taken_s = start.elapsed().as_secs_f64();
            if taken_s >= asked.round_s {
                break taken_s;
            }
        };
        load_s.push(taken_s / steps as f64);
        loads += (steps * asked.chains) as u64;
    }
    Ok(Chased {
        load_s,
        loads,
        huge_bytes: buffer.huge_bytes,
        counters: counters.stop(),
    })
}

/// Return one random cycle: the successor of each word.
#[allow(clippy::cast_possible_truncation, reason = "below the number of words")]
fn cycle(words: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..words as u32).collect();
    let mut state = seed;
    for last in (1..words).rev() {
        // SplitMix64 (Steele, Lea, Flood 2014); the product's upper half is a fair choice.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let other = ((u128::from(mixed) * last as u128) >> 64) as usize;
        order.swap(last, other);
    }
    order
}

/// Write the cycle into the buffer as addresses; return where each chain starts: evenly along it.
fn link(buffer: &mut Buffer, order: &[u32], stride: usize, chains: usize) -> Vec<*const u64> {
    let start = buffer.start() as u64;
    let step = stride / 8;
    let words = buffer.words();
    for (index, &next) in order.iter().enumerate() {
        words[index * step] = start + u64::from(next) * stride as u64;
    }
    let mut starts = Vec::with_capacity(chains);
    let mut at = 0;
    for count in 0..order.len() {
        if count == starts.len() * order.len() / chains && starts.len() < chains {
            starts.push(words[at * step..].as_ptr());
        }
        at = order[at] as usize;
    }
    starts
}

/// Chains on their way.
struct Follow {
    at: [*const u64; MOST_CHAINS],
    chains: usize,
}

impl Follow {
    fn new(starts: &[*const u64]) -> Self {
        let mut at = [starts[0]; MOST_CHAINS];
        at[..starts.len()].copy_from_slice(starts);
        Self {
            at,
            chains: starts.len(),
        }
    }

    fn steps(&mut self, count: usize) {
        macro_rules! by_number {
            ($($number:literal)*) => {
                match self.chains {
                    $($number => follow::<$number>(&mut self.at, count),)*
                    _ => unreachable!("chains are checked before"),
                }
            };
        }
        by_number!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }
}

/// Take `count` steps of each of `N` chains.
fn follow<const N: usize>(at: &mut [*const u64; MOST_CHAINS], count: usize) {
    let mut here = [std::ptr::null(); N];
    here.copy_from_slice(&at[..N]);
    for _ in 0..count {
        for one in &mut here {
            // SAFETY: every word of the cycle holds the address of a word of the cycle, in memory
            // that lives longer than the chains.
            *one = unsafe { one.read_volatile() } as *const u64;
        }
    }
    at[..N].copy_from_slice(&here);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_one_cycle_over_every_word(words in 2_usize..2000, seed in any::<u64>()) {
            let order = cycle(words, seed);
            let (mut at, mut count) = (0, 0);
            loop {
                at = order[at] as usize;
                count += 1;
                if at == 0 {
                    break;
                }
            }
            prop_assert_eq!(count, words);
        }

        #[test]
        fn chains_are_spread_evenly_and_stay_in_the_cycle(
            words in 16_usize..300, chains in 1..=MOST_CHAINS, seed in any::<u64>()
        ) {
            let mut buffer = Buffer::new(words * 64, Pages::Small).expect("memory");
            let order = cycle(words, seed);
            let starts = link(&mut buffer, &order, 64, chains);
            prop_assert_eq!(starts.len(), chains);
            let mut follow = Follow::new(&starts);
            follow.steps(words);
            // Once around, each chain is where it was; on the way no two meet.
            prop_assert_eq!(&follow.at[..chains], &starts[..]);
            let mut places: Vec<_> = starts.clone();
            places.sort();
            places.dedup();
            prop_assert_eq!(places.len(), chains);
        }
    }

    #[test]
    fn a_chase_counts_what_it_did() {
        let asked = Chase {
            bytes: 1 << 14,
            stride_bytes: 64,
            pages: Pages::Small,
            chains: 2,
            rounds: 3,
            round_s: 1e-4,
            seed: 1,
        };
        let found = chase(asked).expect("measured");
        assert_eq!(found.load_s.len(), 3);
        assert!(found.loads >= 6 * BLOCK as u64);
        assert!(found.load_s.iter().all(|&one| one > 0.0));
        assert!(
            chase(Chase {
                chains: 17,
                ..asked
            })
            .is_err()
        );
        assert!(chase(Chase { bytes: 64, ..asked }).is_err());
    }
}
