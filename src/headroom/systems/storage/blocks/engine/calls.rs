//! One operation as one system call of the calling thread.
//!
//! The system calls are raw. The wrappers of the C library make each call a cancellation point of
//! the thread, which costs as much as the rest of the path into the kernel.
//!
//! Invariant: the descriptors are the run's own, copied from those of the caller, and live as long
//! as any thread may be in a call. So a thread whose call outlasts the run never meets a file that
//! got the same number later, nor memory in use elsewhere by then.

use std::fs::File;

use rustix::io::{Errno, Result, pread, pwrite};

use super::backend::Operation;
use super::buffers::Buffers;
use super::trim;
use crate::recording::load::carrier::Caller;
use crate::systems::storage::verify::check::file_of;
use crate::systems::storage::workloads::request::Kind;

/// The files and buffers of operations.
#[derive(Debug)]
pub struct Calls {
    /// Files; none means operations that do nothing.
    files: Vec<Own>,
    buffers: Buffers,
}

/// A file of the target; without a file it was not open, and every call fails with that error.
#[derive(Debug)]
struct Own {
    file: Option<File>,
    is_device: bool,
}

impl Calls {
    /// Return the calls on `files`, with `buffers` of their own.
    pub fn new(files: &[i32], buffers: Buffers) -> Self {
        let own = |&descriptor: &i32| {
            let file = file_of(descriptor).ok();
            Own {
                is_device: file.as_ref().is_some_and(trim::is_device),
                file,
            }
        };
        Self {
            files: files.iter().map(own).collect(),
            buffers,
        }
    }

    #[inline]
    fn try_call(&self, place: u32, operation: Operation) -> Result<usize> {
        let own = &self.files[operation.file as usize];
        let file = own.file.as_ref().ok_or(Errno::BADF)?;
        let (offset, length) = (operation.offset, u64::from(operation.length));
        match operation.kind {
            Kind::Read => pread(file, self.part(place, operation), offset),
            Kind::Write => pwrite(file, self.part(place, operation), offset),
            Kind::Sync => rustix::fs::fsync(file).map(|()| 0),
            Kind::DataSync => data_sync(file).map(|()| 0),
            Kind::Trim => trim::trim(file, own.is_device, offset, length).map(|()| 0),
        }
    }

    /// Return the part of the buffer of `place` that `operation` moves.
    #[inline]
    #[allow(unsafe_code, reason = "memory of a place that is in use")]
    #[allow(
        clippy::mut_from_ref,
        reason = "each place is used by one thread at a time"
    )]
    fn part(&self, place: u32, operation: Operation) -> &mut [u8] {
        let begin = self.buffers.part(place, operation.at, operation.length);
        // SAFETY: the part is in the buffer of the place, which carries this operation only.
        unsafe { std::slice::from_raw_parts_mut(begin, operation.length as usize) }
    }
}

impl Caller<Operation> for Calls {
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "below 2^31"
    )]
    fn call(&self, place: u32, operation: Operation) -> i32 {
        if self.files.is_empty() {
            return operation.length as i32;
        }
        loop {
            match self.try_call(place, operation) {
                Ok(moved) => return moved as i32,
                Err(Errno::INTR) => {}
                Err(error) => return -error.raw_os_error(),
            }
        }
    }

    #[inline]
    fn buffer(&self, place: u32) -> (*mut u8, usize) {
        (self.buffers.pointer(place), self.buffers.place_bytes())
    }
}

#[cfg(not(target_vendor = "apple"))]
use rustix::fs::fdatasync as data_sync;
#[cfg(target_vendor = "apple")]
use rustix::fs::fsync as data_sync;
