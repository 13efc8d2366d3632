//! The clock of a run: whole nanoseconds since its start, and processor time of the process.

use std::time::Instant;

/// A clock that began with the run; copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Start a clock.
    #[allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Return the time (ns) since the start.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "2^64 ns are five hundred years"
    )]
    pub fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// Return the processor time (ns) of the whole process, all threads and the kernel's part for them.
pub fn processor_ns() -> u64 {
    #[cfg(unix)]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let whole = u64::try_from(spent.tv_sec).unwrap_or(0);
        whole * 1_000_000_000 + u64::try_from(spent.tv_nsec).unwrap_or(0)
    }
    #[cfg(not(unix))]
    0
}
