//! Summary of a trace: the first pass, which also finds every malformed line.
//!
//! Invariant: memory grows with the part of the devices that was touched (one bit for 4 KiB) and
//! with the number of different sizes, never with the length of the trace.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::super::error::WorkloadError;
use super::formats::Entry;
use super::lines::TraceReader;
use crate::systems::storage::workloads::request::Kind;

/// Unit in which the touched part is counted (B).
pub const FOOTPRINT_UNIT: u64 = 4096;
/// Units of a page of bits.
const PAGE_UNITS: u64 = 1 << 15;
/// Longest request (B) whose units are marked one by one.
const MARKED_MAX: u64 = 1 << 30;

/// The content of a trace.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Requests.
    pub request_count: u64,
    /// Reads among them.
    pub read_count: u64,
    /// Writes among them.
    pub write_count: u64,
    /// Bytes read (B).
    pub read_bytes: u64,
    /// Bytes written (B).
    pub write_bytes: u64,
    /// Time of the first request on the trace's clock (ns).
    pub first_ns: u64,
    /// From the first request to the latest one (ns).
    pub duration_ns: u64,
    /// Requests that are earlier than the one before.
    pub earlier_count: u64,
    /// Different bytes read or written (B), in units of 4 KiB.
    pub footprint_bytes: u64,
    /// How often each length (B) of reads and writes came.
    pub sizes: BTreeMap<u64, u64>,
    /// The devices by name.
    pub devices: BTreeMap<String, DeviceDescription>,
    /// Lines that were no request.
    pub skipped_count: u64,
}

/// The content of a trace for one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDescription {
    /// Requests.
    pub request_count: u64,
    /// Byte behind the last one touched (B).
    pub end: u64,
}

impl Description {
    /// Return the share of reads among reads and writes; 0 if there are none.
    pub fn read_share(&self) -> f64 {
        match self.read_count + self.write_count {
            0 => 0.0,
            count => self.read_count as f64 / count as f64,
        }
    }
}

/// Read a trace to its end.
///
/// # Errors
///
/// Fails if a line is malformed, with its number, or if the input fails.
pub fn describe(mut reader: TraceReader<impl BufRead>) -> Result<Description, WorkloadError> {
    let mut found = Description::default();
    let mut touched: Vec<(String, Touched)> = Vec::new();
    let mut last_ns = 0;
    while let Some(entry) = reader.next_entry()? {
        if found.request_count == 0 {
            (found.first_ns, last_ns) = (entry.time_ns, entry.time_ns);
        }
        found.earlier_count += u64::from(entry.time_ns < last_ns);
        last_ns = entry.time_ns;
        let since_ns = entry.time_ns.saturating_sub(found.first_ns);
        found.duration_ns = found.duration_ns.max(since_ns);
        count(&mut found, &entry);
        let known = touched.iter().position(|(name, _)| entry.device.is(name));
        let index = known.unwrap_or_else(|| {
            touched.push((entry.device.name(), Touched::default()));
            touched.len() - 1
        });
        touched[index].1.mark(&entry);
    }
    found.skipped_count = reader.skipped();
    found.footprint_bytes = touched.iter().map(|(_, one)| one.bytes()).sum();
    let devices = touched.into_iter().map(|(name, one)| (name, one.about));
    found.devices = devices.collect();
    Ok(found)
}

fn count(found: &mut Description, entry: &Entry<'_>) {
    found.request_count += 1;
    match entry.kind {
        Kind::Read => {
            found.read_count += 1;
            found.read_bytes = found.read_bytes.saturating_add(entry.length);
        }
        Kind::Write => {
            found.write_count += 1;
            found.write_bytes = found.write_bytes.saturating_add(entry.length);
        }
        Kind::Sync | Kind::DataSync | Kind::Trim => return,
    }
    *found.sizes.entry(entry.length).or_default() += 1;
}

/// Which part of a device was touched.
#[derive(Clone, Debug, Default)]
struct Touched {
    about: DeviceDescription,
    pages: BTreeMap<u64, Box<[u64]>>,
}

impl Touched {
    fn mark(&mut self, entry: &Entry<'_>) {
        self.about.request_count += 1;
        let end = entry.offset.saturating_add(entry.length);
        self.about.end = self.about.end.max(end);
        let is_data = matches!(entry.kind, Kind::Read | Kind::Write);
        if !is_data || entry.length == 0 {
            return;
        }
        let last = entry.offset.saturating_add(entry.length.min(MARKED_MAX)) - 1;
        for unit in entry.offset / FOOTPRINT_UNIT..=last / FOOTPRINT_UNIT {
            self.mark_unit(unit);
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a place in a page is far below 2^32"
    )]
    fn mark_unit(&mut self, unit: u64) {
        let page = self
            .pages
            .entry(unit / PAGE_UNITS)
            .or_insert_with(|| vec![0; PAGE_UNITS as usize / 64].into_boxed_slice());
        let within = (unit % PAGE_UNITS) as usize;
        page[within / 64] |= 1 << (within % 64);
    }

    fn bytes(&self) -> u64 {
        let words = self.pages.values().flat_map(|page| page.iter());
        let units: u64 = words.map(|word| u64::from(word.count_ones())).sum();
        units * FOOTPRINT_UNIT
    }
}
