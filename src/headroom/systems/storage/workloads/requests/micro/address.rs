//! The addresses of one stream.
//!
//! Invariant: an address is a multiple of the alignment, and a request that begins there ends
//! inside the region.

use super::super::draws::{self, Purpose};
use super::super::region::Region;
use super::super::scatter::Scatter;
use super::table::{Pattern, Start, StreamPlan};
use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::stream::Stream as Generator;
use crate::simulation::kernel::random::zipf::Zipf;

/// Draws the addresses of one stream.
pub struct Addresses {
    region: Region,
    choice: Choice,
    stride: u64,
    hot: Hot,
    /// Address of the last request (B), and of the byte behind it.
    last: u64,
    behind: u64,
    /// How far the current strided pass begins behind the first address (B).
    shift: u64,
    has_begun: bool,
    generator: Generator,
}

/// Which pattern the next request follows.
enum Choice {
    Always(Pattern),
    Mixed {
        patterns: Vec<Pattern>,
        table: AliasTable,
        generator: Box<Generator>,
    },
}

/// Places by popularity.
struct Hot {
    law: Zipf,
    scatter: Scatter,
}

impl Addresses {
    /// Make the addresses of the stream `index` of `count`.
    pub fn new(plan: &StreamPlan, seed: u64, (index, count): (usize, usize)) -> Self {
        let region = plan.region;
        let mut generator = draws::generator(seed, index, Purpose::Address);
        let largest = plan.blocks.iter().map(|&(bytes, _)| bytes).max();
        let places = region.places(u64::from(largest.expect("a stream has a size")));
        let place = match plan.start {
            Start::First => 0,
            Start::Spread => spread(places, index, count),
            Start::Random => draws::below(&mut generator, places),
        };
        let first = region.address(place);
        Self {
            region,
            choice: Choice::new(plan, seed, index),
            stride: plan.stride,
            hot: Hot {
                law: Zipf::new(places as f64, plan.zipf_exponent),
                // One key for the run: streams that share a region share its hot places.
                scatter: Scatter::new(places, run_key(seed)),
            },
            last: first,
            behind: first,
            shift: (first - region.first) % plan.stride,
            has_begun: false,
            generator,
        }
    }

    /// Draw the address of a request of `length` (B).
    #[inline]
    pub fn draw(&mut self, length: u32) -> u64 {
        let length = u64::from(length);
        let address = match self.choice.draw() {
            Pattern::Random => {
                let places = self.region.places(length);
                self.region
                    .address(draws::below(&mut self.generator, places))
            }
            Pattern::Sequential => self.sequential(length),
            Pattern::Strided => self.strided(length),
            Pattern::Zipf => self.hot.draw(self.region, &mut self.generator),
        };
        self.last = address;
        self.behind = address + length;
        self.has_begun = true;
        address
    }

    #[inline]
    fn sequential(&self, length: u64) -> u64 {
        let address = self.region.aligned(self.behind);
        if self.region.holds(address, length) {
            address
        } else {
            self.region.first
        }
    }

    /// One stride on; after the end a new pass begins one request further than the one before, so
    /// that the passes together cover all of the region.
    #[inline]
    fn strided(&mut self, length: u64) -> u64 {
        let address = if self.has_begun {
            self.last + self.stride
        } else {
            self.last
        };
        if self.region.holds(address, length) {
            return address;
        }
        self.shift += self.region.aligned(length);
        if self.shift >= self.stride {
            self.shift = 0;
        }
        let address = self.region.first + self.shift;
        if self.region.holds(address, length) {
            address
        } else {
            self.shift = 0;
            self.region.first
        }
    }
}

impl Choice {
    fn new(plan: &StreamPlan, seed: u64, index: usize) -> Self {
        let taken: f64 = plan.others.iter().map(|&(_, share)| share).sum();
        let mut shares = vec![(plan.pattern, (1.0 - taken).max(0.0))];
        shares.extend(&plan.others);
        let (patterns, weights): (Vec<Pattern>, Vec<f64>) =
            shares.into_iter().filter(|&(_, share)| share > 0.0).unzip();
        match patterns[..] {
            [only] => Self::Always(only),
            _ => Self::Mixed {
                patterns,
                table: AliasTable::new(&weights),
                generator: Box::new(draws::generator(seed, index, Purpose::Pattern)),
            },
        }
    }

    #[inline]
    fn draw(&mut self) -> Pattern {
        match self {
            Self::Always(pattern) => *pattern,
            Self::Mixed {
                patterns,
                table,
                generator,
            } => patterns[table.draw(generator) as usize],
        }
    }
}

impl Hot {
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are whole numbers from 1 to the number of places"
    )]
    fn draw(&self, region: Region, generator: &mut Generator) -> u64 {
        let rank = self.law.draw(generator) as u64 - 1;
        region.address(self.scatter.place(rank))
    }
}

/// Return the first place of stream `index` of `count`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the index is below the count, so the quotient is below the places"
)]
fn spread(places: u64, index: usize, count: usize) -> u64 {
    (u128::from(places) * index as u128 / count as u128) as u64
}

fn run_key(seed: u64) -> u64 {
    use rand::Rng as _;
    draws::generator(seed, 0, Purpose::Run).next_u64()
}
