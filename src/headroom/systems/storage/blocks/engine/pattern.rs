//! The data to write: a seeded pattern, a given share of which compresses.
//!
//! All buffers are filled once. Before each write only a stamp of sixteen bytes in every 4 KiB
//! block is updated, so that no two written blocks are ever equal and a deduplicating target gains
//! nothing.

use rand::Rng;

use super::content::Content;
use crate::simulation::kernel::random::stream;
use crate::systems::storage::workloads::request::{Kind, Request};

/// Block (B) whose content is unique.
const BLOCK_BYTES: usize = 4096;
/// Bytes of a stamp.
const STAMP_BYTES: usize = 16;
/// Name of the source of randomness.
const KEY: u64 = 0x6461_7461;

/// The makings of data.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    seed: u64,
    random_bytes: usize,
    count: u64,
}

impl Pattern {
    /// Return a pattern of which `compressible_share` compresses to nearly nothing.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a block"
    )]
    pub fn new(seed: u64, compressible_share: f64) -> Self {
        let random_bytes = (BLOCK_BYTES as f64 * (1.0 - compressible_share)).round() as usize;
        Self {
            seed,
            random_bytes,
            count: 0,
        }
    }

    /// Fill all buffers: each block begins with random bytes, and the rest is zero.
    pub fn fill(&self, memory: &mut [u8]) {
        let mut random = stream::open(self.seed, KEY);
        for block in memory.chunks_mut(BLOCK_BYTES) {
            let end = self.random_bytes.min(block.len());
            random.fill_bytes(&mut block[..end]);
            block[end..].fill(0);
        }
    }
}

impl Content for Pattern {
    /// Make the data of a write unlike any written before.
    fn begin(&mut self, _place: u32, request: &Request, buffer: &mut [u8]) {
        if request.kind != Kind::Write {
            return;
        }
        self.count += 1;
        let length = (request.length as usize).min(buffer.len());
        let mut offset = request.offset;
        for block in buffer[..length].chunks_mut(BLOCK_BYTES) {
            if let Some(stamp) = block.first_chunk_mut::<STAMP_BYTES>() {
                let (place, count) = stamp.split_at_mut(8);
                place.copy_from_slice(&stream::mix(self.seed ^ offset).to_le_bytes());
                count.copy_from_slice(&stream::mix(self.count).to_le_bytes());
            }
            offset += BLOCK_BYTES as u64;
        }
    }
}
