//! Work of a whole system in addition to reading: pages that are protected between writes, as
//! in Dali, and changed nodes that a checkpoint writes.

#![allow(
    unsafe_code,
    reason = "protecting pages and writing memory as it is are system calls"
)]
#![allow(clippy::disallowed_methods, reason = "it measures: it reads the clock")]

use std::collections::BTreeSet;
use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rand::RngExt;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;

use super::cells::Loaded;
use super::store::region::At;
use super::store::table::fill;
use super::store::touch::Silent;
use crate::simulation::kernel::random::stream;

const KEY_OF_UPKEEP: u64 = 0x7570_6b65_6570;

/// A kind of upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upkeep {
    /// All pages are read-only; an update opens those of its node, and closes them again.
    Protect,
    /// After the updates, the pages of the nodes that they changed are written to a file in memory.
    Checkpoint,
}

/// Results of upkeep.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Time (s) of all updates with their upkeep.
    pub wall_s: f64,
    /// Updates.
    pub updates: u64,
    /// Bytes (B) whose protection was changed, or that were written.
    pub bytes: u64,
}

/// Measure `updates` updates of random records with their upkeep.
///
/// # Errors
///
/// The system refuses.
pub fn measure(
    loaded: &mut Loaded,
    upkeep: Upkeep,
    updates: u64,
    seed: u64,
) -> Result<Kept, String> {
    let page = rustix::param::page_size() as u64;
    let mut random = stream::open(seed, KEY_OF_UPKEEP);
    let count = loaded.count as u32;
    let keys: Vec<u32> = (0..updates)
        .map(|_| random.random_range(0..count))
        .collect();
    let nodes = Nodes::of(loaded, page);
    // Which node a record is in is known to the store's user; finding it is not what is measured.
    let spans: Vec<(u64, u64)> = keys
        .iter()
        .map(|&key| nodes.pages_of(loaded, key))
        .collect();
    match upkeep {
        Upkeep::Protect => protect(loaded, &keys, &spans, &nodes),
        Upkeep::Checkpoint => checkpoint(loaded, &keys, &spans, page),
    }
}

/// Nodes by address, to find that of a record.
struct Nodes {
    starts: Vec<At>,
    node_bytes: u64,
    page: u64,
}

impl Nodes {
    fn of(loaded: &Loaded, page: u64) -> Self {
        let mut starts = loaded.table.directory().to_vec();
        starts.sort_unstable();
        Self {
            starts,
            node_bytes: loaded.table.spec().node_bytes,
            page,
        }
    }

    /// Return the address and the length (B) of the pages that the node of a record touches.
    fn pages_of(&self, loaded: &Loaded, key: u32) -> (u64, u64) {
        let at = loaded.table.find(key, &mut Silent).unwrap_or_default();
        let number = self.starts.partition_point(|&start| start <= at);
        self.pages_from(loaded, self.starts[number.saturating_sub(1)])
    }

    fn pages_from(&self, loaded: &Loaded, node: At) -> (u64, u64) {
        let start = loaded.table.region().pointer(node) as u64;
        let first = start / self.page * self.page;
        let end = (start + self.node_bytes).next_multiple_of(self.page);
        (first, end - first)
    }
}

fn set(span: (u64, u64), protection: libc::c_int) -> Result<(), String> {
    // SAFETY: whole pages of nodes that the table owns; who writes them has opened them before.
    let code = unsafe { libc::mprotect(span.0 as *mut libc::c_void, span.1 as usize, protection) };
    if code == 0 {
        return Ok(());
    }
    Err(format!(
        "pages cannot be protected: {}",
        Error::last_os_error()
    ))
}

const OPEN: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

fn protect(
    loaded: &mut Loaded,
    keys: &[u32],
    spans: &[(u64, u64)],
    nodes: &Nodes,
) -> Result<Kept, String> {
    let all: Vec<(u64, u64)> = nodes
        .starts
        .iter()
        .map(|&node| nodes.pages_from(loaded, node))
        .collect();
    for &span in &all {
        set(span, libc::PROT_READ)?;
    }
    let mut record = vec![0; (loaded.table.spec().stride_bytes() / 4) as usize];
    let start = Instant::now();
    let mut result = Ok(());
    for (&key, &span) in keys.iter().zip(spans) {
        result = set(span, OPEN);
        if result.is_err() {
            break;
        }
        fill(&mut record, key);
        loaded.table.update(key, 1, &record[1..], &mut Silent);
        result = set(span, libc::PROT_READ);
        if result.is_err() {
            break;
        }
    }
    let wall_s = start.elapsed().as_secs_f64();
    for &span in &all {
        set(span, OPEN)?;
    }
    result?;
    Ok(Kept {
        wall_s,
        updates: keys.len() as u64,
        bytes: spans.iter().map(|span| 2 * span.1).sum(),
    })
}

fn checkpoint(
    loaded: &mut Loaded,
    keys: &[u32],
    spans: &[(u64, u64)],
    page: u64,
) -> Result<Kept, String> {
    let file = memfd_create("headroom-checkpoint", MemfdFlags::CLOEXEC)
        .map_err(|why| format!("no file in memory: {why}"))?;
    let mut record = vec![0; (loaded.table.spec().stride_bytes() / 4) as usize];
    // Once before: the first write of a page of a file in memory allocates it.
    write_all(&file, &distinct(spans), page)?;
    let start = Instant::now();
    for &key in keys {
        fill(&mut record, key);
        loaded.table.update(key, 1, &record[1..], &mut Silent);
    }
    let bytes = write_all(&file, &distinct(spans), page)?;
    Ok(Kept {
        wall_s: start.elapsed().as_secs_f64(),
        updates: keys.len() as u64,
        bytes,
    })
}

/// Return the changed spans, each once, by address.
fn distinct(spans: &[(u64, u64)]) -> BTreeSet<(u64, u64)> {
    spans.iter().copied().collect()
}

/// Write spans of memory side by side, adjacent ones at once; return their bytes.
fn write_all(file: &OwnedFd, spans: &BTreeSet<(u64, u64)>, page: u64) -> Result<u64, String> {
    let (mut written, mut waiting) = (0, None::<(u64, u64)>);
    for &(start, bytes) in spans {
        waiting = Some(match waiting {
            // Nodes smaller than a page share it.
            Some((first, length)) if start <= first + length => {
                (first, length.max(start + bytes - first))
            }
            Some(span) => {
                written += write(file, span, written)?;
                (start, bytes)
            }
            None => (start, bytes),
        });
    }
    if let Some(span) = waiting {
        written += write(file, span, written)?;
    }
    debug_assert!(written.is_multiple_of(page));
    Ok(written)
}

fn write(file: &OwnedFd, (start, bytes): (u64, u64), offset: u64) -> Result<u64, String> {
    let mut done = 0;
    while done < bytes {
        // SAFETY: memory of nodes that the table owns, which does not change meanwhile.
        let length = unsafe {
            libc::pwrite(
                file.as_raw_fd(),
                (start + done) as *const libc::c_void,
                (bytes - done) as usize,
                (offset + done).cast_signed(),
            )
        };
        match u64::try_from(length) {
            Ok(length) if length > 0 => done += length,
            _ => return Err(format!("a checkpoint failed: {}", Error::last_os_error())),
        }
    }
    Ok(bytes)
}
