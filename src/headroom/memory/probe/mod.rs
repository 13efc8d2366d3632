//! Measures the memory of this machine: latencies, bandwidth, and the way between processors.
//!
//! Each function returns what every round took, raw: who asks decides what counts.

#![allow(
    clippy::disallowed_methods,
    reason = "the probe measures: it reads the clock"
)]
#![allow(clippy::similar_names, reason = "rounds, and the seconds of each")]

pub mod bandwidth;
pub mod buffer;
pub mod chase;
pub mod counters;
pub mod hand_over;
mod lines;
/// Lines are handed over by this, so that a model checker can take its place.
mod sync {
    pub use std::sync::atomic;
}
#[cfg(feature = "python")]
pub mod python;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Bytes (B) of a line, as all machines that are measured have them; some fetch two at once.
pub const LINE_BYTES: usize = 64;

/// Let the calling thread run on one processor only.
///
/// # Errors
///
/// If the system does not permit this processor.
pub fn pin(cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("there is no processor {cpu}"));
    }
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| format!("processor {cpu} may not be used: {error}"))
}
