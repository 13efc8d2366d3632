//! Trims: telling a target that data are no longer needed.
//!
//! A file gets a hole. A block device gets a discard, because a hole in a device would mean zeros,
//! which some devices write one by one. A discard has no buffer and returns no data.
//!
//! Source: the manual pages of `fallocate` and `ioctl_blkdiscard`; `block/ioctl.c` of Linux for the
//! command of the ring (6.12 and later).

use std::fs::File;
use std::os::unix::fs::FileTypeExt;

#[cfg(target_os = "linux")]
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, Result};

/// `BLKDISCARD`: `_IO(0x12, 119)`.
#[cfg(target_os = "linux")]
const DISCARD: libc::Ioctl = 0x1277;
/// `BLOCK_URING_CMD_DISCARD`: `_IO(0x12, 0)`.
#[cfg(target_os = "linux")]
pub const RING_DISCARD: u32 = 0x1200;
/// How a hole is made: the file keeps its size.
#[cfg(target_os = "linux")]
pub const HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Return whether a file is a block device.
pub fn is_device(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|state| state.file_type().is_block_device())
}

/// Trim a range (B) of a file or, if it `is_device`, of a block device.
///
/// # Errors
///
/// What the system answers.
#[cfg(target_os = "linux")]
pub fn trim(file: &File, is_device: bool, offset: u64, length: u64) -> Result<()> {
    if is_device {
        return discard(file, offset, length);
    }
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, hole, offset, length)
}

/// As on Linux; elsewhere nothing can be trimmed.
#[cfg(not(target_os = "linux"))]
pub fn trim(_file: &File, _is_device: bool, _offset: u64, _length: u64) -> Result<()> {
    Err(Errno::NOTSUP)
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a system call that no crate wraps")]
fn discard(file: &File, offset: u64, length: u64) -> Result<()> {
    use std::os::fd::AsRawFd;

    let range = [offset, length];
    // SAFETY: the system reads two numbers, which live until the call returns.
    if unsafe { libc::ioctl(file.as_raw_fd(), DISCARD, range.as_ptr()) } == 0 {
        return Ok(());
    }
    let cause = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&cause).unwrap_or(Errno::IO))
}

/// Return whether a block device that is open for writing can discard: a request for nothing is
/// sent, which a capable device rejects as invalid.
#[cfg(target_os = "linux")]
pub fn can_discard(file: &File) -> bool {
    matches!(discard(file, 0, 0), Ok(()) | Err(Errno::INVAL))
}
