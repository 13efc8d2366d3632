//! The `io_uring` backend: many requests per system call, on registered files and buffers.
//!
//! Source: Axboe, *Efficient IO with `io_uring`* (2019); the manual pages of `io_uring_setup`,
//! `io_uring_enter` and `io_uring_register`.

mod set_up;

use std::io;

use io_uring::types::{self, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, SubmissionQueue, Submitter, opcode, squeue};

pub use self::set_up::Ring;

use self::set_up::RingFacts;
use super::backend::Operation;
use super::buffers::Buffers;
use super::error::EngineError;
use super::trim;
use crate::recording::clock::Clock;
use crate::recording::load::carrier::{Backend, Completion};
use crate::systems::storage::workloads::request::Kind;

/// The hint if a working ring breaks.
const CURE: &str = "use the interface threads";

/// Return the entry that discards a range (B) of a block device.
fn discard(file: types::Fd, offset: u64, length: u64) -> squeue::Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length.to_ne_bytes());
    opcode::UringCmd16::new(file, trim::RING_DISCARD)
        .cmd(command)
        .addr(Some(offset))
        .build()
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
    /// When (ns) the clock was read last: the wait that follows at once is measured from there.
    read_ns: u64,
    call_count: u64,
}

impl<'a> RingBackend<'a> {
    /// Put `ring` to work; no file means operations that do nothing.
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
            read_ns: 0,
            call_count: 0,
        }
    }

    /// Return the set-up of the ring.
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
        // A no-op always completes in full, so the result is the requested length.
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
        let moved = match kind {
            Kind::Read | Kind::Write => length,
            Kind::Sync | Kind::DataSync | Kind::Trim => 0,
        };
        let buffer = self.buffers.part(place, at, moved);
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

    /// Hand over the pushed operations and wait for one completion, or until `until_ns`.
    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.call_count += 1;
        self.submission.sync();
        let Some(until_ns) = until_ns else {
            return self.submitter.submit_and_wait(1).map(|_| ());
        };
        let left_ns = until_ns.saturating_sub(self.read_ns);
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

impl Backend<Operation> for RingBackend<'_> {
    type Error = EngineError;

    fn start(&mut self) {
        self.clock = Clock::start();
    }

    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.read_ns = self.clock.now_ns();
        self.read_ns
    }

    #[inline]
    fn buffer(&mut self, place: u32) -> &mut [u8] {
        self.buffers.place(place)
    }

    #[inline]
    #[allow(unsafe_code, reason = "passes buffers to the kernel")]
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
        let done_ns = self.now_ns();
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
