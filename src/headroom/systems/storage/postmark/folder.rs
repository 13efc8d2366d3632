//! Where operations are carried out: in a real folder, or nowhere.
//!
//! A folder is identified by the descriptor of a directory that was created for this run. Every
//! path is relative to it, and new files are created with `O_EXCL`, so that no file of the user is
//! opened.
//!
//! Invariants: what a function did not report as an error was done in full: a short write
//! continues, a short read is an error, and closing a written file may fail. The descriptor is the
//! run's own and lives as long as any thread may be in a call; an abandoned thread makes no further
//! one.

use std::ffi::CStr;
use std::io;

use crate::recording::clock::Clock;

/// How the pieces of a file become system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Bytes that one system call reads.
    pub read_bytes: usize,
    /// Bytes that one system call writes.
    pub write_bytes: usize,
}

/// How a written file is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncKind {
    /// Data and all metadata.
    Fsync,
    /// Data, and the means to read them.
    Fdatasync,
}

/// Carries out operations.
pub trait Folder: Send + 'static {
    /// Make a new file of `bytes`; return the time (ns) that making it durable took.
    ///
    /// # Errors
    ///
    /// The system's error; the file may exist then.
    fn create(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64>;

    /// Read a whole file of `bytes`.
    ///
    /// # Errors
    ///
    /// The system's error; or the file is shorter than it was written.
    fn read(&mut self, name: &CStr, bytes: u64) -> io::Result<()>;

    /// Write `bytes` beyond the end of a file; return the time (ns) that making it durable took.
    ///
    /// # Errors
    ///
    /// The system's error; some of the bytes may be there then.
    fn append(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64>;

    /// Delete a file.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn delete(&mut self, name: &CStr) -> io::Result<()>;
}

/// A folder that does nothing: what a run in it costs is the tool itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Folder for Nowhere {
    fn create(&mut self, _: &CStr, _: u64, _: Option<SyncKind>) -> io::Result<u64> {
        Ok(0)
    }

    fn read(&mut self, _: &CStr, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn append(&mut self, _: &CStr, _: u64, _: Option<SyncKind>) -> io::Result<u64> {
        Ok(0)
    }

    fn delete(&mut self, _: &CStr) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
pub use real::RealFolder;

#[cfg(unix)]
mod real {
    use std::fs::File;
    use std::os::fd::{IntoRawFd, OwnedFd};
    use std::sync::Arc;

    use rustix::fs::{AtFlags, Mode, OFlags};
    use rustix::io::Errno;

    use super::{CStr, Clock, Folder, Pieces, SyncKind, io};
    use crate::recording::crew::Signs;
    use crate::systems::storage::postmark::data::Data;

    /// Files of the tool are accessible only to itself.
    const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
    const FOLDER_MODE: Mode = Mode::RWXU;

    /// A real folder, as one thread uses it.
    pub struct RealFolder {
        folder: Arc<File>,
        pieces: Pieces,
        data: Data,
        buffer: Vec<u8>,
        clock: Clock,
        signs: Arc<Signs>,
    }

    impl RealFolder {
        /// Return the folder behind a descriptor; the data to write come from `data`, and `signs`
        /// are notified of each call that returns.
        pub fn new(folder: Arc<File>, pieces: Pieces, data: Data, signs: Arc<Signs>) -> Self {
            Self {
                folder,
                pieces,
                data,
                buffer: vec![0; pieces.read_bytes],
                clock: Clock::start(),
                signs,
            }
        }

        fn open(&self, name: &CStr, flags: OFlags) -> io::Result<OwnedFd> {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = again(|| rustix::fs::openat(&self.folder, name, flags, FILE_MODE))?;
            self.signs.answered()?;
            Ok(file)
        }

        fn write(&mut self, file: &OwnedFd, bytes: u64) -> io::Result<()> {
            let mut left = bytes;
            while left > 0 {
                let piece = self.data.piece(at_most(self.pieces.write_bytes, left));
                let count = again(|| rustix::io::write(file, piece))?;
                self.signs.answered()?;
                if count == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                left -= count as u64;
            }
            Ok(())
        }

        fn finish(&self, file: OwnedFd, sync: Option<SyncKind>) -> io::Result<u64> {
            let mut sync_ns = 0;
            if let Some(kind) = sync {
                let began_ns = self.clock.now_ns();
                match kind {
                    SyncKind::Fsync => again(|| rustix::fs::fsync(&file))?,
                    SyncKind::Fdatasync => again(|| rustix::fs::fdatasync(&file))?,
                }
                self.signs.answered()?;
                sync_ns = self.clock.now_ns() - began_ns;
            }
            close(file)?;
            Ok(sync_ns)
        }
    }

    impl Folder for RealFolder {
        fn create(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64> {
            let file = self.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
            self.write(&file, bytes)?;
            self.finish(file, sync)
        }

        fn read(&mut self, name: &CStr, bytes: u64) -> io::Result<()> {
            let file = self.open(name, OFlags::RDONLY)?;
            let mut left = bytes;
            while left > 0 {
                let wanted = at_most(self.pieces.read_bytes, left);
                let buffer = &mut self.buffer[..wanted];
                let count = again(|| rustix::io::read(&file, &mut *buffer))?;
                self.signs.answered()?;
                if count == 0 {
                    let words = format!("the file ends {left} B before what was written to it");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, words));
                }
                left -= count as u64;
            }
            Ok(())
        }

        fn append(&mut self, name: &CStr, bytes: u64, sync: Option<SyncKind>) -> io::Result<u64> {
            let file = self.open(name, OFlags::WRONLY | OFlags::APPEND)?;
            self.write(&file, bytes)?;
            self.finish(file, sync)
        }

        fn delete(&mut self, name: &CStr) -> io::Result<()> {
            Ok(again(|| {
                rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())
            })?)
        }
    }

    /// Make a subfolder.
    ///
    /// # Errors
    ///
    /// The system's error; an existing folder is an error too.
    pub fn make_folder(folder: &File, name: &CStr) -> io::Result<()> {
        Ok(again(|| rustix::fs::mkdirat(folder, name, FOLDER_MODE))?)
    }

    /// Remove an empty subfolder.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn remove_folder(folder: &File, name: &CStr) -> io::Result<()> {
        Ok(again(|| {
            rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
        })?)
    }

    /// Repeat a system call that a signal interrupted.
    fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        loop {
            match call() {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    }

    fn at_most(piece: usize, left: u64) -> usize {
        usize::try_from(left).map_or(piece, |left| left.min(piece))
    }

    /// Close a file and check the result: on a network it may be the first error.
    #[allow(
        unsafe_code,
        reason = "owned descriptors are closed in silence otherwise"
    )]
    fn close(file: OwnedFd) -> io::Result<()> {
        // SAFETY: the descriptor was owned, and ownership ends with this call.
        let answer = unsafe { libc::close(file.into_raw_fd()) };
        // An interrupted close has closed the file all the same on Linux.
        match io::Error::last_os_error() {
            error if answer != 0 && error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
pub use real::{make_folder, remove_folder};
