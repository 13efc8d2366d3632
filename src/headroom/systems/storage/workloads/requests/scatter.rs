//! A permutation that scatters ranks over a device, so that hot blocks are not neighbours.
//!
//! Invariant: a bijection of 0 to count - 1, fixed by its key, in constant memory.
//!
//! Source: Black & Rogaway (2002), *Ciphers with arbitrary finite domains* (cycle walking). Each
//! step of a round is a bijection on a power of two: multiplication by an odd number, addition, and
//! exclusive-or with the own upper half.

use crate::simulation::kernel::random::stream::mix;

/// Rounds: after three of them no bit of the rank is left without weight on each bit of the place.
const ROUNDS: usize = 3;

/// A permutation of 0 to count - 1.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    count: u64,
    mask: u64,
    shift: u32,
    factors: [u64; ROUNDS],
    terms: [u64; ROUNDS],
}

impl Scatter {
    /// Make the permutation of 0 to `count` - 1 with `key`; `count` >= 1.
    pub const fn new(count: u64, key: u64) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        let mut scatter = Self {
            count,
            mask: match bits {
                0 => 0,
                bits => u64::MAX >> (u64::BITS - bits),
            },
            shift: bits.div_ceil(2),
            factors: [0; ROUNDS],
            terms: [0; ROUNDS],
        };
        let mut word = key;
        let mut round = 0;
        while round < ROUNDS {
            word = mix(word.wrapping_add(1));
            scatter.factors[round] = word | 1;
            word = mix(word.wrapping_add(1));
            scatter.terms[round] = word;
            round += 1;
        }
        scatter
    }

    /// Return the place of `rank`, below the count.
    #[inline]
    pub const fn place(&self, rank: u64) -> u64 {
        // The walk returns to its start, which is below the count, so it ends; fewer than two
        // steps are needed on average.
        let mut place = self.step(rank);
        while place >= self.count {
            place = self.step(place);
        }
        place
    }

    #[inline]
    const fn step(&self, value: u64) -> u64 {
        let mut value = value;
        let mut round = 0;
        while round < ROUNDS {
            value = value
                .wrapping_mul(self.factors[round])
                .wrapping_add(self.terms[round])
                & self.mask;
            value ^= value >> self.shift;
            round += 1;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(count in 1..3000_u64, key: u64) {
            let scatter = Scatter::new(count, key);
            let mut places: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..count));
        }

        #[test]
        fn places_stay_below_any_count(count in 1..=u64::MAX, rank: u64, key: u64) {
            let place = Scatter::new(count, key).place(rank % count);
            prop_assert!(place < count);
        }
    }

    /// Oracle: of a random permutation of n, neighbours of rank are neighbours of place with a
    /// probability of 2/n, and their mean distance is (n + 1) / 3.
    #[test]
    fn hot_ranks_lie_as_far_apart_as_by_chance() {
        let (count, keys) = (1_u64 << 20, 200);
        let (mut distance, mut neighbours, mut pairs) = (0.0, 0, 0);
        for key in 0..keys {
            let scatter = Scatter::new(count, key);
            for rank in 0..500 {
                let gap = scatter.place(rank).abs_diff(scatter.place(rank + 1));
                distance += gap as f64;
                neighbours += u32::from(gap == 1);
                pairs += 1;
            }
        }
        let mean = distance / f64::from(pairs) / count as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.05, "{mean}");
        assert!(neighbours <= 3, "{neighbours} of {pairs}");
    }
}
