//! A cell on a machine of caches and TLBs: the accesses that each of them serves.

use super::cells::{Cell, Loaded, Runner};
use super::store::StoreError;
use super::store::touch::{Area, Touch, WORK_COUNT, Work};
use crate::memory::caches::machine::{Machine, MachineSpec};
use crate::memory::streams::{Access, Kind};

/// Areas are so far apart that they share neither pages nor tables of pages.
const AREA_BITS: u32 = 44;
const AREA_COUNT: usize = 4;
/// How often the runs before may fill the last cache: then 98% of a direct-mapped one is theirs.
const FILLS: u64 = 4;

/// A machine that carries out what the store does.
#[derive(Debug)]
pub struct Simulated {
    /// The machine.
    pub machine: Machine,
    /// Work by its kind, see [`Work`].
    pub work: [u64; WORK_COUNT],
    /// Accesses of memory by line that do not continue the last one of their area.
    pub lone: u64,
    /// Accesses of memory at the line after that.
    pub streamed: u64,
    line_bits: u32,
    last_line: [u64; AREA_COUNT],
}

impl Simulated {
    /// Return a machine with empty caches.
    ///
    /// # Errors
    ///
    /// Why there is no such machine.
    pub fn new(spec: MachineSpec) -> Result<Self, String> {
        let lines = spec.levels.iter().map(|level| level.line_bytes);
        let line_bits = lines.min().unwrap_or(64).trailing_zeros();
        Ok(Self {
            machine: Machine::new(spec)?,
            work: [0; WORK_COUNT],
            lone: 0,
            streamed: 0,
            line_bits,
            last_line: [u64::MAX; AREA_COUNT],
        })
    }

    /// Forget what was counted, and keep what the caches hold.
    pub fn restart(&mut self) {
        self.machine.restart();
        self.work = [0; WORK_COUNT];
        (self.lone, self.streamed) = (0, 0);
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
            if level == self.machine.data.levels.len() {
                self.note_memory(area, at);
            }
            at = next;
        }
    }

    fn note_memory(&mut self, area: usize, address: u64) {
        let far = self.machine.data.levels.last();
        let line = address / far.map_or(64, |level| level.spec.line_bytes);
        if line == self.last_line[area].wrapping_add(1) {
            self.streamed += 1;
        } else {
            self.lone += 1;
        }
        self.last_line[area] = line;
    }
}

impl Touch for Simulated {
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
    FILLS * bytes / loaded.table.spec().record_bytes.clamp(1, 1 << machine.line_bits) + 1
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
        let short = cell.at_most(fill_visits(loaded, machine), loaded.count);
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
