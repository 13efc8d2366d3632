//! Random numbers of a source: one generator per stream and purpose.
//!
//! Invariant: the draws of a stream for one purpose depend only on (seed, number of the stream,
//! purpose); so a workload with another share of reads has the same addresses at the same times.

use rand::Rng;

use crate::simulation::kernel::random::stream::{self, Stream as Generator};

/// Keeps the generators of requests apart from all others that see the same seed.
const DOMAIN: u64 = 0x7374_6f72_6167_6571;

/// The decision that a random number makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Kind of the request.
    Kind,
    /// Size of the request.
    Size,
    /// Which pattern, or which branch of it, the address follows.
    Pattern,
    /// The address.
    Address,
    /// When the request is due.
    Arrival,
    /// Decisions for a whole run, such as where hot blocks are.
    Run,
}

/// Return the generator of `purpose` in the stream `index` of a source with `seed`.
pub fn generator(seed: u64, index: usize, purpose: Purpose) -> Generator {
    let key = stream::mix(DOMAIN ^ stream::mix(index as u64)).wrapping_add(purpose as u64);
    stream::open(seed, stream::mix(key))
}

/// Return a whole number from 0 to `count` - 1, all equally likely up to `count` / 2^64.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the high half of the product is below count"
)]
pub fn below(generator: &mut Generator, count: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(count)) >> 64) as u64
}

/// A probability, prepared for comparison with 64 random bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    threshold: u64,
    is_sure: bool,
}

impl Chance {
    /// Prepare `probability`, in [0, 1].
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the probability lies in [0, 1] and `as` saturates"
    )]
    pub fn new(probability: f64) -> Self {
        Self {
            threshold: (probability * 18_446_744_073_709_551_616.0) as u64,
            is_sure: probability >= 1.0,
        }
    }

    /// Decide with the random bits `word`.
    #[inline]
    pub const fn accepts(self, word: u64) -> bool {
        word < self.threshold || self.is_sure
    }

    /// Decide with a random number, and with none if there is nothing to decide.
    #[inline]
    pub fn draw(self, generator: &mut Generator) -> bool {
        self.is_sure || (self.threshold > 0 && generator.next_u64() < self.threshold)
    }
}
