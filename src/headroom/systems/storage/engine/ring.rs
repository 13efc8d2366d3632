//! The `io_uring` backend: many requests for each system call, on files and buffers that the kernel
//! knows beforehand.
//!
//! A ring is set up with all that makes it cheap (one issuer, completions reaped when they are
//! asked for, no interrupts of the running thread) and, where the kernel is too old for that,
//! with less; so are files and buffers. Neither a polling kernel thread nor polled completions
//! are used: on few processors the poller takes the time of what it serves. What was chosen is
//! reported.
//!
//! Source: Axboe, *Efficient IO with `io_uring`* (2019); the manual pages of `io_uring_setup`,
//! `io_uring_enter` and `io_uring_register`.

use std::io;

use io_uring::types::{self, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue};

use super::backend::{Backend, Completion, Operation};
use super::buffers::Buffers;
use super::clock::Clock;
use super::error::EngineError;
use super::trim;
use crate::systems::storage::request::Kind;
use crate::systems::storage::verify::check::file_of;

/// What to do where a ring that worked does not any more.
const CURE: &str = "use the interface threads";
/// Bytes of one registered buffer at most.
const REGION_BYTES: usize = 1 << 30;

/// What a ring was set up with.
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

/// A ring, and what is registered with it.
pub struct Ring {
    shared: IoUring,
    facts: RingFacts,
    place_bytes_per_region: usize,
    /// Of each file, whether it is trimmed by the command of block devices.
    discards: Vec<bool>,
}

impl Ring {
    /// Set a ring up for `place_count` operations on `files` and `buffers`.
    ///
    /// # Errors
    ///
    /// Where the system has no ring for us.
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

/// Return the error of a ring that the system refuses, with the cure for its cause.
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

/// Have a ring that carries nothing else carry `entry` out, and return its result.
#[allow(unsafe_code, reason = "entries without memory of ours")]
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

/// Return the entry that discards a range (B) of a block device.
fn discard(file: types::Fd, offset: u64, length: u64) -> squeue::Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length.to_ne_bytes());
    opcode::UringCmd16::new(file, trim::RING_DISCARD)
        .cmd(command)
        .addr(Some(offset))
        .build()
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

/// A ring at work.
pub struct RingBackend<'a> {
    submitter: Submitter<'a>,
    submission: SubmissionQueue<'a>,
    completion: CompletionQueue<'a>,
    files: &'a [i32],
    buffers: &'a mut Buffers,
    facts: RingFacts,
    region_bytes: usize,
    discards: &'a [bool],
    clock: Clock,
    call_count: u64,
}

impl<'a> RingBackend<'a> {
    /// Put `ring` to work; no file stands for operations that do nothing.
    pub fn new(ring: &'a mut Ring, files: &'a [i32], buffers: &'a mut Buffers) -> Self {
        let mut facts = ring.facts.clone();
        let (mut submitter, submission, completion) = ring.shared.split();
        facts.has_registered_ring = submitter.register_ring_fd().is_ok();
        Self {
            submitter,
            submission,
            completion,
            files,
            buffers,
            facts,
            region_bytes: ring.place_bytes_per_region,
            discards: &ring.discards,
            clock: Clock::start(),
            call_count: 0,
        }
    }

    /// Return what the ring was set up with.
    pub const fn facts(&self) -> &RingFacts {
        &self.facts
    }

    #[inline]
    #[allow(clippy::cast_possible_wrap, reason = "the number of a registered file")]
    fn entry(&self, place: u32, operation: Operation) -> squeue::Entry {
        let entry = match self.files {
            [] => opcode::Nop::new().build(),
            _ if self.facts.has_registered_files => self
                .entry_on(types::Fd(operation.file as i32), place, operation)
                .flags(squeue::Flags::FIXED_FILE),
            files => self.entry_on(types::Fd(files[operation.file as usize]), place, operation),
        };
        // What nothing is asked for it does entirely, so the length is its result.
        entry.user_data(u64::from(place) | u64::from(operation.length) << 32)
    }

    #[inline]
    fn entry_on(&self, file: types::Fd, place: u32, operation: Operation) -> squeue::Entry {
        let Operation {
            kind,
            offset,
            length,
            at,
            ..
        } = operation;
        let buffer = self.buffers.at(place, at);
        let region = self.region_of(place);
        match kind {
            Kind::Read if self.facts.has_registered_buffers => {
                opcode::ReadFixed::new(file, buffer, length, region)
                    .offset(offset)
                    .build()
            }
            Kind::Write if self.facts.has_registered_buffers => {
                opcode::WriteFixed::new(file, buffer, length, region)
                    .offset(offset)
                    .build()
            }
            Kind::Read => opcode::Read::new(file, buffer, length)
                .offset(offset)
                .build(),
            Kind::Write => opcode::Write::new(file, buffer, length)
                .offset(offset)
                .build(),
            Kind::Sync => opcode::Fsync::new(file).build(),
            Kind::DataSync => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Kind::Trim if self.discards[operation.file as usize] => {
                discard(file, offset, u64::from(length))
            }
            Kind::Trim => opcode::Fallocate::new(file, u64::from(length))
                .offset(offset)
                .mode(trim::HOLE)
                .build(),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "at most four regions")]
    fn region_of(&self, place: u32) -> u16 {
        (place as usize * self.buffers.place_bytes() / self.region_bytes) as u16
    }

    /// Hand over what was pushed and wait for one completion, or until `until_ns`.
    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.call_count += 1;
        self.submission.sync();
        let Some(until_ns) = until_ns else {
            return self.submitter.submit_and_wait(1).map(|_| ());
        };
        let left_ns = until_ns.saturating_sub(self.clock.now_ns());
        let time = Timespec::new()
            .sec(left_ns / 1_000_000_000)
            .nsec((left_ns % 1_000_000_000) as u32);
        let args = SubmitArgs::new().timespec(&time);
        self.submitter.submit_with_args(1, &args).map(|_| ())
    }
}

/// The thread keeps a ring that is registered with it, and a ring what is registered with that:
/// files that stay open keep a device that was opened exclusively busy.
impl Drop for RingBackend<'_> {
    fn drop(&mut self) {
        // The only failure is that nothing is registered.
        if self.facts.has_registered_files {
            let _ = self.submitter.unregister_files();
        }
        if self.facts.has_registered_buffers {
            let _ = self.submitter.unregister_buffers();
        }
        if self.facts.has_registered_ring {
            let _ = self.submitter.unregister_ring_fd();
        }
    }
}

impl Backend for RingBackend<'_> {
    fn start(&mut self) {
        self.clock = Clock::start();
    }

    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    #[inline]
    fn buffer(&mut self, place: u32) -> &mut [u8] {
        self.buffers.place(place)
    }

    #[inline]
    #[allow(unsafe_code, reason = "the kernel is told where to read and write")]
    fn push(&mut self, place: u32, operation: Operation) {
        let entry = self.entry(place, operation);
        // SAFETY: buffers and files live until the operation is complete, and the place, with its
        // buffer, is used by nothing else until then.
        let pushed = unsafe { self.submission.push(&entry) };
        assert!(pushed.is_ok(), "the ring has an entry for each place");
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "both halves of the data are 32 bits"
    )]
    fn turn(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        match self.enter(until_ns) {
            Ok(()) => {}
            // The time is over, a signal came, or completions have to be reaped first.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
                ) => {}
            Err(cause) => return Err(EngineError::system("waiting for the ring", cause, CURE)),
        }
        self.submission.sync();
        self.completion.sync();
        let is_nothing = self.files.is_empty();
        let done_ns = self.clock.now_ns();
        for entry in &mut self.completion {
            let data = entry.user_data();
            done.push(Completion {
                place: data as u32,
                result: if is_nothing {
                    (data >> 32) as i32
                } else {
                    entry.result()
                },
                done_ns,
            });
        }
        Ok(())
    }

    fn call_count(&self) -> u64 {
        self.call_count
    }
}
