//! An SPC-2-like workload: large sequential transfers; it does not claim to be official.
//!
//! ```json
//! {"kind": "spc2_like", "part": "lfp", "streams": 4, "block_bytes": 1048576, "phase": "read_write"}
//! {"kind": "spc2_like", "part": "ldq", "streams": 4, "block_bytes": 65536, "depth": 4}
//! {"kind": "spc2_like", "part": "vod", "streams": 4, "rate_bytes_per_s": 800000.0}
//! ```
//!
//! - `lfp`, processing of large files: blocks of 256 or 1024 KiB, one outstanding request a stream;
//!   the phase is `write_only`, `read_write` or `read_only`. In `read_write` a stream alternately
//!   reads a block of the first half of its part and writes one of the second half, like a program
//!   that converts one file to another.
//! - `ldq`, large queries of a database: blocks of 64 or 1024 KiB, 99% of them read, 1 or 4
//!   outstanding requests a stream.
//! - `vod`, video on demand: blocks of 256 KiB, read only, 8 outstanding requests a stream at most.
//!   A stream has a constant rate; a block that is not there when the next one is due is a defect
//!   ([`Source::allowance_ns`]).
//!
//! Each stream has an equal part of the target and goes through it in order, again and again.
//!
//! Source: Storage Performance Council, SPC-2, version 1.8 (names, sizes and depths).
//!
//! Invariant: a request lies in the part of its stream at a multiple of the block.

use serde::Deserialize;

use super::draws::{self, Chance, Purpose};
use super::error::WorkloadError;
use super::table::{Table, check_positive, check_whole};
use crate::recording::load::due::{Due, NS_PER_S, whole_ns};
use crate::simulation::kernel::random::stream::Stream as Generator;
use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

const KIB: u64 = 1024;
/// Streams that a workload may have.
const STREAMS_MAX: u64 = 65_536;
/// Share of reads among the requests of a query.
pub const QUERY_READ_SHARE: f64 = 0.99;
/// Blocks that a video stream may have outstanding.
pub const VIDEO_DEPTH: u32 = 8;
/// Block of a video stream (B).
pub const VIDEO_BLOCK: u64 = 256 * KIB;

/// Which of the three workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    Lfp,
    Ldq,
    Vod,
}

/// The phase of processing large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    WriteOnly,
    ReadWrite,
    ReadOnly,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    part: Part,
    streams: u64,
    block_bytes: Option<u64>,
    phase: Option<Phase>,
    depth: Option<u64>,
    rate_bytes_per_s: Option<f64>,
}

/// Data shared by the streams of a workload.
#[derive(Clone, Copy, Debug)]
struct Plan {
    block: u64,
    depth: u32,
    duty: Duty,
    rate_per_s: Option<f64>,
}

/// The duty of a stream in its part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Duty {
    Write,
    Read,
    /// Reads the first half, writes the second, in turn.
    Convert,
    /// Reads with a probability.
    Query,
}

/// The streams of an SPC-2-like workload.
pub struct Spc2 {
    streams: Vec<Stream>,
    requests: Vec<Requests>,
    period_ns: Option<u64>,
}

impl Spc2 {
    /// Make the source of a workload, without its `kind`, on a target of `bytes`.
    ///
    /// # Errors
    ///
    /// Fails if a key is unknown or does not belong to the part, or if a value is invalid.
    pub fn new(table: &Table, seed: u64, bytes: u64) -> Result<Self, WorkloadError> {
        let written: Written = table.read()?;
        let plan = written.plan(table)?;
        check_whole(table, "streams", written.streams, (1, STREAMS_MAX))?;
        let halves = if plan.duty == Duty::Convert { 2 } else { 1 };
        let blocks = bytes / written.streams / plan.block / halves * halves;
        if blocks == 0 {
            let problem = format!("is {}, too many for a target of {bytes} B", written.streams);
            let cure = "use fewer streams, smaller blocks or a larger target";
            return Err(table.wrong("streams", problem, cure));
        }
        let count = usize::try_from(written.streams).unwrap_or(usize::MAX);
        let requests = (0..count).map(|index| Requests::new(plan, blocks, seed, (index, count)));
        Ok(Self {
            requests: requests.collect(),
            streams: (1..=written.streams)
                .map(|number| Stream {
                    name: format!("stream-{number}"),
                    depth: plan.depth,
                })
                .collect(),
            period_ns: plan.rate_per_s.map(|rate| whole_ns(NS_PER_S / rate)),
        })
    }
}

impl Source for Spc2 {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, stream: usize) -> Option<Request> {
        Some(self.requests[stream].next())
    }

    fn allowance_ns(&self, _stream: usize) -> Option<u64> {
        self.period_ns
    }
}

impl Written {
    fn plan(&self, table: &Table) -> Result<Plan, WorkloadError> {
        let (blocks, depths) = match self.part {
            Part::Lfp => ([256 * KIB, 1024 * KIB], [1, 1]),
            Part::Ldq => ([64 * KIB, 1024 * KIB], [1, 4]),
            Part::Vod => ([VIDEO_BLOCK; 2], [u64::from(VIDEO_DEPTH); 2]),
        };
        let block = choice(table, "block_bytes", self.block_bytes, blocks)?;
        let depth = choice(table, "depth", self.depth, depths)?;
        Ok(Plan {
            block,
            depth: u32::try_from(depth).unwrap_or(1),
            duty: self.duty(table)?,
            rate_per_s: self.rate(table, block)?,
        })
    }

    fn duty(&self, table: &Table) -> Result<Duty, WorkloadError> {
        let duty = match (self.part, self.phase) {
            (Part::Lfp, Some(Phase::WriteOnly)) => Duty::Write,
            (Part::Lfp, Some(Phase::ReadWrite)) => Duty::Convert,
            (Part::Lfp, Some(Phase::ReadOnly)) | (Part::Vod, None) => Duty::Read,
            (Part::Ldq, None) => Duty::Query,
            (Part::Lfp, None) => {
                let cure = "choose write_only, read_write or read_only";
                return Err(table.wrong("phase", "is missing", cure));
            }
            (_, Some(_)) => {
                let cure = "leave it out: only lfp has phases";
                return Err(table.wrong("phase", "does not belong to this part", cure));
            }
        };
        Ok(duty)
    }

    fn rate(&self, table: &Table, block: u64) -> Result<Option<f64>, WorkloadError> {
        match (self.part, self.rate_bytes_per_s) {
            (Part::Vod, Some(rate)) => {
                check_positive(table, "rate_bytes_per_s", rate)?;
                Ok(Some(rate / block as f64))
            }
            (Part::Vod, None) => {
                let cure = "give the rate (B/s) at which each stream is watched";
                Err(table.wrong("rate_bytes_per_s", "is missing", cure))
            }
            (_, Some(_)) => {
                let cure = "leave it out: only vod has a constant rate";
                Err(table.wrong("rate_bytes_per_s", "does not belong to this part", cure))
            }
            (_, None) => Ok(None),
        }
    }
}

/// Return `given`, one of `known`; if there is only one it may be left out.
fn choice(
    table: &Table,
    name: &str,
    given: Option<u64>,
    known: [u64; 2],
) -> Result<u64, WorkloadError> {
    match given {
        Some(given) if known.contains(&given) => Ok(given),
        None if known[0] == known[1] => Ok(known[0]),
        other => {
            let problem = other.map_or("is missing".to_owned(), |given| format!("is {given}"));
            let cure = match known {
                [one, other] if one == other => format!("give {one}, or leave it out"),
                [one, other] => format!("give {one} or {other}"),
            };
            Err(table.wrong(name, problem, cure))
        }
    }
}

/// The requests of one stream.
struct Requests {
    plan: Plan,
    /// First block of its part, and how many it has.
    first: u64,
    blocks: u64,
    /// Requests so far.
    count: u64,
    due: Due,
    kinds: Generator,
}

impl Requests {
    fn new(plan: Plan, blocks: u64, seed: u64, place: (usize, usize)) -> Self {
        let (index, _) = place;
        Self {
            plan,
            first: index as u64 * blocks,
            blocks,
            count: 0,
            due: match plan.rate_per_s {
                Some(rate) => Due::constant(rate, place),
                None => Due::Closed,
            },
            kinds: draws::generator(seed, index, Purpose::Kind),
        }
    }

    fn next(&mut self) -> Request {
        let (kind, block) = match self.plan.duty {
            Duty::Write => (Kind::Write, self.count % self.blocks),
            Duty::Read => (Kind::Read, self.count % self.blocks),
            Duty::Query => (self.query(), self.count % self.blocks),
            Duty::Convert => self.convert(),
        };
        self.count += 1;
        Request {
            kind,
            offset: (self.first + block) * self.plan.block,
            length: u32::try_from(self.plan.block).unwrap_or(u32::MAX),
            due_ns: self.due.tick(),
        }
    }

    fn query(&mut self) -> Kind {
        if Chance::new(QUERY_READ_SHARE).draw(&mut self.kinds) {
            Kind::Read
        } else {
            Kind::Write
        }
    }

    fn convert(&self) -> (Kind, u64) {
        let half = self.blocks / 2;
        let block = self.count / 2 % half;
        if self.count.is_multiple_of(2) {
            (Kind::Read, block)
        } else {
            (Kind::Write, half + block)
        }
    }
}
