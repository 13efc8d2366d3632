//! Sets up a ring with every optimisation that the kernel supports.
//!
//! If the kernel is too old for a flag, the ring is set up without it; the same holds for files and
//! buffers. Neither a polling kernel thread nor polled completions are used: with few processors,
//! the poller takes time from the work it serves. The choice is reported.

use std::io;

use io_uring::{IoUring, opcode, squeue, types};

use super::discard;
use crate::systems::storage::blocks::engine::buffers::Buffers;
use crate::systems::storage::blocks::engine::error::EngineError;
use crate::systems::storage::blocks::engine::trim;
use crate::systems::storage::verify::check::file_of;

/// Maximum bytes of one registered buffer.
const REGION_BYTES: usize = 1 << 30;

/// The set-up of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingFacts {
    /// Flags of the set-up.
    pub flags: &'static str,
    /// Whether the files are registered.
    pub has_registered_files: bool,
    /// Whether the buffers are registered.
    pub has_registered_buffers: bool,
    /// Whether the ring itself is registered.
    pub has_registered_ring: bool,
}

impl RingFacts {
    /// Return the facts as a result states them.
    pub fn named(&self) -> [(&'static str, String); 4] {
        [
            ("ring_flags", self.flags.to_owned()),
            ("registered_files", self.has_registered_files.to_string()),
            (
                "registered_buffers",
                self.has_registered_buffers.to_string(),
            ),
            ("registered_ring", self.has_registered_ring.to_string()),
        ]
    }
}

/// A ring, and its registered resources.
pub struct Ring {
    pub(super) shared: IoUring,
    pub(super) facts: RingFacts,
    pub(super) place_bytes_per_region: usize,
    /// Of each file, whether it is trimmed by the command of block devices.
    pub(super) discards: Vec<bool>,
}

impl Ring {
    /// Set a ring up for `place_count` operations on `files` and `buffers`.
    ///
    /// # Errors
    ///
    /// If the system provides no ring.
    pub fn new(place_count: u32, files: &[i32], buffers: &Buffers) -> Result<Self, EngineError> {
        let (mut ring, flags) = set_up(place_count)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            let cause = io::Error::from_raw_os_error(libc::ENOSYS);
            return Err(refused("setting up a ring that can wait for a time", cause));
        }
        // A filter of system calls may allow the set-up and refuse the use.
        answer(&mut ring, &opcode::Nop::new().build())
            .map_err(|cause| refused("using a ring", cause))?;
        let discards = files
            .iter()
            .map(|&file| discards(&mut ring, file))
            .collect();
        let has_files = !files.is_empty() && ring.submitter().register_files(files).is_ok();
        let per_region = REGION_BYTES / buffers.place_bytes() * buffers.place_bytes();
        let facts = RingFacts {
            flags,
            has_registered_files: has_files,
            has_registered_buffers: !files.is_empty() && register(&ring, buffers, per_region),
            has_registered_ring: false,
        };
        Ok(Self {
            shared: ring,
            facts,
            place_bytes_per_region: per_region,
            discards,
        })
    }
}

/// Return the error of a ring that the system refuses, with a hint for its cause.
fn refused(step: &'static str, cause: io::Error) -> EngineError {
    let cure = match cause.raw_os_error() {
        Some(libc::ENOSYS) => {
            "use the interface threads: this kernel, or a filter, has no io_uring"
        }
        Some(libc::ENOMEM) => {
            "use the interface threads or a smaller depth, or raise the limit of locked memory \
             (ulimit -l)"
        }
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)",
        _ => {
            "use the interface threads, or allow io_uring (sysctl kernel.io_uring_disabled=0; in a \
             container its filter of system calls)"
        }
    };
    EngineError::system(step, cause, cure)
}

/// Let a ring without other work carry out `entry`, and return its result.
#[allow(unsafe_code, reason = "the entries point to no buffers")]
fn answer(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<i32> {
    // SAFETY: the entry names no memory, and what it names lives until the call returns.
    let pushed = unsafe { ring.submission().push(entry) };
    assert!(pushed.is_ok(), "a new ring has room");
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => return Err(error),
            _ => {}
        }
        if let Some(completion) = ring.completion().next() {
            return Ok(completion.result());
        }
    }
}

/// Return whether a file is trimmed by the command of block devices: it is one, and not the ring
/// alone lacks that command (before Linux 6.12), as it would refuse a senseless one otherwise.
fn discards(ring: &mut IoUring, descriptor: i32) -> bool {
    let Some(file) = file_of(descriptor).ok().filter(trim::is_device) else {
        return false;
    };
    let result = answer(ring, &discard(types::Fd(descriptor), 0, 0));
    !matches!(result, Ok(errno) if errno == -libc::EOPNOTSUPP) || !trim::can_discard(&file)
}

fn set_up(place_count: u32) -> Result<(IoUring, &'static str), EngineError> {
    let entries = place_count.next_power_of_two().min(32_768);
    let mut best = IoUring::builder();
    best.setup_clamp()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun();
    let mut good = IoUring::builder();
    good.setup_clamp().setup_coop_taskrun();
    let mut plain = IoUring::builder();
    plain.setup_clamp();
    let choices = [
        (best, "SINGLE_ISSUER+DEFER_TASKRUN+COOP_TASKRUN"),
        (good, "COOP_TASKRUN"),
        (plain, "none"),
    ];
    let mut cause = None;
    for (builder, flags) in choices {
        match builder.build(entries) {
            Ok(ring) => return Ok((ring, flags)),
            Err(error) => cause = Some(error),
        }
    }
    let cause = cause.unwrap_or_else(io::Error::last_os_error);
    Err(refused("setting up a ring", cause))
}

#[allow(unsafe_code, reason = "memory that is registered with the kernel")]
fn register(ring: &IoUring, buffers: &Buffers, region_bytes: usize) -> bool {
    let start = buffers.pointer(0);
    let regions: Vec<libc::iovec> = (0..buffers.total_bytes())
        .step_by(region_bytes)
        .map(|offset| libc::iovec {
            iov_base: start.wrapping_add(offset).cast(),
            iov_len: region_bytes.min(buffers.total_bytes() - offset),
        })
        .collect();
    // SAFETY: the buffers outlive the ring, whose owner drops it first.
    unsafe { ring.submitter().register_buffers(&regions).is_ok() }
}
