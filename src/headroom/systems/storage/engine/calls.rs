//! One operation as one system call of the calling thread.
//!
//! Invariant: the descriptors are the run's own, copied from those of the caller, and live as long
//! as anybody may be in a call. So a thread whose call outlasts the run never meets a file that
//! got the same number later, nor memory that somebody else uses by then.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::backend::Operation;
use super::buffers::Buffers;
use super::trim;
use crate::systems::storage::request::Kind;
use crate::systems::storage::verify::check::file_of;

/// Carries operations out, each with one call of the calling thread.
pub trait Caller: Send + Sync + 'static {
    /// Carry `operation` out and return bytes or the negative error number.
    fn call(&self, place: u32, operation: Operation) -> i32;

    /// Return the buffers of all places.
    fn buffers(&self) -> &Buffers;
}

/// What operations are carried out on.
#[derive(Debug)]
pub struct Calls {
    /// Files; none stands for operations that do nothing.
    files: Vec<Own>,
    buffers: Buffers,
}

/// A file of the target; without a descriptor it was not open, and every call says so.
#[derive(Debug)]
struct Own {
    descriptor: Option<OwnedFd>,
    is_device: bool,
}

impl Calls {
    /// Return the calls on `files`, with `buffers` of their own.
    pub fn new(files: &[i32], buffers: Buffers) -> Self {
        let own = |&file: &i32| Own {
            descriptor: file_of(file).ok().map(OwnedFd::from),
            is_device: trim::is_device(file),
        };
        Self {
            files: files.iter().map(own).collect(),
            buffers,
        }
    }

    #[inline]
    #[allow(unsafe_code, reason = "system calls on memory that outlives them")]
    #[allow(clippy::cast_possible_wrap, reason = "offsets of files are below 2^63")]
    fn try_call(&self, place: u32, operation: Operation) -> isize {
        let own = &self.files[operation.file as usize];
        let file = own.descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let buffer = self.buffers.at(place, operation.at).cast();
        let (length, offset) = (operation.length as usize, operation.offset as i64);
        // SAFETY: the buffer belongs to the place, which carries this operation only, and the
        // layout keeps operations within it.
        unsafe {
            match operation.kind {
                Kind::Read => libc::pread(file, buffer, length, offset),
                Kind::Write => libc::pwrite(file, buffer, length, offset),
                Kind::Sync => libc::fsync(file) as isize,
                Kind::DataSync => data_sync(file) as isize,
                Kind::Trim => {
                    trim::trim(file, own.is_device, operation.offset, length as u64) as isize
                }
            }
        }
    }
}

impl Caller for Calls {
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
            let result = self.try_call(place, operation);
            if result >= 0 {
                return result as i32;
            }
            let errno = io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::EIO);
            if errno != libc::EINTR {
                return -errno;
            }
        }
    }

    #[inline]
    fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}

#[allow(unsafe_code, reason = "a system call")]
fn data_sync(file: i32) -> i32 {
    // SAFETY: no memory is involved.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::fdatasync(file)
    }
    // SAFETY: no memory is involved.
    #[cfg(not(target_os = "linux"))]
    unsafe {
        libc::fsync(file)
    }
}
