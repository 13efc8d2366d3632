//! The machine as a study describes it.

use serde::Deserialize;

use super::server::{Time, picoseconds};

/// Nodes at most: a directory has a bit for each.
pub const MOST_NODES: u8 = 64;

/// Places of a queue at most.
pub const MOST_PLACES: u32 = 1 << 16;

/// Who keeps copies, and how the home knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolName {
    /// A list through the caches (IEEE 1596).
    Sci,
    /// A full-map directory.
    Directory,
    /// No cache: each access goes to the home.
    Uncached,
}

/// The network cache of each node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Size (B).
    pub bytes: u64,
    /// Ways.
    pub ways: u32,
    /// Whether the index has the number of the home node: if not, regions of different homes collide.
    pub index_has_home: bool,
}

/// Times (s) and rates of the machine; each is fixed by its parameter file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimesSpec {
    /// An instruction that uses no memory.
    pub instruction_s: f64,
    /// An access that the second level of the processor's caches answers.
    pub near_s: f64,
    /// An access that their third level answers.
    pub last_s: f64,
    /// An access of private memory.
    pub private_s: f64,
    /// A read of shared memory whose home is this node.
    pub local_read_s: f64,
    /// A write of it.
    pub local_write_s: f64,
    /// A read that the network cache answers.
    pub hit_read_s: f64,
    /// A write that the network cache takes.
    pub hit_write_s: f64,
    /// From the processor to the controller, for an access that leaves the node or waits.
    pub request_s: f64,
    /// From the controller to the processor.
    pub reply_s: f64,
    /// A write that the processor does not wait for.
    pub posted_write_s: f64,
    /// The controller's work for each message that it sends or takes.
    pub controller_s: f64,
    /// Its access of memory for each message with data, by 64 bytes.
    pub memory_s: f64,
    /// A crossing of the I/O bus by each message, at both ends; 0 if the controller has the link.
    pub crossing_s: f64,
    /// A node that a packet passes.
    pub hop_s: f64,
    /// Rate (B/s) of a link of the ring.
    pub link_bytes_per_s: f64,
    /// Rate (B/s) between controller and link.
    pub bus_bytes_per_s: f64,
    /// The work of a barrier after the last thread has come.
    pub barrier_s: f64,
    /// The work of taking a free lock.
    pub lock_s: f64,
}

/// A machine.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Nodes on the ring, 1 to 64.
    pub nodes: u8,
    /// Processors of a node.
    pub cpus: u8,
    /// Bytes (B) of a line: a power of two, 16 to 4096.
    pub line_bytes: u64,
    /// Who keeps copies.
    pub protocol: ProtocolName,
    /// Whether shared memory is behind the I/O bus, where processors do not cache it.
    pub is_on_card: bool,
    /// The network cache; None only if no cache keeps copies.
    pub cache: Option<CacheSpec>,
    /// Writes to other nodes that a node has in progress at most, without its processors waiting; 0:
    /// they wait for each.
    pub posted_writes: u32,
    /// Packets that the card of a node has taken and not yet worked on at most; 0: any number.
    pub incoming_queue: u32,
    /// Packets of a card that wait for the link or are on it at most; 0: any number.
    pub outgoing_queue: u32,
    /// Times and rates.
    pub times: TimesSpec,
}

/// Bytes (B) of a packet without data, and of the echo that each packet is answered by.
pub const HEADER_BYTES: u64 = 16;
/// See [`HEADER_BYTES`].
pub const ECHO_BYTES: u64 = 8;
/// Data (B) that a packet of the ring carries at most; larger lines are several packets.
pub const PACKET_BYTES: u64 = 64;

/// Times (ps).
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "as in TimesSpec")]
pub struct Times {
    pub instruction: Time,
    pub near: Time,
    pub last: Time,
    pub private: Time,
    pub local: [Time; 2],
    pub hit: [Time; 2],
    pub request: Time,
    pub reply: Time,
    pub posted_write: Time,
    pub controller: Time,
    pub memory: Time,
    pub crossing: Time,
    pub hop: Time,
    pub barrier: Time,
    pub lock: Time,
    /// Time on a link of a message without data, and of one with data.
    pub link: [Time; 2],
    /// Time on the bus to the link.
    pub bus: [Time; 2],
}

impl MachineSpec {
    /// Check the machine.
    ///
    /// # Errors
    ///
    /// Why there is no such machine, and which would be possible.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(format!("{} nodes: give 1 to {MOST_NODES}", self.nodes));
        }
        if !(1..=4).contains(&self.cpus) {
            return Err(format!("{} processors of a node: give 1 to 4", self.cpus));
        }
        if !self.line_bytes.is_power_of_two() || !(16..=4096).contains(&self.line_bytes) {
            return Err(format!(
                "lines of {} B: give a power of two from 16 to 4096",
                self.line_bytes
            ));
        }
        let queues = [self.incoming_queue, self.outgoing_queue];
        if queues.iter().any(|places| *places > MOST_PLACES) {
            return Err(format!(
                "queues of {queues:?} packets: give at most {MOST_PLACES} places, or 0 for any number"
            ));
        }
        match (&self.cache, self.protocol) {
            (None, ProtocolName::Uncached) => {}
            (Some(_), ProtocolName::Uncached) => {
                return Err("a network cache without a protocol: leave the cache out, or name sci or directory".into());
            }
            (None, _) => {
                return Err("a protocol without a network cache: describe the cache".into());
            }
            (Some(cache), _) => self.check_cache(cache)?,
        }
        let rates = [self.times.link_bytes_per_s, self.times.bus_bytes_per_s];
        if rates.iter().any(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return Err("rates of links and buses must be above 0 B/s".into());
        }
        Ok(())
    }

    fn check_cache(&self, cache: &CacheSpec) -> Result<(), String> {
        let way_bytes = self.line_bytes * u64::from(cache.ways);
        if cache.ways == 0 || cache.bytes == 0 || !cache.bytes.is_multiple_of(way_bytes) {
            return Err(format!(
                "a network cache of {} B is not whole sets of {} ways with lines of {} B",
                cache.bytes, cache.ways, self.line_bytes
            ));
        }
        Ok(())
    }

    /// Return the times in picoseconds.
    pub fn times(&self) -> Times {
        let of = &self.times;
        // A line of several packets is as many transactions, each with its request.
        let packets = self.line_bytes.div_ceil(PACKET_BYTES);
        let on = |rate: f64| {
            let time = |bytes: u64| picoseconds(bytes as f64 / rate);
            let bare = packets * (HEADER_BYTES + ECHO_BYTES);
            [time(bare), time(self.line_bytes + bare)]
        };
        Times {
            instruction: picoseconds(of.instruction_s),
            near: picoseconds(of.near_s),
            last: picoseconds(of.last_s),
            private: picoseconds(of.private_s),
            local: [picoseconds(of.local_read_s), picoseconds(of.local_write_s)],
            hit: [picoseconds(of.hit_read_s), picoseconds(of.hit_write_s)],
            request: picoseconds(of.request_s),
            reply: picoseconds(of.reply_s),
            posted_write: picoseconds(of.posted_write_s),
            controller: packets * picoseconds(of.controller_s),
            memory: picoseconds(of.memory_s * self.line_bytes as f64 / PACKET_BYTES as f64),
            crossing: packets * picoseconds(of.crossing_s),
            hop: picoseconds(of.hop_s),
            barrier: picoseconds(of.barrier_s),
            lock: picoseconds(of.lock_s),
            link: on(of.link_bytes_per_s),
            bus: on(of.bus_bytes_per_s),
        }
    }
}
