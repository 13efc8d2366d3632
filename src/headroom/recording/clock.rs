//! The machine's clock, timed wake-ups, and the resource use of the process.

#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::time::Instant;

#[cfg(target_os = "linux")]
use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// Time since the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Start now.
    #[allow(
        clippy::disallowed_methods,
        reason = "what is measured takes real time"
    )]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Return the time (ns) since the start.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "584 years of nanoseconds")]
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

/// Return `seconds` as whole nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range where it is read"
)]
pub fn ns_of(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// As long as it lives, the calling thread and those that it starts are woken when they asked to be.
///
/// Linux may wake a thread up to 50 us late, so that it can wake several at once. A request that is
/// due meanwhile would begin late, and its response time would be the tool's.
pub struct Punctual {
    #[cfg(target_os = "linux")]
    before: Option<NonZeroU64>,
}

#[cfg(target_os = "linux")]
impl Punctual {
    /// Begin; if the system refuses, nothing changes.
    pub fn begin() -> Self {
        let before = current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        Self { before }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Punctual {
    fn drop(&mut self) {
        if self.before.is_some() {
            let _ = set_current_timer_slack(self.before);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Punctual {
    /// Begin.
    pub const fn begin() -> Self {
        Self {}
    }
}

/// Resources used by the process: all its threads together, including kernel threads that work for
/// it as far as the kernel charges them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time (s) in the program.
    pub user_s: f64,
    /// Processor time (s) in the kernel.
    pub system_s: f64,
    /// Page faults that had to read.
    pub major_fault_count: u64,
    /// Page faults that had not.
    pub minor_fault_count: u64,
    /// Times that a thread waited.
    pub voluntary_switch_count: u64,
    /// Times that a thread was made to wait.
    pub involuntary_switch_count: u64,
}

impl Usage {
    /// Return the resources used so far.
    #[allow(unsafe_code, reason = "a system call that the standard library lacks")]
    #[allow(clippy::cast_sign_loss, reason = "counts")]
    pub fn now() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the call fills the structure; zeros are a valid value of it in any case.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        Self {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            major_fault_count: usage.ru_majflt as u64,
            minor_fault_count: usage.ru_minflt as u64,
            voluntary_switch_count: usage.ru_nvcsw as u64,
            involuntary_switch_count: usage.ru_nivcsw as u64,
        }
    }

    /// Return the resources used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            major_fault_count: self.major_fault_count - earlier.major_fault_count,
            minor_fault_count: self.minor_fault_count - earlier.minor_fault_count,
            voluntary_switch_count: self.voluntary_switch_count - earlier.voluntary_switch_count,
            involuntary_switch_count: self.involuntary_switch_count
                - earlier.involuntary_switch_count,
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    let (s, us) = (time.tv_sec as f64, time.tv_usec as f64);
    s + us / 1e6
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Punctual, current_timer_slack};

    #[test]
    fn threads_are_woken_in_time_as_long_as_it_is_asked_for() {
        let before = current_timer_slack().expect("Linux has it");
        assert!(before > 1, "no thread has requested it yet");
        let punctual = Punctual::begin();
        assert_eq!(current_timer_slack(), Ok(1));
        let of_child = std::thread::spawn(current_timer_slack).join();
        assert_eq!(of_child.expect("it ends"), Ok(1));
        drop(punctual);
        assert_eq!(current_timer_slack(), Ok(before));
    }
}
