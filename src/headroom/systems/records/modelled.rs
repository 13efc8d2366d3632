//! A cell on a machine of caches and TLBs: the accesses that each of them serves.

use super::cells::{Cell, Loaded, Mode, Runner};
use super::store::StoreError;
use super::store::touch::{Area, Touch, WORK_COUNT, Work};
use crate::memory::caches::machine::{Machine, MachineSpec};
use crate::memory::streams::{Access, Kind};

/// Areas are so far apart that they share neither pages nor tables of pages.
const AREA_BITS: u32 = 44;
const AREA_COUNT: usize = 4;
/// What fetches lines ahead stops at a boundary of this size, also in huge pages.
const PAGE_BYTES: u64 = 4096;
/// How often the runs before may fill the last cache: then 98% of a direct-mapped one is theirs.
const FILLS: u64 = 4;

/// A machine that carries out what the store does.
#[derive(Debug)]
pub struct Simulated {
    /// The machine.
    pub machine: Machine,
    /// Work by its kind, see [`Work`].
    pub work: [u64; WORK_COUNT],
    /// Lines that the nearest cache lacks, by the level that serves them (memory last), that do not
    /// continue the last access of their area.
    pub lone: Vec<u64>,
    /// The same of lines that follow a lone one: what fetches ahead is about to begin.
    pub second: Vec<u64>,
    /// The same of lines that follow those: they may be fetched ahead.
    pub streamed: Vec<u64>,
    line_bits: u32,
    last_line: [u64; AREA_COUNT],
    followed: [u32; AREA_COUNT],
}

impl Simulated {
    /// Return a machine with empty caches.
    ///
    /// # Errors
    ///
    /// Why there is no such machine.
    pub fn new(spec: MachineSpec) -> Result<Self, String> {
        let lines = spec.levels.iter().map(|level| level.line_bytes);
        let levels = spec.levels.len() + 1;
        let line_bits = lines.min().unwrap_or(64).trailing_zeros();
        Ok(Self {
            machine: Machine::new(spec)?,
            work: [0; WORK_COUNT],
            lone: vec![0; levels],
            second: vec![0; levels],
            streamed: vec![0; levels],
            line_bits,
            last_line: [u64::MAX; AREA_COUNT],
            followed: [0; AREA_COUNT],
        })
    }

    /// Forget what was counted, and keep what the caches hold.
    pub fn restart(&mut self) {
        self.machine.restart();
        self.work = [0; WORK_COUNT];
        self.lone.fill(0);
        self.second.fill(0);
        self.streamed.fill(0);
    }

    /// Carry out an access, each line of the nearest cache by itself.
    #[inline]
    fn access(&mut self, kind: Kind, area: Area, offset: u64, bytes: u64) {
        let area = area as usize;
        let base = (area as u64 + 1) << AREA_BITS;
        let (mut at, end) = (base + offset, base + offset + bytes);
        while at < end {
            let next = ((at >> self.line_bits) + 1) << self.line_bits;
            let bytes = next.min(end) - at;
            let level = self.machine.carry_out(Access {
                kind,
                address: at,
                bytes: bytes as u32,
            });
            self.note_line(area, at >> self.line_bits, level);
            at = next;
        }
    }

    #[inline]
    fn note_line(&mut self, area: usize, line: u64, level: usize) {
        let last = std::mem::replace(&mut self.last_line[area], line);
        if line != last {
            // Lines are fetched ahead by their physical address, which ends with the page.
            let follows =
                line == last.wrapping_add(1) && line & ((PAGE_BYTES >> self.line_bits) - 1) != 0;
            self.followed[area] = if follows { self.followed[area] + 1 } else { 0 };
        }
        if level > 0 {
            match self.followed[area] {
                0 => self.lone[level] += 1,
                1 => self.second[level] += 1,
                _ => self.streamed[level] += 1,
            }
        }
    }
}

impl Touch for Simulated {
    const AHEAD: usize = 16;

    #[inline]
    fn read(&mut self, area: Area, offset: u64, bytes: u64) {
        self.access(Kind::Read, area, offset, bytes);
    }

    #[inline]
    fn write(&mut self, area: Area, offset: u64, bytes: u64) {
        self.access(Kind::Write, area, offset, bytes);
    }

    #[inline]
    fn work(&mut self, work: Work, count: u64) {
        self.work[work as usize] += count;
    }
}

/// Return visits after which the caches hold what more visits would leave there: those that read
/// as many lines as the last cache has, [`FILLS`] times.
fn fill_visits(loaded: &Loaded, machine: &Simulated) -> u64 {
    let far = machine.machine.data.levels.last();
    let bytes = far.map_or(0, |level| level.spec.bytes);
    FILLS * bytes
        / loaded
            .table
            .spec()
            .record_bytes
            .clamp(1, 1 << machine.line_bits)
        + 1
}

/// Return the scan that visits each record which runs of a cell visit sooner or later.
fn through_all(cell: Cell) -> Cell {
    let mode = match cell.mode {
        Mode::PhySeq => Mode::PhySeq,
        _ => Mode::IdxSeq,
    };
    Cell {
        mode,
        share: 1.0,
        scans: 1,
        from_first: true,
        ..cell
    }
}

/// Simulate one run of a cell, after `warm_up` runs that fill the caches; return its visits.
///
/// # Errors
///
/// The table has no room for what the cell inserts.
pub fn simulate(
    loaded: &mut Loaded,
    cell: Cell,
    machine: &mut Simulated,
    warm_up: usize,
    seed: u64,
) -> Result<u64, StoreError> {
    if warm_up > 0 {
        let most = fill_visits(loaded, machine);
        // Loading the table has touched all of it, which one run of a random cell would not.
        let mut all = Runner::new(through_all(cell).at_most(most, loaded.count), loaded, !seed);
        all.prepare(loaded);
        all.run(loaded, machine)?;
        all.finish(loaded);
        let short = cell.at_most(most, loaded.count);
        let mut before = Runner::new(short, loaded, !seed);
        for _ in 0..warm_up {
            before.prepare(loaded);
            before.run(loaded, machine)?;
        }
        before.prepare(loaded);
    }
    let mut runner = Runner::new(cell, loaded, seed);
    runner.prepare(loaded);
    machine.restart();
    runner.run(loaded, machine)?;
    runner.finish(loaded);
    Ok(runner.visits(loaded))
}
