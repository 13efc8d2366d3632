//! Storage caches: recently read blocks, and written blocks that are not on the device yet.
//!
//! All blocks have one size; read blocks are kept by least recent use. A write makes blocks dirty.
//! Dirty blocks leave in the order of their addresses, neighbours together, in a circular sweep
//! (the order of an elevator). A block that is written again before it left costs no second device
//! write: this, together with the client's time, is what a write cache saves.
//!
//! The cache does not wait: a model asks whether there is [room](Cache), and otherwise makes the
//! writer wait or write back itself.
//!
//! Invariant: the dirty blocks, and those on their way, are never given up and never more than
//! asked for; a block becomes clean when its last way to the device has ended.

mod blocks;

use rand::RngExt;
use serde::Deserialize;

use self::blocks::Blocks;
use super::arguments::{above_zero, range};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Unit};
use crate::simulation::kernel::random::stream::Stream;

/// Numbers of a cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Size of the cache (B).
    pub cache_bytes: u64,
    /// Size of a block (B).
    pub block_bytes: u64,
    /// Size of the device (B), for messages.
    pub capacity_bytes: u64,
    /// Most bytes (B) that may wait to be written.
    pub dirty_bytes: u64,
    /// Dirty share above which the cache wants to write back.
    pub high_share: f64,
    /// Share of them at which it stops wanting to.
    pub low_share: f64,
    /// Most bytes (B) that leave together; what leaves together is within one such stretch.
    pub extent_bytes: u64,
    /// Whether clean blocks between dirty ones leave with them, so that one way is enough.
    #[serde(default)]
    pub fills_gaps: bool,
    /// Least and most share of the dirty bytes that an earlier load has left; the share of a run is
    /// drawn between them, uniformly.
    #[serde(default)]
    pub left_shares: (f64, f64),
    /// Bytes (B) of the device, from its start on, in which they are; if any are left, the cache
    /// has the rest of them, clean, as far as there is room.
    #[serde(default)]
    pub left_range_bytes: u64,
}

/// A cache.
#[derive(Debug)]
pub struct Cache {
    blocks: Blocks,
    block_bytes: u64,
    capacity_bytes: u64,
    most_pinned: u64,
    high: u64,
    low: u64,
    blocks_of_extent: u64,
    fills_gaps: bool,
    is_draining: bool,
    /// Block behind the one that left last.
    hand: u64,
    fetch: (u64, u64),
    extent: (u64, u64),
}

/// Functions for models.
const FUNCTIONS: &[Function] = &[
    number("missing", &["offset", "length"]),
    number("fetch_offset", &[]),
    number("insert", &["offset", "length"]),
    number("lacking", &["offset", "length"]),
    number("write", &["offset", "length"]),
    number("wants_destage", &[]),
    number("destage", &[]),
    number("destage_offset", &[]),
    number("destaged", &["offset", "length"]),
    number("dirty_bytes", &[]),
    number("held_bytes", &[]),
    number("forget", &["offset", "length"]),
];

const fn number(name: &'static str, arguments: &'static [&'static str]) -> Function {
    Function {
        name,
        arguments,
        unit: Unit::Number,
    }
}

impl Cache {
    /// Make an empty cache.
    ///
    /// # Errors
    ///
    /// Returns which parameter is invalid.
    pub fn new(parameters: &Parameters, stream: Stream) -> Result<Self, String> {
        check(parameters)?;
        let most = parameters.cache_bytes / parameters.block_bytes;
        let most_pinned = (parameters.dirty_bytes / parameters.block_bytes).min(most);
        let mut made = Self {
            blocks: Blocks::new(u32::try_from(most).map_err(|_| {
                format!("the cache has {most} blocks; make its blocks larger, there may be 2^32")
            })?),
            block_bytes: parameters.block_bytes,
            capacity_bytes: parameters.capacity_bytes,
            most_pinned,
            high: share_of(most_pinned, parameters.high_share),
            low: share_of(most_pinned, parameters.low_share),
            blocks_of_extent: (parameters.extent_bytes / parameters.block_bytes).max(1),
            fills_gaps: parameters.fills_gaps,
            is_draining: false,
            hand: 0,
            fetch: (0, 0),
            extent: (0, 0),
        };
        made.leave_dirty(parameters, stream);
        Ok(made)
    }

    /// Make blocks dirty as an earlier load has left them.
    fn leave_dirty(&mut self, parameters: &Parameters, mut stream: Stream) {
        let (least, most) = parameters.left_shares;
        let share = least + (most - least) * stream.random::<f64>();
        let range = parameters.left_range_bytes.min(self.capacity_bytes) / self.block_bytes;
        // Half of the range at most, so that blocks that are not dirty yet are soon found.
        let wanted = share_of(self.most_pinned, share).min(range / 2);
        for block in 0..if wanted > 0 { range } else { 0 } {
            self.blocks.insert(block);
        }
        while (self.blocks.dirty_count() as u64) < wanted {
            let block = stream.random_range(0..range);
            let _ = self.blocks.write(block);
        }
    }

    /// Look for the bytes from `start` to before `end`: return how many must be fetched (B). The
    /// bytes to fetch are one stretch, from the first missing block to the last.
    pub fn missing(&mut self, bytes: (u64, u64)) -> u64 {
        let mut found: Option<(u64, u64)> = None;
        for block in self.blocks_of(bytes) {
            if !self.blocks.touch(block) {
                let first = found.map_or(block, |(first, _)| first);
                found = Some((first, block));
            }
        }
        let (first, count) = found.map_or((0, 0), |(first, last)| (first, last + 1 - first));
        self.fetch = (first * self.block_bytes, count * self.block_bytes);
        self.fetch.1 = self.fetch.1.min(self.capacity_bytes - self.fetch.0);
        self.fetch.1
    }

    /// Keep bytes that were fetched.
    pub fn insert(&mut self, bytes: (u64, u64)) {
        for block in self.blocks_of(bytes) {
            self.blocks.insert(block);
        }
    }

    /// Return how many bytes (B) must reach the device before these can be written here. A write
    /// that is larger than all of the room is let in when the cache is empty of dirty blocks.
    pub fn lacking(&self, bytes: (u64, u64)) -> u64 {
        let more = self
            .blocks_of(bytes)
            .filter(|&block| !self.blocks.is_pinned(block))
            .count() as u64;
        let pinned = u64::from(self.blocks.pinned_count());
        let lacking = (pinned + more).saturating_sub(self.most_pinned).min(pinned);
        lacking * self.block_bytes
    }

    /// Make bytes dirty; return how many became dirty that were not before (B).
    pub fn write(&mut self, bytes: (u64, u64)) -> u64 {
        let before = self.blocks.dirty_count();
        for block in self.blocks_of(bytes) {
            // A write that finds no room passes through; callers with missing blocks never come
            // here.
            let _ = self.blocks.write(block);
        }
        (self.blocks.dirty_count() - before) as u64 * self.block_bytes
    }

    /// Return whether the cache wants to write back: from the high mark on, until the low one.
    pub fn wants_destage(&mut self) -> bool {
        let dirty = self.blocks.dirty_count() as u64;
        self.is_draining = dirty
            > if self.is_draining {
                self.low
            } else {
                self.high
            };
        self.is_draining
    }

    /// Send the next dirty blocks to the device; return how many bytes leave (B), 0 if none is
    /// dirty.
    pub fn destage(&mut self) -> u64 {
        let Some(first) = self.blocks.next_dirty(self.hand) else {
            return 0;
        };
        let border = (first / self.blocks_of_extent + 1) * self.blocks_of_extent;
        let last = self.last_of_extent(first, border);
        let run = last + 1 - first;
        for block in first..=last {
            self.blocks.leave(block);
        }
        self.hand = first + run;
        let start = first * self.block_bytes;
        self.extent = (
            start,
            (run * self.block_bytes).min(self.capacity_bytes - start),
        );
        self.extent.1
    }

    /// Return the last block that leaves with `first`, the whole of which is before `border`.
    fn last_of_extent(&self, first: u64, border: u64) -> u64 {
        let can_leave = |block: u64| {
            self.blocks.is_dirty(block) || (self.fills_gaps && self.blocks.contains(block))
        };
        let reached = (first..border).take_while(|&block| can_leave(block));
        let dirty = reached.filter(|&block| self.blocks.is_dirty(block));
        dirty.last().unwrap_or(first)
    }

    /// Note that bytes have reached the device.
    ///
    /// # Errors
    ///
    /// They were not on their way there.
    pub fn destaged(&mut self, bytes: (u64, u64)) -> Result<(), String> {
        for block in self.blocks_of(bytes) {
            if !self.blocks.arrived(block) {
                let at = block * self.block_bytes;
                return Err(format!(
                    "the block at {at} was not on its way to the device"
                ));
            }
        }
        Ok(())
    }

    /// Forget bytes that are no longer needed: they need not reach the device.
    pub fn forget(&mut self, bytes: (u64, u64)) {
        for block in self.blocks_of(bytes) {
            self.blocks.forget(block);
        }
    }

    fn blocks_of(&self, (start, end): (u64, u64)) -> std::ops::Range<u64> {
        start / self.block_bytes..end.div_ceil(self.block_bytes)
    }
}

impl Mechanism for Cache {
    fn functions(&self) -> &'static [Function] {
        FUNCTIONS
    }

    fn call(&mut self, function: usize, _now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let name = FUNCTIONS[function].name;
        if let &[offset, length] = arguments {
            let bytes = range(offset, length, self.capacity_bytes)?;
            return self.on_bytes(name, bytes).map(|bytes| bytes as f64);
        }
        Ok(match name {
            "fetch_offset" => self.fetch.0 as f64,
            "wants_destage" => f64::from(u8::from(self.wants_destage())),
            "destage" => self.destage() as f64,
            "destage_offset" => self.extent.0 as f64,
            "dirty_bytes" => (self.blocks.dirty_count() as u64 * self.block_bytes) as f64,
            _ => (self.blocks.count() as u64 * self.block_bytes) as f64,
        })
    }
}

impl Cache {
    /// Answer a function that is about some bytes.
    fn on_bytes(&mut self, name: &str, bytes: (u64, u64)) -> Result<u64, String> {
        match name {
            "missing" => return Ok(self.missing(bytes)),
            "lacking" => return Ok(self.lacking(bytes)),
            "write" => return Ok(self.write(bytes)),
            "insert" => self.insert(bytes),
            "forget" => self.forget(bytes),
            _ => self.destaged(bytes)?,
        }
        Ok(bytes.1 - bytes.0)
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of 0 to 1 of a number of blocks"
)]
fn share_of(blocks: u64, share: f64) -> u64 {
    (blocks as f64 * share) as u64
}

fn check(parameters: &Parameters) -> Result<(), String> {
    above_zero(&[
        ("block_bytes", parameters.block_bytes as f64),
        ("capacity_bytes", parameters.capacity_bytes as f64),
        ("extent_bytes", parameters.extent_bytes as f64),
        (
            "cache_bytes",
            (parameters.cache_bytes / parameters.block_bytes.max(1)) as f64,
        ),
    ])?;
    let (least, most) = parameters.left_shares;
    if !(0.0 <= least && least <= most && most <= 1.0) {
        return Err(format!(
            "an earlier load left {least} to {most}; give rising shares of 0 to 1"
        ));
    }
    let (low, high) = (parameters.low_share, parameters.high_share);
    if 0.0 <= low && low <= high && high <= 1.0 {
        return Ok(());
    }
    Err(format!(
        "the cache writes back from a share of {high} down to {low}; give shares of 0 to 1, the \
         low one not above the high one"
    ))
}

#[cfg(test)]
mod tests;
