//! The soft device itself: its contents, and the completion time of each request.
//!
//! It reads no clock. Its user states when a request arrives, and learns when it is done: a backend
//! in virtual time can jump there, a file system can sleep until then.
//!
//! Invariant: requests come in the order of time; a read returns what the writes before it left,
//! except for changes by the script.

use std::collections::BTreeMap;

use serde::Serialize;

use super::script::{FailingKind, Script, ScriptedError};
use crate::recording::clock::ns_of;
use crate::simulation::kernel::random::stream::mix;
use crate::systems::storage::workloads::request::Kind;

/// Bytes of a page of the device's memory.
const PAGE_BYTES: usize = 4096;

/// Service time (ns) if the script gives none.
const SERVICE_NS: u64 = 1000;

/// The data of a request.
#[derive(Debug)]
pub enum Data<'a> {
    /// Nothing to move.
    Nothing,
    /// The destination of a read.
    Into(&'a mut [u8]),
    /// The data of a write.
    From(&'a [u8]),
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When it is done (ns) since the start.
    pub done_ns: u64,
    /// Bytes moved (B), or the error number, negative.
    pub result: i32,
}

/// How many requests of each kind have come, and the deliberate faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// Reads.
    pub read_count: u64,
    /// Writes.
    pub write_count: u64,
    /// Flushes.
    pub flush_count: u64,
    /// Trims.
    pub trim_count: u64,
    /// Requests that failed.
    pub error_count: u64,
    /// Writes that were acknowledged and not kept.
    pub lost_count: u64,
    /// Writes that were acknowledged and kept in part.
    pub torn_count: u64,
    /// Writes that were acknowledged and put elsewhere.
    pub misdirected_count: u64,
}

/// A device in memory that follows its script.
#[derive(Clone, Debug)]
pub struct SoftDevice {
    script: Script,
    bytes: u64,
    /// When (ns) each server is free.
    free_ns: Vec<u64>,
    kept: Pages,
    /// Old content that a loss of power would restore, for a volatile device: the pages written
    /// since the last flush, as they were then; None for a page that did not exist.
    undone: Option<BTreeMap<u64, Option<Box<[u8]>>>>,
    truth: Truth,
    /// How often each scripted error has come.
    error_counts: Vec<u64>,
}

type Pages = BTreeMap<u64, Box<[u8]>>;

impl SoftDevice {
    /// Return a device of `bytes` that holds zeros.
    ///
    /// # Errors
    ///
    /// If the script is invalid.
    pub fn new(script: Script, bytes: u64) -> Result<Self, String> {
        script.check(bytes)?;
        Ok(Self {
            free_ns: vec![0; script.servers as usize],
            undone: script.is_volatile.then(BTreeMap::new),
            error_counts: vec![0; script.errors.len()],
            kept: Pages::new(),
            truth: Truth::default(),
            script,
            bytes,
        })
    }

    /// Return the size (B).
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Return the record of arrived requests and of faults.
    pub const fn truth(&self) -> Truth {
        self.truth
    }

    /// Lose power: volatile data is gone, except for the share that the script lets survive.
    pub fn lose_power(&mut self) {
        let Some(undone) = &mut self.undone else {
            return;
        };
        for (page, before) in std::mem::take(undone) {
            // The upper bits of a mixed number are as good as drawn, and the same in every run.
            let draw = (mix(page + 1) >> 11) as f64 / (1_u64 << 53) as f64;
            if draw < self.script.survivor_share {
                continue;
            }
            match before {
                Some(content) => self.kept.insert(page, content),
                None => self.kept.remove(&page),
            };
        }
    }

    /// Answer a request that comes while there is no power.
    pub fn refuse(&mut self, kind: Kind) -> i32 {
        self.count(kind);
        self.truth.error_count += 1;
        -libc::EIO
    }

    /// Carry out the request that comes at `now_ns`.
    pub fn carry(&mut self, now_ns: u64, kind: Kind, offset: u64, data: Data<'_>) -> Answer {
        let number = self.count(kind);
        let done_ns = self.served_ns(now_ns, kind, number);
        let length = match &data {
            Data::Nothing => 0,
            Data::Into(buffer) => buffer.len(),
            Data::From(buffer) => buffer.len(),
        };
        let result = match self.error(now_ns, kind, offset, length as u64) {
            Some(errno) => {
                self.truth.error_count += 1;
                -errno
            }
            None => self.move_data(kind, number, offset, data),
        };
        Answer { done_ns, result }
    }

    fn count(&mut self, kind: Kind) -> u64 {
        let count = match kind {
            Kind::Read => &mut self.truth.read_count,
            Kind::Write => &mut self.truth.write_count,
            Kind::Sync | Kind::DataSync => &mut self.truth.flush_count,
            Kind::Trim => &mut self.truth.trim_count,
        };
        *count += 1;
        *count
    }

    /// Return when (ns) a request that comes at `now_ns` is served.
    fn served_ns(&mut self, now_ns: u64, kind: Kind, number: u64) -> u64 {
        let times = match kind {
            Kind::Read => &self.script.read_s,
            Kind::Write | Kind::Trim => &self.script.write_s,
            Kind::Sync | Kind::DataSync => &self.script.flush_s,
        };
        let service_ns = match times.len() as u64 {
            0 => SERVICE_NS,
            count => ns_of(times[usize::try_from((number - 1) % count).unwrap_or(0)]),
        };
        let server = self.free_ns.iter_mut().min();
        let begin_ns = server.as_ref().map_or(now_ns, |free| now_ns.max(**free));
        // Time advances even if the script gives none: a load that never ends has an end.
        let done_ns = with_stalls(&self.script, begin_ns, service_ns.max(1));
        if let Some(free) = server {
            *free = done_ns;
        }
        done_ns
    }

    fn error(&mut self, now_ns: u64, kind: Kind, offset: u64, length: u64) -> Option<i32> {
        if self
            .script
            .vanishes_at_s
            .is_some_and(|at_s| now_ns >= ns_of(at_s))
        {
            return Some(libc::ENODEV);
        }
        if offset.saturating_add(length) > self.bytes {
            return Some(libc::ENOSPC);
        }
        let found = self
            .script
            .errors
            .iter()
            .zip(&mut self.error_counts)
            .find(|(one, count)| {
                one.times.is_none_or(|times| **count < times) && is_met(one, kind, offset, length)
            });
        found.map(|(one, count)| {
            *count += 1;
            one.errno
        })
    }

    #[allow(
        clippy::cast_possible_wrap,
        clippy::cast_possible_truncation,
        reason = "requests are shorter than 2 GiB"
    )]
    fn move_data(&mut self, kind: Kind, number: u64, offset: u64, data: Data<'_>) -> i32 {
        match data {
            Data::Into(buffer) => {
                load(&self.kept, offset, buffer);
                buffer.len() as i32
            }
            Data::From(buffer) => {
                self.keep(number, offset, buffer);
                buffer.len() as i32
            }
            Data::Nothing => {
                let is_flush = matches!(kind, Kind::Sync | Kind::DataSync);
                if let Some(undone) = self.undone.as_mut().filter(|_| is_flush)
                    && !self.script.flush_lies
                {
                    undone.clear();
                }
                0
            }
        }
    }

    fn keep(&mut self, write: u64, offset: u64, buffer: &[u8]) {
        let script = &self.script;
        if script.lost.contains(&write) {
            self.truth.lost_count += 1;
        } else if let Some(torn) = script.torn.iter().find(|one| one.write == write) {
            let length = usize::try_from(torn.kept_bytes)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            self.truth.torn_count += 1;
            self.store(offset, &buffer[..length]);
        } else if let Some(elsewhere) = script.misdirected.iter().find(|one| one.write == write) {
            let to = elsewhere.to;
            self.truth.misdirected_count += 1;
            self.store(to, buffer);
        } else {
            self.store(offset, buffer);
        }
    }

    fn store(&mut self, offset: u64, buffer: &[u8]) {
        for (page, at, range) in pieces(offset, buffer.len()) {
            let part = &buffer[range];
            if let Some(undone) = &mut self.undone {
                undone
                    .entry(page)
                    .or_insert_with(|| self.kept.get(&page).cloned());
            }
            let kept = self
                .kept
                .entry(page)
                .or_insert_with(|| vec![0; PAGE_BYTES].into());
            kept[at..at + part.len()].copy_from_slice(part);
        }
    }
}

/// Return when (ns) a service that begins at `begin_ns` ends, stalls included.
fn with_stalls(script: &Script, begin_ns: u64, service_ns: u64) -> u64 {
    let mut stalls: Vec<(u64, u64)> = script
        .stalls
        .iter()
        .map(|one| (ns_of(one.at_s), ns_of(one.at_s + one.for_s)))
        .collect();
    stalls.sort_unstable();
    let mut end_ns = begin_ns + service_ns;
    for (from_ns, to_ns) in stalls {
        if from_ns < end_ns && begin_ns < to_ns {
            end_ns += to_ns - from_ns.max(begin_ns);
        }
    }
    end_ns
}

fn is_met(error: &ScriptedError, kind: Kind, offset: u64, length: u64) -> bool {
    let failing = match kind {
        Kind::Read => FailingKind::Read,
        Kind::Write => FailingKind::Write,
        Kind::Sync | Kind::DataSync => FailingKind::Flush,
        Kind::Trim => FailingKind::Trim,
    };
    let end = error
        .bytes
        .map_or(u64::MAX, |bytes| error.offset.saturating_add(bytes));
    let is_flush = failing == FailingKind::Flush;
    error.kind.is_none_or(|wanted| wanted == failing)
        && (is_flush || (offset < end && offset + length > error.offset))
}

fn load(pages: &Pages, offset: u64, buffer: &mut [u8]) {
    for (page, at, range) in pieces(offset, buffer.len()) {
        let part = &mut buffer[range];
        match pages.get(&page) {
            Some(kept) => part.copy_from_slice(&kept[at..at + part.len()]),
            None => part.fill(0),
        }
    }
}

/// Return the pages that `length` bytes at `offset` touch: page, first byte within it, and the range
/// of the bytes that lie in it.
fn pieces(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        if begin == length {
            return None;
        }
        let byte = offset + begin as u64;
        let at = usize::try_from(byte % PAGE_BYTES as u64).unwrap_or(0);
        let end = length.min(begin + PAGE_BYTES - at);
        let piece = (byte / PAGE_BYTES as u64, at, begin..end);
        begin = end;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn device(script: &str) -> SoftDevice {
        let script = serde_json::from_str(script).expect("a script");
        SoftDevice::new(script, 1 << 20).expect("a script that can be")
    }

    fn read(device: &mut SoftDevice, offset: u64, length: usize) -> Vec<u8> {
        let mut buffer = vec![1; length];
        device.carry(0, Kind::Read, offset, Data::Into(&mut buffer));
        buffer
    }

    fn write(device: &mut SoftDevice, offset: u64, data: &[u8]) -> i32 {
        device
            .carry(0, Kind::Write, offset, Data::From(data))
            .result
    }

    proptest! {
        #[test]
        fn it_keeps_what_memory_keeps(
            writes in proptest::collection::vec((0_u64..20_000, 1_usize..9000, any::<u8>()), 0..20),
        ) {
            let mut device = device("{}");
            let mut memory = vec![0_u8; 40_000];
            for (offset, length, byte) in writes {
                write(&mut device, offset, &vec![byte; length]);
                let begin = usize::try_from(offset).expect("small");
                memory[begin..begin + length].fill(byte);
            }
            prop_assert_eq!(read(&mut device, 0, 40_000), memory);
        }
    }

    #[test]
    fn service_times_come_one_after_the_other_at_each_server() {
        let mut device = device(r#"{"servers": 2, "read_s": [1e-3, 3e-3]}"#);
        let done: Vec<u64> = (0..4)
            .map(|_| device.carry(0, Kind::Read, 0, Data::Into(&mut [])).done_ns)
            .collect();
        assert_eq!(done, [1_000_000, 3_000_000, 2_000_000, 5_000_000]);
    }

    #[test]
    fn a_stall_makes_what_is_in_service_take_longer() {
        let script = r#"{"read_s": [2e-3], "stalls": [{"at_s": 0.01, "for_s": 0.1}]}"#;
        let cases = [(0, 2), (9, 111), (10, 112), (50, 112), (110, 112), (8, 10)];
        for (now_ms, done_ms) in cases {
            let now_ns = now_ms * 1_000_000;
            let answer = device(script).carry(now_ns, Kind::Read, 0, Data::Into(&mut []));
            assert_eq!(answer.done_ns, done_ms * 1_000_000, "at {now_ms} ms");
        }
    }

    #[test]
    fn errors_come_where_and_as_often_as_the_script_says() {
        let script = r#"{"errors": [{"kind": "read", "offset": 4096, "bytes": 4096, "times": 2}]}"#;
        let mut device = device(script);
        let results: Vec<i32> = [0, 4000, 4096, 8191]
            .map(|offset| {
                device
                    .carry(0, Kind::Read, offset, Data::Into(&mut [0; 200]))
                    .result
            })
            .into();
        assert_eq!(results, [200, -libc::EIO, -libc::EIO, 200]);
        assert_eq!(write(&mut device, 4096, &[1; 10]), 10);
        assert_eq!(device.truth().error_count, 2);
    }

    #[test]
    fn writes_are_lost_torn_and_misdirected_by_number() {
        let script = r#"{"lost": [1], "torn": [{"write": 2, "kept_bytes": 2}],
            "misdirected": [{"write": 3, "to": 100}]}"#;
        let mut device = device(script);
        for offset in [0, 10, 20] {
            assert_eq!(write(&mut device, offset, &[9; 4]), 4);
        }
        assert_eq!(read(&mut device, 0, 4), [0; 4]);
        assert_eq!(read(&mut device, 10, 4), [9, 9, 0, 0]);
        assert_eq!(read(&mut device, 20, 4), [0; 4]);
        assert_eq!(read(&mut device, 100, 4), [9; 4]);
        let truth = device.truth();
        assert_eq!(
            (truth.lost_count, truth.torn_count, truth.misdirected_count),
            (1, 1, 1)
        );
    }

    #[test]
    fn a_loss_of_power_takes_what_was_not_flushed_or_what_a_lie_has_covered() {
        for (script, kept) in [
            (r#"{"is_volatile": true}"#, [7, 0]),
            (r#"{"is_volatile": true, "flush_lies": true}"#, [0, 0]),
            ("{}", [7, 7]),
        ] {
            let mut device = device(script);
            write(&mut device, 0, &[7]);
            device.carry(0, Kind::DataSync, 0, Data::Nothing);
            write(&mut device, 1, &[7]);
            device.lose_power();
            assert_eq!(read(&mut device, 0, 2), kept, "{script}");
        }
    }

    proptest! {
        #[test]
        fn a_loss_of_power_leaves_each_page_as_it_was_flushed_or_as_it_was_written(
            before in proptest::collection::vec(0_u64..64, 0..40),
            after in proptest::collection::vec(0_u64..64, 0..40),
            survivor_share in 0.0_f64..1.0,
        ) {
            let script = format!(r#"{{"is_volatile": true, "survivor_share": {survivor_share}}}"#);
            let mut device = device(&script);
            let (mut flushed, mut written) = ([0_u8; 64], [0_u8; 64]);
            for page in before {
                write(&mut device, page * 4096, &[1; 4096]);
                flushed[usize::try_from(page).expect("small")] = 1;
            }
            device.carry(0, Kind::Sync, 0, Data::Nothing);
            written.copy_from_slice(&flushed);
            for page in after {
                write(&mut device, page * 4096, &[2; 4096]);
                written[usize::try_from(page).expect("small")] = 2;
            }
            device.lose_power();
            for page in 0..64 {
                let found = read(&mut device, page as u64 * 4096, 4096);
                prop_assert!(found == [flushed[page]; 4096] || found == [written[page]; 4096]);
                prop_assert!(survivor_share > 0.0 || found == [flushed[page]; 4096]);
            }
        }
    }

    #[test]
    fn a_device_that_vanishes_stays_away() {
        let mut device = device(r#"{"vanishes_at_s": 1e-6}"#);
        assert_eq!(device.carry(999, Kind::Trim, 0, Data::Nothing).result, 0);
        assert_eq!(
            device.carry(1000, Kind::Trim, 0, Data::Nothing).result,
            -libc::ENODEV
        );
    }

    #[test]
    fn a_script_that_cannot_be_is_refused() {
        for script in [
            r#"{"read_s": [-1]}"#,
            r#"{"stalls": [{"at_s": 1, "for_s": 1e9}]}"#,
            r#"{"errors": [{"errno": 0}]}"#,
            r#"{"survivor_share": 1.5}"#,
            r#"{"misdirected": [{"write": 1, "to": 1048576}]}"#,
        ] {
            let parsed = serde_json::from_str(script).expect("a script");
            assert!(SoftDevice::new(parsed, 1 << 20).is_err(), "{script}");
        }
    }
}
