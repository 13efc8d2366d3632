//! An SPC-1-like workload: the mix of a transaction system; it does not claim to be official.
//!
//! ```json
//! {"kind": "spc1_like", "bsus": 20, "load_share": 0.8}
//! ```
//!
//! The target is cut into three application storage units (ASU): data store 45%, user store 45%,
//! log the rest. One business scaling unit (BSU) offers 50 requests per second in eight streams,
//! each an independent Poisson process ([`STREAMS`]). Each BSU has its own streams, sequential runs
//! and walks; up to 100 BSUs share the counters of the leaves that their walks visit (one context).
//! The sum of a stream over all BSUs is one stream here: a Poisson process whose requests belong to
//! each BSU with equal probability, which is the same by the splitting theorem of Poisson
//! processes.
//!
//! `load_share` is the step of a ramp: that share of the BSUs is active. If it is not a whole
//! number of BSUs, their rate is adjusted slightly so that the offered load is exactly as
//! requested.
//!
//! Sources: Daniel & Faith (2005), *A portable, open-source implementation of the SPC-1 workload*,
//! IISWC; Gill & Modha (2005), *SARC*, USENIX (matrix of the mix).
//!
//! Invariant: a request lies in the part of its ASU that belongs to its stream, at a multiple of
//! 4 KiB.

mod run;
mod walk;

#[cfg(test)]
mod tests;

use serde::Deserialize;

use self::run::{Run, RunLaw};
use self::walk::{Leaves, Region, Walker};
use super::draws::{self, Chance, Purpose};
use super::error::WorkloadError;
use super::table::{Table, check_share, check_whole};
use crate::recording::load::due::Due;
use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::stream::Stream as Generator;
use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

/// Requests that one BSU offers (1/s).
pub const RATE_OF_BSU: f64 = 50.0;
/// BSUs that share a context.
pub const BSUS_IN_CONTEXT: u64 = 100;
/// Unit of all addresses and sizes (B).
pub const BLOCK: u64 = 4096;
/// Sizes of sequential requests (blocks), and how often each comes (%).
pub const SMIX: [(u32, f64); 5] = [(1, 40.0), (2, 24.0), (4, 20.0), (8, 8.0), (16, 8.0)];
/// BSUs that a workload may have.
const BSUS_MAX: u64 = 1_000_000;
/// Shares of the target (%) that ASU 1 and ASU 2 have each; ASU 3 has the rest.
const DATA_PERCENT: u64 = 45;

/// One of the eight streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamLaw {
    /// Name.
    pub name: &'static str,
    /// Number of its ASU, from 0.
    pub asu: usize,
    /// Share of the requests of the whole mix.
    pub intensity: f64,
    /// Share of reads.
    pub read_share: f64,
    /// The range of its requests.
    pub place: Place,
}

/// Where the requests of a stream lie in its ASU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere, uniformly; 4 KiB each.
    Uniform,
    /// A hierarchical reuse random walk between two percentages of the ASU; 4 KiB each.
    Walk(u64, u64),
    /// One behind the other; sizes by [`SMIX`]. Runs start between two percentages and have the
    /// length of a third.
    Sequential(u64, u64, u64),
}

const fn law(
    name: &'static str,
    asu: usize,
    intensity: f64,
    read_share: f64,
    place: Place,
) -> StreamLaw {
    StreamLaw {
        name,
        asu,
        intensity,
        read_share,
        place,
    }
}

/// The eight streams.
pub const STREAMS: [StreamLaw; 8] = [
    law("asu1-1", 0, 0.035, 0.5, Place::Uniform),
    law("asu1-2", 0, 0.281, 0.5, Place::Walk(15, 20)),
    law("asu1-3", 0, 0.070, 1.0, Place::Sequential(20, 60, 10)),
    law("asu1-4", 0, 0.210, 0.5, Place::Walk(70, 75)),
    law("asu2-1", 1, 0.018, 0.3, Place::Uniform),
    law("asu2-2", 1, 0.070, 0.3, Place::Walk(47, 52)),
    law("asu2-3", 1, 0.035, 1.0, Place::Sequential(20, 60, 10)),
    law("asu3-1", 2, 0.281, 0.0, Place::Sequential(0, 70, 30)),
];

/// What published generators disagree about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Variant {
    /// Windows of 64 leaves at least, runs that start at any block.
    #[default]
    Published,
    /// Windows of 128 leaves at least, runs that start at multiples of 64 KiB.
    #[serde(rename = "version_1")]
    First,
}

impl Variant {
    const fn window_bits(self) -> u32 {
        match self {
            Self::Published => 6,
            Self::First => 7,
        }
    }

    const fn start_blocks(self) -> u64 {
        match self {
            Self::Published => 1,
            Self::First => 16,
        }
    }

    /// Smallest ASU 1 and 2 (B): 5% of it must have one window of leaves.
    const fn data_bytes_min(self) -> u64 {
        (20 * walk::LEAF_BLOCKS * BLOCK) << self.window_bits()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    bsus: u64,
    #[serde(default = "whole")]
    load_share: f64,
    #[serde(default)]
    variant: Variant,
    depth: Option<u64>,
}

const fn whole() -> f64 {
    1.0
}

/// The streams of an SPC-1-like workload.
pub struct Spc1 {
    streams: Vec<Stream>,
    requests: Vec<Requests>,
}

impl Spc1 {
    /// Make the source of a workload, without its `kind`, on a target of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if a key is unknown, a value is invalid, or the target is too small.
    pub fn new(table: &Table, seed: u64, bytes: u64) -> Result<Self, WorkloadError> {
        let written: Written = table.read()?;
        check_whole(table, "bsus", written.bsus, (1, BSUS_MAX))?;
        check_share(table, "load_share", written.load_share)?;
        if written.load_share == 0.0 {
            let cure = "give a share above 0, at most 1";
            return Err(table.wrong("load_share", "is 0, so nothing would happen", cure));
        }
        let depth_max = u64::from(u32::MAX);
        let depth = written.depth.unwrap_or(depth_max);
        check_whole(table, "depth", depth, (1, depth_max))?;
        let asus = asus(bytes);
        let smallest = written.variant.data_bytes_min();
        if asus[0].blocks * BLOCK < smallest {
            let least = (smallest * 100).div_ceil(DATA_PERCENT * (1 << 20));
            let problem =
                format!("is {bytes}, and the workload spc1_like needs {least} MiB or more");
            let cure = format!("use a target of {least} MiB or more");
            return Err(WorkloadError::new("target.bytes", problem, cure));
        }
        let load = Load::new(written.bsus, written.load_share);
        let requests = STREAMS.iter().enumerate();
        Ok(Self {
            requests: requests
                .map(|(index, law)| Requests::new(*law, index, seed, &load, &asus, written.variant))
                .collect(),
            streams: STREAMS
                .iter()
                .map(|law| Stream {
                    name: law.name.to_owned(),
                    depth: u32::try_from(depth).unwrap_or(u32::MAX),
                })
                .collect(),
        })
    }
}

impl Source for Spc1 {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, stream: usize) -> Option<Request> {
        Some(self.requests[stream].next())
    }
}

/// BSUs at work, and the rate (1/s) that they offer together.
struct Load {
    bsus: u64,
    rate_per_s: f64,
}

impl Load {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the product is at most the number of BSUs"
    )]
    fn new(bsus: u64, share: f64) -> Self {
        let wanted = bsus as f64 * share;
        Self {
            bsus: (libm::round(wanted) as u64).max(1),
            rate_per_s: wanted * RATE_OF_BSU,
        }
    }
}

/// An application storage unit: its first block and how many it has.
#[derive(Clone, Copy, Debug)]
struct Asu {
    first: u64,
    blocks: u64,
}

impl Asu {
    /// Return the block at `percent` of the ASU.
    const fn at(self, percent: u64) -> u64 {
        self.blocks * percent / 100
    }
}

fn asus(bytes: u64) -> [Asu; 3] {
    let blocks = bytes / BLOCK;
    let data = blocks * DATA_PERCENT / 100;
    let asu = |first, blocks| Asu { first, blocks };
    [
        asu(0, data),
        asu(data, data),
        asu(2 * data, blocks - 2 * data),
    ]
}

/// The requests of one stream of all BSUs.
struct Requests {
    asu: Asu,
    addresses: Addresses,
    bsus: u64,
    read: Chance,
    due: Due,
    units: Generator,
    kinds: Generator,
    places: Generator,
}

/// What the BSUs have of a stream, by the number of the BSU.
enum Addresses {
    Uniform,
    Walk {
        leaves: Vec<Leaves>,
        walkers: Vec<Walker>,
    },
    Sequential {
        law: RunLaw,
        runs: Vec<Run>,
        sizes: AliasTable,
        size_draws: Generator,
    },
}

impl Requests {
    fn new(
        law: StreamLaw,
        index: usize,
        seed: u64,
        load: &Load,
        asus: &[Asu; 3],
        variant: Variant,
    ) -> Self {
        let asu = asus[law.asu];
        let mut places = draws::generator(seed, index, Purpose::Address);
        let rate_per_s = load.rate_per_s * law.intensity;
        let size_draws = draws::generator(seed, index, Purpose::Size);
        Self {
            asu,
            addresses: Addresses::new(law.place, asu, load.bsus, variant, &mut places, size_draws),
            bsus: load.bsus,
            read: Chance::new(law.read_share),
            due: Due::poisson(rate_per_s, draws::generator(seed, index, Purpose::Arrival)),
            units: draws::generator(seed, index, Purpose::Pattern),
            kinds: draws::generator(seed, index, Purpose::Kind),
            places,
        }
    }

    fn next(&mut self) -> Request {
        let bsu = match self.bsus {
            1 => 0,
            bsus => draws::below(&mut self.units, bsus),
        };
        let kind = if self.read.draw(&mut self.kinds) {
            Kind::Read
        } else {
            Kind::Write
        };
        let (block, blocks) = self.addresses.draw(self.asu, bsu, kind, &mut self.places);
        Request {
            kind,
            offset: (self.asu.first + block) * BLOCK,
            length: blocks * 4096,
            due_ns: self.due.tick(),
        }
    }
}

impl Addresses {
    fn new(
        place: Place,
        asu: Asu,
        bsus: u64,
        variant: Variant,
        places: &mut Generator,
        size_draws: Generator,
    ) -> Self {
        match place {
            Place::Uniform => Self::Uniform,
            Place::Walk(low, high) => {
                let region = Region::new(asu.at(low), asu.at(high), variant.window_bits());
                let contexts = bsus.div_ceil(BSUS_IN_CONTEXT);
                Self::Walk {
                    leaves: (0..contexts).map(|_| Leaves::new(region)).collect(),
                    walkers: (0..bsus).map(|_| Walker::new(region, places)).collect(),
                }
            }
            Place::Sequential(low, high, length) => {
                let weights: Vec<f64> = SMIX.iter().map(|&(_, weight)| weight).collect();
                Self::Sequential {
                    law: RunLaw {
                        first: asu.at(low),
                        starts: asu.at(high) - asu.at(low),
                        length: asu.at(length),
                        align: variant.start_blocks(),
                    },
                    runs: (0..bsus).map(|_| Run::default()).collect(),
                    sizes: AliasTable::new(&weights),
                    size_draws,
                }
            }
        }
    }

    /// Draw the first block, counted in the ASU, and the number of blocks.
    #[allow(clippy::cast_possible_truncation, reason = "BSUs are below a million")]
    fn draw(&mut self, asu: Asu, bsu: u64, kind: Kind, places: &mut Generator) -> (u64, u32) {
        match self {
            Self::Uniform => (draws::below(places, asu.blocks), 1),
            Self::Walk { leaves, walkers } => {
                // As many BSUs in each context as in any other, or one more.
                let context = (bsu % leaves.len() as u64) as usize;
                let walker = &mut walkers[bsu as usize];
                (walker.next(&mut leaves[context], kind, places), 1)
            }
            Self::Sequential {
                law,
                runs,
                sizes,
                size_draws,
            } => {
                let (blocks, _) = SMIX[sizes.draw(size_draws) as usize];
                (runs[bsu as usize].next(*law, blocks, places), blocks)
            }
        }
    }
}
