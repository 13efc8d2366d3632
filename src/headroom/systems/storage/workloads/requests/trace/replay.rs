//! Converts trace records to requests to the target.
//!
//! Invariant: a request lies inside the target at a multiple of the alignment; due times never
//! fall; every change of a request is counted.

use std::collections::BTreeMap;

use super::describe::Description;
use super::formats::{Entry, Format};
use crate::recording::load::due::whole_ns;
use crate::systems::storage::workloads::request::{Kind, Request};

/// Longest request returned (B); longer ones are cut.
const LENGTH_MAX: u64 = 1 << 30;

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub struct ReplayLaw {
    /// Its format.
    pub format: Format,
    /// Whether requests have due times.
    pub is_timed: bool,
    /// Factor on all times; 0.5 is twice as fast.
    pub time_scale: f64,
    /// The part skipped at the start (s of the trace).
    pub start_s: f64,
    /// The part replayed from there (s of the trace); None: all.
    pub duration_s: Option<f64>,
    /// Alignment of addresses and lengths (B).
    pub align: u64,
    /// Devices to replay; None: all.
    pub devices: Option<Vec<String>>,
    /// Size of the target (B).
    pub target_bytes: u64,
}

/// How many requests were changed, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Requests given.
    pub given: u64,
    /// Left out: before the start, behind the end, or of another device.
    pub left_out: u64,
    /// Left out: reads, writes and trims of no length.
    pub empty: u64,
    /// Address beyond the target, taken modulo its size.
    pub folded: u64,
    /// Moved towards the start so that they do not cross the end.
    pub moved: u64,
    /// Grown to the alignment.
    pub aligned: u64,
    /// Cut to 1 GiB or to the size of the target.
    pub cut: u64,
    /// Earlier than the one before, and due with it.
    pub reordered: u64,
}

impl Changes {
    /// Return the counters by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("trace_requests", self.given),
            ("trace_requests_left_out", self.left_out),
            ("trace_requests_empty", self.empty),
            ("trace_requests_folded", self.folded),
            ("trace_requests_moved", self.moved),
            ("trace_requests_aligned", self.aligned),
            ("trace_requests_cut", self.cut),
            ("trace_requests_reordered", self.reordered),
        ]
    }
}

/// Turns entries into requests.
pub struct Replay {
    law: ReplayLaw,
    /// The start (B) of each device before folding.
    bases: BTreeMap<String, u64>,
    first_ns: u64,
    last_due_ns: u64,
    usable: u64,
    changes: Changes,
    is_over: bool,
}

impl Replay {
    /// Prepare the replay of a trace that was found to be as described.
    pub fn new(law: ReplayLaw, found: &Description) -> Self {
        let is_wanted = |name: &String| law.devices.as_ref().is_none_or(|all| all.contains(name));
        let mut bases = BTreeMap::new();
        let mut base = 0_u64;
        for (name, device) in &found.devices {
            if is_wanted(name) {
                bases.insert(name.clone(), base);
                base = base.saturating_add(up(device.end, law.align));
            }
        }
        Self {
            usable: down(law.target_bytes, law.align),
            law,
            bases,
            first_ns: found.first_ns,
            last_due_ns: 0,
            changes: Changes::default(),
            is_over: false,
        }
    }

    /// Return the changes so far.
    pub const fn changes(&self) -> Changes {
        self.changes
    }

    /// Whether no further request will be given.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Return the request made from `entry`, None if it is left out.
    pub fn request(&mut self, entry: &Entry<'_>) -> Option<Request> {
        let Some(base) = self.base(entry) else {
            self.changes.left_out += 1;
            return None;
        };
        let time_s = (entry.time_ns.saturating_sub(self.first_ns)) as f64 / 1e9 - self.law.start_s;
        let is_late = self
            .law
            .duration_s
            .is_some_and(|duration_s| time_s >= duration_s);
        if time_s < 0.0 || is_late {
            self.changes.left_out += 1;
            return None;
        }
        let (offset, length) = self.place(entry, base)?;
        self.changes.given += 1;
        Some(Request {
            kind: entry.kind,
            offset,
            length,
            due_ns: self.due(entry.time_ns),
        })
    }

    fn base(&self, entry: &Entry<'_>) -> Option<u64> {
        // Few devices: a search beats making the name.
        let mut bases = self.bases.iter();
        bases
            .find(|(name, _)| entry.device.is(name))
            .map(|(_, &base)| base)
    }

    fn place(&mut self, entry: &Entry<'_>, base: u64) -> Option<(u64, u32)> {
        if matches!(entry.kind, Kind::Sync | Kind::DataSync) {
            return Some((0, 0));
        }
        if entry.length == 0 {
            self.changes.empty += 1;
            return None;
        }
        let align = self.law.align;
        let first = down(entry.offset, align);
        let wanted = up(entry.offset.saturating_add(entry.length), align) - first;
        self.changes.aligned += u64::from(wanted != entry.length);
        let length = wanted.min(down(LENGTH_MAX, align)).min(self.usable);
        self.changes.cut += u64::from(length < wanted);
        let address = base.saturating_add(first);
        self.changes.folded += u64::from(address >= self.usable);
        let folded = down(address % self.usable, align);
        let offset = folded.min(self.usable - length);
        self.changes.moved += u64::from(offset != folded);
        Some((offset, u32::try_from(length).unwrap_or(u32::MAX)))
    }

    fn due(&mut self, time_ns: u64) -> Option<u64> {
        if !self.law.is_timed {
            return None;
        }
        let cut_ns = self.law.start_s * 1e9;
        let since_ns = time_ns.saturating_sub(self.first_ns) as f64 - cut_ns;
        let due_ns = whole_ns(since_ns * self.law.time_scale);
        self.changes.reordered += u64::from(due_ns < self.last_due_ns);
        self.last_due_ns = self.last_due_ns.max(due_ns);
        Some(self.last_due_ns)
    }
}

const fn down(value: u64, align: u64) -> u64 {
    value - value % align
}

/// Round up, or down if there is nothing above.
const fn up(value: u64, align: u64) -> u64 {
    match value.checked_next_multiple_of(align) {
        Some(up) => up,
        None => down(value, align),
    }
}
