//! One operation as one system call of the calling thread.

use std::io;

use super::backend::Operation;
use super::buffers::Buffers;
use crate::systems::storage::request::Kind;

/// What operations are carried out on.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a> {
    /// Files; none stands for operations that do nothing.
    pub files: &'a [i32],
    /// Buffers of all places.
    pub buffers: &'a Buffers,
}

impl Calls<'_> {
    /// Carry `operation` out and return bytes or the negative error number.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "below 2^31"
    )]
    pub fn call(&self, place: u32, operation: Operation) -> i32 {
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
    #[allow(unsafe_code, reason = "system calls on memory that outlives them")]
    #[allow(clippy::cast_possible_wrap, reason = "offsets of files are below 2^63")]
    fn try_call(&self, place: u32, operation: Operation) -> isize {
        let Operation {
            kind,
            offset,
            length,
            at,
            ..
        } = operation;
        let file = self.files[operation.file as usize];
        let buffer = self.buffers.pointer(place).wrapping_add(at as usize).cast();
        let (length, offset) = (length as usize, offset as i64);
        // SAFETY: the buffer belongs to the place, which carries this operation only, and the
        // layout keeps operations within it.
        unsafe {
            match kind {
                Kind::Read => libc::pread(file, buffer, length, offset),
                Kind::Write => libc::pwrite(file, buffer, length, offset),
                Kind::Sync => libc::fsync(file) as isize,
                Kind::DataSync => data_sync(file) as isize,
                Kind::Trim => trim(file, offset, length as i64) as isize,
            }
        }
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

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a system call")]
fn trim(file: i32, offset: i64, length: i64) -> i32 {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no memory is involved.
    unsafe { libc::fallocate(file, mode, offset, length) }
}

#[cfg(not(target_os = "linux"))]
#[allow(unsafe_code, reason = "the error number of the thread")]
fn trim(_file: i32, _offset: i64, _length: i64) -> i32 {
    // SAFETY: the place of the error number is valid in every thread.
    unsafe { *libc::__error() = libc::ENOTSUP };
    -1
}
