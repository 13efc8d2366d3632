//! What the processes were seen to do, each path once, as it was the first time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString, c_int};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::kernel::{FROM_FOLDER, Span, process_vm_readv};

const WRITE_ONLY: u64 = 1;
const ACCESS: u64 = 3;
const CREATE: u64 = 0o100;
const EMPTY: u64 = 0o1000;
const PATH_ONLY: u64 = 0o10_000_000;
const LONGEST_PATH: usize = 4096;
const PAGE: usize = 4096;
const NETWORKS: [u8; 2] = [2, 10];

/// The records of a report.
#[derive(Default)]
pub struct Seen {
    /// Whether the program has ended: nothing more is recorded.
    pub is_complete: bool,
    paths: BTreeMap<Vec<u8>, (u8, String)>,
    notes: BTreeSet<u8>,
}

impl Seen {
    pub fn note(&mut self, kind: u8) {
        self.notes.insert(kind);
    }

    /// An open: what is only written is no input, and what it may create is absent before.
    pub fn opened(&mut self, pid: c_int, folder: c_int, path: u64, flags: u64) {
        if flags & ACCESS == WRITE_ONLY || flags & EMPTY != 0 || flags & PATH_ONLY == PATH_ONLY {
            return;
        }
        let kind = if flags & ACCESS == 0 { b'o' } else { b'w' };
        match whole_path(pid, folder, path) {
            Some(path) if flags & CREATE == 0 || path.exists() => self.add(kind, path),
            _ => (),
        }
    }

    pub fn opened_how(&mut self, pid: c_int, folder: c_int, path: u64, how: u64) {
        if let Some(flags) = read_memory(pid, how, 8).and_then(|bytes| bytes.try_into().ok()) {
            self.opened(pid, folder, path, u64::from_le_bytes(flags));
        }
    }

    pub fn executes(&mut self, pid: c_int, folder: c_int, path: u64) {
        if let Some(path) = whole_path(pid, folder, path) {
            self.add(b'x', path);
        }
    }

    /// A process has become another program: the kernel has opened it, and its loader.
    pub fn executed(&mut self, pid: c_int) {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}"));
        let own = |name: &str| fs::read_link(format!("/proc/self/{name}"));
        let is_elsewhere = |name| matches!((link(name), own(name)), (Ok(a), Ok(b)) if a != b);
        if is_elsewhere("ns/mnt") || is_elsewhere("root") {
            self.note(b'c');
            return;
        }
        if let Ok(program) = link("exe") {
            if is_of_other_size(&program) {
                self.note(b'b');
            }
            self.add(b'x', program);
        }
        let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n') {
            if let Some(at) = line.iter().position(|byte| *byte == b'/') {
                self.add(b'm', PathBuf::from(OsStr::from_bytes(&line[at..])));
            }
        }
    }

    pub fn connects(&mut self, pid: c_int, address: u64) {
        let family = read_memory(pid, address, 1).unwrap_or_default();
        if family.first().is_some_and(|first| NETWORKS.contains(first)) {
            self.note(b'n');
        }
    }

    /// Note whether other traced processes live on after the program `pid`.
    pub fn note_left(&mut self, pid: c_int) {
        let own = std::process::id().to_string();
        let tracer = format!("TracerPid:\t{own}\n");
        let is_left = |name: &OsStr| {
            name != OsStr::new(&pid.to_string())
                && fs::read_to_string(Path::new("/proc").join(name).join("status"))
                    .is_ok_and(|status| status.contains(&tracer) && !status.contains("State:\tZ"))
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        if processes
            .map(|entry| entry.file_name())
            .any(|name| name.as_bytes()[0].is_ascii_digit() && is_left(&name))
        {
            self.note(b'l');
        }
    }

    pub fn write(&self, report: &OsString) {
        let mut text = record(b'=', "", b"");
        for kind in &self.notes {
            text.extend(record(*kind, "", b""));
        }
        for (path, (kind, look)) in &self.paths {
            text.extend(record(*kind, look, path));
        }
        let _ = fs::write(report, text); // A report that is missing is noticed by its reader.
    }

    pub fn write_refusal(report: &OsString, reason: &str) {
        let _ = fs::write(report, record(b'!', "", reason.as_bytes()));
    }

    fn add(&mut self, kind: u8, path: PathBuf) {
        let known = self
            .paths
            .entry(path.into_os_string().into_vec())
            .or_insert_with_key(|path| (kind, look_at(Path::new(OsStr::from_bytes(path)))));
        if kind == b'x' || kind == b'w' {
            known.0 = kind;
        }
    }
}

/// Return the whole path of a call's argument.
fn whole_path(pid: c_int, folder: c_int, address: u64) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(read_text(pid, address)?));
    if path.is_absolute() {
        return Some(path);
    }
    let start = if folder == FROM_FOLDER {
        fs::read_link(format!("/proc/{pid}/cwd"))
    } else {
        fs::read_link(format!("/proc/{pid}/fd/{folder}"))
    };
    Some(start.ok()?.join(path))
}

fn record(kind: u8, look: &str, path: &[u8]) -> Vec<u8> {
    [&[kind][..], b"\0", look.as_bytes(), b"\0", path, b"\0"].concat()
}

/// Return how a path looks now, links followed; nothing if there is nothing.
fn look_at(path: &Path) -> String {
    let Ok(status) = fs::metadata(path) else {
        return String::new();
    };
    let ns = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let mut text = format!("{} {} {}", status.dev(), status.ino(), status.size());
    let changed = ns(status.mtime(), status.mtime_nsec());
    let touched = ns(status.ctime(), status.ctime_nsec());
    write!(text, " {changed} {touched} {}", status.mode()).expect("a text takes everything");
    text
}

/// Return whether a program is one of 32 bits, whose calls the filter does not know.
fn is_of_other_size(program: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 5];
    let read = fs::File::open(program).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"\x7fELF") && head[4] == 1
}

/// Read a text that ends in NUL, page by page: the next page may not be there.
fn read_text(pid: c_int, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < LONGEST_PATH {
        let in_page = usize::try_from(at).ok()? % PAGE;
        let bytes = read_memory(pid, at, PAGE - in_page)?;
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            text.extend(&bytes[..end]);
            return (!text.is_empty()).then_some(text);
        }
        at += bytes.len() as u64;
        text.extend(bytes);
    }
    None
}

fn read_memory(pid: c_int, address: u64, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    let local = Span {
        start: bytes.as_mut_ptr() as usize,
        size,
    };
    let remote = Span {
        start: usize::try_from(address).ok()?,
        size,
    };
    // SAFETY: `local` is `bytes`; a range of the other process that is not there is an error.
    let read = unsafe { process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    bytes.truncate(usize::try_from(read).ok()?);
    (!bytes.is_empty()).then_some(bytes)
}
