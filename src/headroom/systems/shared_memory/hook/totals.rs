//! Counts the contents of a trace.
//!
//! Invariant: the accesses of all sites together are the accesses of the trace.

#![allow(
    clippy::disallowed_types,
    reason = "sites are looked up at each access, and sorted when they are listed"
)]

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::events::{Access, Event, Events, Kind};
use crate::memory::stack_distance::LineHasher;

/// Accesses by kind, in the order of [`Kind::ALL`].
pub type ByKind = [u64; Kind::ALL.len()];

/// Numbers of accesses and events.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Accesses.
    pub accesses: ByKind,
    /// Bytes of them.
    pub bytes: ByKind,
    /// Allocations.
    pub allocations: u64,
    /// Requested bytes of all allocations.
    pub allocated_bytes: u64,
    /// Ends of allocations.
    pub frees: u64,
    /// Acquisitions of locks.
    pub acquisitions: u64,
    /// Arrivals of threads at barriers.
    pub barrier_entries: u64,
    /// Regions that begin.
    pub regions: u64,
    sites: HashMap<u64, ByKind, BuildHasherDefault<LineHasher>>,
}

impl Totals {
    /// Return the accesses of each site, in ascending order of the sites.
    pub fn sites(&self) -> Vec<(u64, ByKind)> {
        let mut sites: Vec<_> = self
            .sites
            .iter()
            .map(|(&site, &counts)| (site, counts))
            .collect();
        sites.sort_unstable();
        sites
    }
}

impl Events for Totals {
    fn access(&mut self, _thread: u32, access: Access) {
        let kind = access.kind as usize;
        self.accesses[kind] += 1;
        self.bytes[kind] = self.bytes[kind].wrapping_add(access.bytes);
        self.sites.entry(access.site).or_default()[kind] += 1;
    }

    fn event(&mut self, _thread: u32, event: Event) {
        match event {
            Event::Allocated { bytes, .. } => {
                self.allocations += 1;
                self.allocated_bytes = self.allocated_bytes.wrapping_add(bytes);
            }
            Event::Freed { .. } => self.frees += 1,
            Event::Acquired { .. } => self.acquisitions += 1,
            Event::Entered { .. } => self.barrier_entries += 1,
            Event::RegionBegun => self.regions += 1,
            _ => {}
        }
    }
}
