//! The soft device as a file of a file system in user space (FUSE).
//!
//! | file | what it is |
//! | --- | --- |
//! | `device` | the device: read, write, fsync and punched holes are requests; nothing is cached |
//! | `power` | write `off` or `on` to it: off fails requests in flight and loses volatile data |
//! | `truth` | the requests and the faults injected into them, as JSON |
//!
//! It tests measurements through the kernel against a known truth: any program must measure on it
//! what the script says. FUSE and its protocol come from the crate `fuser`. As root it mounts
//! directly; otherwise through the program `fusermount3`.
//!
//! Invariant: the file system is unmounted on every exit path of [`serve`]. A mount that a killed
//! process leaves has the source [`SOURCE`], so that it can be recognised.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread::park_timeout;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session,
    SessionACL, TimeOrNow, WriteFlags,
};
use rustix::mount::{UnmountFlags, unmount};

use super::device::SoftDevice;
use super::serving::{Asked, Serving};
use crate::systems::storage::workloads::request::Kind;

/// The source of a soft device in the list of mounts.
pub const SOURCE: &str = "headroom-soft";

const DEVICE: INodeNo = INodeNo(2);
const POWER: INodeNo = INodeNo(3);
const TRUTH: INodeNo = INodeNo(4);
/// Length of `truth` without the end of its line: more than all counts take.
const TRUTH_BYTES: usize = 511;

const FILES: [(INodeNo, &str); 3] = [(DEVICE, "device"), (POWER, "power"), (TRUTH, "truth")];

/// Nothing is cached by the kernel: the content of a file may change at any time.
const NEVER: Duration = Duration::ZERO;
/// How often to ask whether to continue.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// Requests that the kernel may have in flight.
const UNDER_WAY_COUNT: u16 = 1024;

/// Serve `device` in the folder `at` until `is_wanted` returns false, or it is unmounted;
/// `is_ready` is called once it is there.
///
/// # Errors
///
/// If it cannot be mounted.
pub fn serve(
    device: SoftDevice,
    at: &Path,
    is_ready: &mut dyn FnMut(),
    is_wanted: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let owner = std::fs::metadata(at)?;
    let serving = Serving::start(device);
    let files = Files {
        serving: Arc::clone(&serving),
        owner: (owner.uid(), owner.gid()),
    };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(SOURCE.to_owned()),
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    config.acl = SessionACL::Owner;
    let session = Session::new(files, at, &config)
        .and_then(Session::spawn)
        .inspect_err(|_| serving.end())?;
    is_ready();
    while is_wanted() && !session.guard.is_finished() {
        // Unlike a sleep it ends on time, even if signals come faster than a sleep can go on.
        park_timeout(ASKED_EVERY);
    }
    serving.end();
    if session.guard.is_finished() {
        return session.join();
    }
    // Detached, it is gone for all processes at once; a process with an open file still keeps the
    // session, whose thread ends with the last of them, or with the process.
    detach(at)?;
    drop(session);
    Ok(())
}

/// Unmount the file system at `at`, even if it is in use.
///
/// # Errors
///
/// If it cannot be unmounted.
pub fn detach(at: &Path) -> io::Result<()> {
    let Err(error) = unmount(at, UnmountFlags::DETACH) else {
        return Ok(());
    };
    if error != rustix::io::Errno::PERM {
        return Err(error.into());
    }
    let status = Command::new("fusermount3")
        .args(["-u", "-z", "--"])
        .arg(at)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("fusermount3 -u: {status}")))
    }
}

/// The file system.
#[derive(Debug)]
struct Files {
    serving: Arc<Serving>,
    owner: (u32, u32),
}

impl Files {
    fn attributes(&self, file: INodeNo) -> Option<FileAttr> {
        let is_folder = file == INodeNo::ROOT;
        let size = match file {
            DEVICE => self.serving.bytes(),
            TRUTH => self.truth().len() as u64,
            POWER | INodeNo::ROOT => 0,
            _ => return None,
        };
        Some(FileAttr {
            ino: file,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_folder {
                FileType::Directory
            } else {
                FileType::RegularFile
            },
            perm: match file {
                INodeNo::ROOT => 0o500,
                TRUTH => 0o400,
                POWER => 0o200,
                _ => 0o600,
            },
            nlink: if is_folder { 2 } else { 1 },
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Return the present content of `truth`, always of the same length: a program that reads to the
    /// end of the file would otherwise find a digit of a later moment there.
    fn truth(&self) -> String {
        let text = serde_json::to_string(&self.serving.truth()).unwrap_or_default();
        format!("{text:<TRUTH_BYTES$}\n")
    }

    /// Answer a request that moves nothing.
    fn ask(&self, kind: Kind, offset: u64, reply: ReplyEmpty) {
        let answer = move |result: i32, _: &[u8]| match result {
            0.. => reply.ok(),
            _ => reply.error(Errno::from_i32(-result)),
        };
        self.serving
            .take(kind, offset, &Asked::Nothing, Box::new(answer));
    }

    fn switch(&self, word: &[u8]) -> Result<(), Errno> {
        match word.trim_ascii() {
            b"off" => self.serving.switch(false),
            b"on" => self.serving.switch(true),
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel without support, or with a lower limit, serves the rest one by one.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(UNDER_WAY_COUNT);
        let _ = config.set_congestion_threshold(UNDER_WAY_COUNT);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = FILES
            .iter()
            .find(|one| parent == INodeNo::ROOT && name == one.1);
        match found.and_then(|one| self.attributes(one.0)) {
            Some(attributes) => reply.entry(&NEVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, file: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(file) {
            Some(attributes) => reply.attr(&NEVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Times and owners do not matter; the size of a device does not change.
    fn setattr(
        &self,
        _: &Request,
        file: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.attributes(file) {
            Some(one) if size.is_none_or(|size| size == one.size) => reply.attr(&NEVER, &one),
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if file != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let folders = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
        ];
        let files = FILES.map(|(file, name)| (file, FileType::RegularFile, name));
        let all = folders.into_iter().chain(files).zip(1_u64..);
        for ((file, kind, name), next) in all.filter(|one| one.1 > offset) {
            if reply.add(file, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match file {
            DEVICE => {
                // Behind the end of a file there is nothing to read.
                let left = self.serving.bytes().saturating_sub(offset);
                let length = usize::try_from(left).map_or(size as usize, |l| l.min(size as usize));
                if length == 0 {
                    return reply.data(&[]);
                }
                let answer = move |result: i32, content: &[u8]| match result {
                    0.. => reply.data(content),
                    _ => reply.error(Errno::from_i32(-result)),
                };
                self.serving
                    .take(Kind::Read, offset, &Asked::Read(length), Box::new(answer));
            }
            TRUTH => {
                let text = self.truth();
                let from = usize::try_from(offset).map_or(text.len(), |one| one.min(text.len()));
                let to = text.len().min(from.saturating_add(size as usize));
                reply.data(&text.as_bytes()[from..to]);
            }
            _ => reply.error(Errno::EACCES),
        }
    }

    fn write(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match file {
            DEVICE => {
                let answer = move |result: i32, _: &[u8]| match u32::try_from(result) {
                    Ok(moved) => reply.written(moved),
                    Err(_) => reply.error(Errno::from_i32(-result)),
                };
                self.serving
                    .take(Kind::Write, offset, &Asked::Write(data), Box::new(answer));
            }
            POWER => match self.switch(data) {
                Ok(()) => reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX)),
                Err(error) => reply.error(error),
            },
            _ => reply.error(Errno::EACCES),
        }
    }

    /// Closing a file is no request to the device.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, file: INodeNo, _: FileHandle, is_data: bool, reply: ReplyEmpty) {
        match (file, is_data) {
            (DEVICE, true) => self.ask(Kind::DataSync, 0, reply),
            (DEVICE, false) => self.ask(Kind::Sync, 0, reply),
            _ => reply.ok(),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        _length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if file == DEVICE && mode & libc::FALLOC_FL_PUNCH_HOLE != 0 {
            self.ask(Kind::Trim, offset, reply);
        } else {
            reply.error(Errno::EOPNOTSUPP);
        }
    }
}
