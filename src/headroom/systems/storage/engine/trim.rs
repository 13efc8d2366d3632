//! Trims: how a target is told that data are no longer needed.
//!
//! A file gets a hole; a block device is told to discard, since a hole in a device would mean
//! zeros, which some devices write one by one. A discard has no buffer and no data come back.
//!
//! Source: the manual pages of `fallocate` and `ioctl_blkdiscard`; `block/ioctl.c` of Linux for the
//! command of the ring (6.12 and later).

use std::io;

/// `BLKDISCARD`: `_IO(0x12, 119)`.
#[cfg(target_os = "linux")]
const DISCARD: libc::Ioctl = 0x1277;
/// `BLOCK_URING_CMD_DISCARD`: `_IO(0x12, 0)`.
#[cfg(target_os = "linux")]
pub const RING_DISCARD: u32 = 0x1200;
/// How a hole is made: the file keeps its size.
#[cfg(target_os = "linux")]
pub const HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Return whether a descriptor is that of a block device.
#[allow(unsafe_code, reason = "a system call on a bare descriptor")]
pub fn is_device(file: i32) -> bool {
    let mut state = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the call fills the structure where it succeeds, and nothing is read where it fails.
    let mode = unsafe {
        if libc::fstat(file, state.as_mut_ptr()) != 0 {
            return false;
        }
        state.assume_init().st_mode
    };
    mode & libc::S_IFMT == libc::S_IFBLK
}

/// Trim a range (B) of a file or, where it `is_device`, of a block device; 0 or -1 as of a call.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "system calls")]
#[allow(clippy::cast_possible_wrap, reason = "offsets of files are below 2^63")]
pub fn trim(file: i32, is_device: bool, offset: u64, length: u64) -> i32 {
    if is_device {
        let range = [offset, length];
        // SAFETY: the system reads two numbers, which live until the call returns.
        return unsafe { libc::ioctl(file, DISCARD, range.as_ptr()) };
    }
    // SAFETY: no memory is involved.
    unsafe { libc::fallocate(file, HOLE, offset as i64, length as i64) }
}

/// As on Linux; elsewhere nothing can be trimmed.
#[cfg(not(target_os = "linux"))]
#[allow(unsafe_code, reason = "the error number of the thread")]
pub fn trim(_file: i32, _is_device: bool, _offset: u64, _length: u64) -> i32 {
    // SAFETY: the place of the error number is valid in every thread.
    unsafe { *libc::__error() = libc::ENOTSUP };
    -1
}

/// Return whether a block device that is open for writing can discard: it is asked for nothing,
/// which one that can refuses as senseless.
#[cfg(target_os = "linux")]
pub fn can_discard(file: i32) -> bool {
    trim(file, true, 0, 0) == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}
