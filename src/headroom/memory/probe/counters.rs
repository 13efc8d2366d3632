//! Hardware counters of this thread in user space, where the machine has some.
//!
//! Each is opened by itself: a machine that lacks one may have the others. One that had to share
//! its register is scaled by the time that it ran.

#![allow(unsafe_code, reason = "perf_event_open has no safe interface here")]

use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const TYPE_HARDWARE: u32 = 0;
const TYPE_CACHE: u32 = 3;
/// `read` returns the count, and for how long it was enabled and ran.
const FORMAT: u64 = 1 | 2;
/// Starts switched off; user space alone: without the share of hypervisor and kernel.
const FLAGS: u64 = 1 | 1 << 5 | 1 << 6;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const RESET: libc::c_ulong = 0x2403;
/// Bytes (B) of the first version of the structure, which every kernel knows.
const ATTRIBUTE_BYTES: u32 = 64;

/// Reads that missed, of a cache: its number, the operation "read", the result "miss".
const fn read_misses(cache: u64) -> u64 {
    cache | 1 << 16
}

const EVENTS: [(&str, u32, u64); 5] = [
    ("cycles", TYPE_HARDWARE, 0),
    ("instructions", TYPE_HARDWARE, 1),
    ("l1d_misses", TYPE_CACHE, read_misses(0)),
    ("llc_misses", TYPE_CACHE, read_misses(2)),
    ("dtlb_misses", TYPE_CACHE, read_misses(3)),
];

#[repr(C)]
#[derive(Default)]
struct Attribute {
    kind: u32,
    bytes: u32,
    config: u64,
    sample: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wake_up: u32,
    breakpoint_kind: u32,
    config1: u64,
}

/// Names of the counters.
pub const NAMES: [&str; EVENTS.len()] = {
    let mut names = [""; EVENTS.len()];
    let mut at = 0;
    while at < EVENTS.len() {
        names[at] = EVENTS[at].0;
        at += 1;
    }
    names
};

/// Result of one counter.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Name of the counter.
    pub name: &'static str,
    /// Its count, or why there is none.
    pub count: Result<f64, String>,
}

/// Counters that are open.
#[derive(Debug)]
pub struct Counters(Vec<(&'static str, Result<OwnedFd, String>)>);

impl Counters {
    /// Open all that the machine has and permits.
    pub fn open() -> Self {
        Self(
            EVENTS
                .iter()
                .map(|&(name, kind, config)| (name, open(kind, config)))
                .collect(),
        )
    }

    /// Begin to count.
    pub fn start(&self) {
        self.control(RESET);
        self.control(ENABLE);
    }

    /// Count nothing until [`Self::resume`].
    pub fn pause(&self) {
        self.control(DISABLE);
    }

    /// Count on.
    pub fn resume(&self) {
        self.control(ENABLE);
    }

    /// End, and return the counts.
    pub fn stop(&self) -> Vec<Reading> {
        self.control(DISABLE);
        let read = |(name, file): &(&'static str, Result<OwnedFd, String>)| Reading {
            name,
            count: file.as_ref().map_err(Clone::clone).and_then(read),
        };
        self.0.iter().map(read).collect()
    }

    fn control(&self, request: libc::c_ulong) {
        for file in self.0.iter().filter_map(|(_, file)| file.as_ref().ok()) {
            // SAFETY: a request without an argument, on a descriptor of a counter.
            unsafe { libc::ioctl(file.as_raw_fd(), request as _, 0) };
        }
    }
}

fn open(kind: u32, config: u64) -> Result<OwnedFd, String> {
    let attribute = Attribute {
        kind,
        bytes: ATTRIBUTE_BYTES,
        config,
        read_format: FORMAT,
        flags: FLAGS,
        ..Attribute::default()
    };
    let pointer = std::ptr::from_ref(&attribute);
    // SAFETY: the structure has the length that it states; this thread, any processor, no group.
    let file = unsafe { libc::syscall(libc::SYS_perf_event_open, pointer, 0, -1, -1, 8_u64) };
    let file = i32::try_from(file).unwrap_or(-1);
    if file < 0 {
        return Err(why(&Error::last_os_error()));
    }
    // SAFETY: a new descriptor, without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

fn why(error: &Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => "this machine has none".to_owned(),
        Some(libc::EACCES | libc::EPERM) => {
            "not permitted: see /proc/sys/kernel/perf_event_paranoid".to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no perf_event_open".to_owned(),
        _ => error.to_string(),
    }
}

fn read(file: &OwnedFd) -> Result<f64, String> {
    let mut values = [0_u64; 3];
    let bytes = size_of_val(&values);
    // SAFETY: the buffer is as long as stated.
    let length = unsafe { libc::read(file.as_raw_fd(), values.as_mut_ptr().cast(), bytes) };
    if usize::try_from(length) != Ok(bytes) {
        return Err("it cannot be read".to_owned());
    }
    let [count, wanted_ns, ran_ns] = values;
    if ran_ns == 0 {
        return Err("it never ran: other counters took all registers".to_owned());
    }
    Ok(count as f64 * (wanted_ns as f64 / ran_ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_counts_or_says_why_not() {
        let counters = Counters::open();
        counters.start();
        let sum: u64 = std::hint::black_box((0..100_000_u64).fold(0, |sum, one| sum ^ (one * one)));
        std::hint::black_box(sum);
        for reading in counters.stop() {
            match reading.count {
                Ok(count) => assert!(count.is_finite() && count >= 0.0, "{}", reading.name),
                Err(why) => assert!(!why.is_empty(), "{}", reading.name),
            }
        }
    }
}
