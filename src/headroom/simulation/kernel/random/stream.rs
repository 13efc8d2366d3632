//! Random streams: one generator for each named source of randomness.
//!
//! Invariant: a stream depends on the run's seed and on its own name alone (the model carries a
//! 64-bit hash of the name), so adding a source never shifts the draws of another.
//!
//! Sources: Blackman & Vigna (2021), *Scrambled linear pseudorandom number generators*
//! (xoshiro256++); Steele, Lea & Flood (2014), *Fast splittable pseudorandom number generators*
//! (the mixing function, used here as its authors of xoshiro recommend for seeding).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator behind every stream.
pub type Stream = Xoshiro256PlusPlus;

/// Step of the `SplitMix64` sequence: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Return the stream of the source `key` in a run with `seed`.
pub fn open(seed: u64, key: u64) -> Stream {
    let mut state = mix(seed.wrapping_add(GOLDEN_GAMMA)) ^ key;
    let mut bytes = [0_u8; 32];
    for word in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(GOLDEN_GAMMA);
        word.copy_from_slice(&mix(state).to_le_bytes());
    }
    Stream::from_seed(bytes)
}

/// Return the `SplitMix64` finaliser of `value`.
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_key() {
        let mut firsts: Vec<u64> = (0..100)
            .flat_map(|seed| (0..100).map(move |key| open(seed, key).next_u64()))
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 10_000);
    }

    #[test]
    fn a_stream_repeats_bit_for_bit() {
        let (mut one, mut two) = (open(7, 11), open(7, 11));
        assert!((0..1000).all(|_| one.next_u64() == two.next_u64()));
    }
}
