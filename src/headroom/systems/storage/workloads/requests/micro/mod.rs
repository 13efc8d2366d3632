//! Micro workloads: streams with one access pattern each, or with a mix of patterns.
//!
//! ```json
//! {"kind": "micro", "streams": 4, "depth": 8, "block_bytes": 4096, "read_share": 0.7,
//!  "pattern": "random", "sequential_share": 0.25, "rate_per_s": 1000.0}
//! ```
//!
//! `streams` is a number of equal streams, or a list of tables; keys next to the list apply to
//! every stream that does not override them. A stream with `rate_per_s` is open (each request has a
//! due time); without it, the stream is closed.
//!
//! | key | means | default |
//! | --- | --- | --- |
//! | `name`, `count` | name of a stream of the list; how many equal ones (`name-1`, `name-2`, ...) | `stream-1` ..., 1 |
//! | `depth` | requests outstanding at most | 1; no limit if the stream is open |
//! | `block_bytes` | a size (B), or a list of `{bytes, weight}` | 4096 |
//! | `read_share`, `trim_share` | shares of reads and trims; the rest is written | 1, 0 |
//! | `pattern` | `random`, `sequential`, `strided` or `zipf` | `random` |
//! | `random_share`, `sequential_share`, `strided_share`, `zipf_share` | share of the requests that follow another pattern | 0 |
//! | `zipf_exponent` | the k-th hottest place has a share in proportion to k^-exponent | 1 |
//! | `stride_bytes` | from one strided request to the next (B) | required if the pattern is strided |
//! | `start` | of sequential and strided streams: stream i of n at i/n of its range (`spread`), at its first byte (`first`), anywhere (`random`) | `spread` |
//! | `offset_bytes`, `range_bytes` | part of the target (B) | all of it |
//! | `align_bytes` | addresses are multiples of it (B) | the smallest block |
//! | `rate_per_s` | requests that the stream offers (1/s); makes it open | closed |
//! | `arrivals` | an open stream: `poisson`, `constant`, `{"gaps": LAW}` with a law of the model language whose mean 1 stands for 1 / `rate_per_s`, `{"ramp": {"seconds": s}}` up to the rate, or `{"pulses": {"count": n}}` of n requests at once | `poisson` |
//!
//! Hot places are scattered over the range by a permutation that is fixed for the whole run;
//! streams with the same range share them. A sequential or strided request begins after the last
//! one of its stream, whatever its pattern. So a stream with the pattern `random` and a
//! `sequential_share` of s has sequential runs with a mean length of 1 / (1 - s), as in other
//! generators of mixed load.
//!
//! Invariant: a request lies inside the range of its stream and at a multiple of its alignment.

mod address;
mod table;

use rand::Rng;

pub use self::table::{Blocks, Pattern, Start, WeightedBlock};

use self::address::Addresses;
use self::table::StreamPlan;
use super::draws::{self, Chance, Purpose};
use super::error::WorkloadError;
use super::table::Table;
use crate::recording::load::due::Due;
use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::stream::Stream as Generator;
use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

/// The streams of a micro workload.
pub struct Micro {
    streams: Vec<Stream>,
    generators: Vec<Requests>,
}

impl Micro {
    /// Make the source of a workload, without its `kind`, on a target of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if a key is unknown or a value is invalid.
    pub fn new(table: &Table, seed: u64, bytes: u64) -> Result<Self, WorkloadError> {
        let plans = table::read(table, bytes)?;
        let count = plans.len();
        let generators = plans.iter().enumerate();
        Ok(Self {
            generators: generators
                .map(|(index, plan)| Requests::new(plan, seed, (index, count)))
                .collect(),
            streams: plans
                .into_iter()
                .map(|plan| Stream {
                    name: plan.name,
                    depth: plan.depth,
                })
                .collect(),
        })
    }
}

impl Source for Micro {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    #[inline]
    fn next(&mut self, stream: usize) -> Option<Request> {
        Some(self.generators[stream].next())
    }

    fn fill(&mut self, stream: usize, count: usize, requests: &mut Vec<Request>) {
        let generator = &mut self.generators[stream];
        let count = match generator.due {
            Due::Closed => count,
            _ => 1,
        };
        requests.extend((0..count).map(|_| generator.next()));
    }
}

/// The requests of one stream.
struct Requests {
    kinds: Kinds,
    sizes: Sizes,
    addresses: Addresses,
    due: Due,
}

impl Requests {
    fn new(plan: &StreamPlan, seed: u64, place: (usize, usize)) -> Self {
        let (index, _) = place;
        Self {
            kinds: Kinds::new(plan.read_share, plan.trim_share, seed, index),
            sizes: Sizes::new(&plan.blocks, seed, index),
            addresses: Addresses::new(plan, seed, place),
            due: plan.rate.as_ref().map_or(Due::Closed, |(rate, law)| {
                let generator = draws::generator(seed, index, Purpose::Arrival);
                Due::open(*rate, law, generator, place).expect("the table was checked")
            }),
        }
    }

    /// Always inlined: built where it is stored, a request is not copied while it is on its way
    /// into the cache.
    #[allow(
        clippy::inline_always,
        reason = "the compiler decides otherwise, and each request costs a tenth more"
    )]
    #[inline(always)]
    fn next(&mut self) -> Request {
        let length = self.sizes.draw();
        Request {
            kind: self.kinds.draw(),
            offset: self.addresses.draw(length),
            length,
            due_ns: self.due.tick(),
        }
    }
}

/// Draws the contents of requests.
struct Kinds {
    read: Chance,
    read_or_trim: Chance,
    is_mixed: bool,
    generator: Generator,
}

impl Kinds {
    fn new(read_share: f64, trim_share: f64, seed: u64, index: usize) -> Self {
        let read_or_trim = read_share + trim_share;
        Self {
            read: Chance::new(read_share),
            read_or_trim: Chance::new(read_or_trim),
            is_mixed: read_share < 1.0 && read_or_trim > 0.0,
            generator: draws::generator(seed, index, Purpose::Kind),
        }
    }

    #[inline]
    fn draw(&mut self) -> Kind {
        let word = if self.is_mixed {
            self.generator.next_u64()
        } else {
            0
        };
        if self.read.accepts(word) {
            Kind::Read
        } else if self.read_or_trim.accepts(word) {
            Kind::Trim
        } else {
            Kind::Write
        }
    }
}

/// Draws sizes.
struct Sizes {
    lengths: Vec<u32>,
    table: AliasTable,
    generator: Generator,
}

impl Sizes {
    fn new(blocks: &[(u32, f64)], seed: u64, index: usize) -> Self {
        let weights: Vec<f64> = blocks.iter().map(|&(_, weight)| weight).collect();
        Self {
            lengths: blocks.iter().map(|&(bytes, _)| bytes).collect(),
            table: AliasTable::new(&weights),
            generator: draws::generator(seed, index, Purpose::Size),
        }
    }

    #[inline]
    fn draw(&mut self) -> u32 {
        match self.lengths[..] {
            [only] => only,
            _ => self.lengths[self.table.draw(&mut self.generator) as usize],
        }
    }
}
