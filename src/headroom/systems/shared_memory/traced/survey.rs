//! First pass over a trace: who uses each page.

use super::memory::{MOST_PAGES, Pages};
use super::threads::Threads;
use crate::systems::shared_memory::hook::{Access, Event, Events};
use crate::systems::shared_memory::machine::pages::Users;
use crate::systems::shared_memory::machine::placement::{PAGE_BITS, PART_BITS};

/// Bytes (B) of an access at most; longer copies are no copies of real programs.
const MOST_BYTES: u64 = 1 << 30;
/// Numbers of pages and nodes whose product is small enough to count the users of all pages.
const MOST_COUNTS: usize = 1 << 26;

/// Pieces of an access, each within 64 bytes: their first bytes and their sizes.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
pub fn pieces(access: &Access) -> impl Iterator<Item = (u64, u32)> + use<> {
    let (mut at, end) = (access.address, access.address.saturating_add(access.bytes));
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let next = (((at >> PART_BITS) + 1) << PART_BITS).min(end);
        let piece = (at, (next - at) as u32);
        at = next;
        Some(piece)
    })
}

/// Takes a trace and counts.
#[derive(Debug)]
pub struct Survey {
    /// Threads.
    pub threads: Threads,
    /// Pages.
    pub pages: Pages,
    nodes: usize,
    cpus: usize,
    /// Pieces by page and node, and a bit for each part of a page.
    counts: Vec<u64>,
    parts: Vec<u64>,
    first: Vec<Option<u8>>,
    /// Accesses.
    pub accesses: u64,
    failure: Option<String>,
}

impl Survey {
    /// Return an empty survey for a machine.
    pub fn new(nodes: u8, cpus: u8) -> Self {
        Self {
            threads: Threads::new(usize::from(nodes) * usize::from(cpus)),
            pages: Pages::default(),
            nodes: nodes.into(),
            cpus: cpus.into(),
            counts: Vec::new(),
            parts: Vec::new(),
            first: Vec::new(),
            accesses: 0,
            failure: None,
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "at most MOST_PAGES, 64 nodes"
    )]
    fn touch(&mut self, node: usize, address: u64) {
        let dense = self.pages.dense(address);
        let page = (dense >> PAGE_BITS) as usize;
        if page == self.first.len() {
            self.first.push(Some(node as u8));
            self.counts.resize((page + 1) * self.nodes, 0);
            self.parts.resize((page + 1) * self.nodes, 0);
            let most = MOST_PAGES.min(MOST_COUNTS / self.nodes);
            if page >= most {
                let mib = most >> (20 - PAGE_BITS);
                self.failure = Some(format!(
                    "the program uses more than {mib} MiB: mark a shorter region, or use fewer nodes"
                ));
            }
        }
        let at = page * self.nodes + node;
        self.counts[at] += 1;
        self.parts[at] |= 1 << (dense >> PART_BITS & 63);
    }

    /// Return who used the pages.
    ///
    /// # Errors
    ///
    /// What no simulation can have.
    pub fn finish(self) -> Result<(Users, Pages), String> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if self.accesses == 0 {
            return Err("the trace has no accesses".into());
        }
        let alone = self.parts.chunks(self.nodes).map(|of_nodes| {
            let (once, more) = of_nodes.iter().fold((0, 0), |(once, more), parts| {
                (once | parts, more | once & parts)
            });
            once & !more
        });
        let counts = self.counts.chunks(self.nodes).map(<[u64]>::to_vec);
        let users = Users::new(counts.collect(), alone.collect(), self.first);
        Ok((users, self.pages))
    }
}

impl Events for Survey {
    #[inline]
    fn access(&mut self, thread: u32, access: Access) {
        let node = self.threads.processor(thread) / self.cpus;
        self.accesses += 1;
        if access.bytes > MOST_BYTES {
            let bytes = access.bytes;
            self.failure = Some(format!("an access of {bytes} B: the trace is damaged"));
        }
        for (address, _) in pieces(&access) {
            if self.failure.is_some() {
                return;
            }
            self.touch(node, address);
        }
    }

    fn event(&mut self, thread: u32, _: Event) {
        self.threads.processor(thread);
    }
}
