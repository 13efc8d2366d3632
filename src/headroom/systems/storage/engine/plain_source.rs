//! A plain source until the workloads are there.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::error::EngineError;
use crate::simulation::stream;
use crate::systems::storage::request::{Kind, Request, Source, Stream};

struct Plain {
    streams: Vec<Stream>,
    random: Xoshiro256PlusPlus,
    blocks: u64,
    block_bytes: u32,
    read_share: f64,
    next: u64,
    is_sequential: bool,
    gap_ns: Option<u64>,
}

impl Source for Plain {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn length_max(&self) -> u32 {
        self.block_bytes
    }

    fn next(&mut self, _stream: usize) -> Option<Request> {
        let draw = self.random.next_u64();
        let number = self.next;
        self.next += 1;
        let block = if self.is_sequential {
            number % self.blocks
        } else {
            ((u128::from(draw) * u128::from(self.blocks)) >> 64) as u64
        };
        let is_read =
            (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= self.read_share;
        Some(Request {
            kind: if is_read { Kind::Read } else { Kind::Write },
            offset: block * u64::from(self.block_bytes),
            length: self.block_bytes,
            due_ns: self.gap_ns.map(|gap| number * gap),
        })
    }
}

/// Return the source of `workload`.
pub fn source(
    workload: &serde_json::Value,
    seed: u64,
    bytes: u64,
) -> Result<Box<dyn Source>, EngineError> {
    let number = |key: &str, default: f64| workload[key].as_f64().unwrap_or(default);
    let block_bytes = number("block_size_bytes", 4096.0) as u32;
    let blocks = bytes / u64::from(block_bytes);
    if blocks == 0 {
        return Err(EngineError::refused(
            "the target is smaller than a block",
            "larger target",
        ));
    }
    let rate = number("rate_per_s", 0.0);
    Ok(Box::new(Plain {
        streams: vec![Stream {
            name: "plain".into(),
            depth: if rate > 0.0 {
                u32::MAX
            } else {
                number("depth", 1.0) as u32
            },
        }],
        random: stream::open(seed, 1),
        blocks,
        block_bytes,
        read_share: number("read_share", 1.0),
        next: 0,
        is_sequential: workload["pattern"] == "sequential",
        gap_ns: (rate > 0.0).then(|| (1e9 / rate) as u64),
    }))
}
