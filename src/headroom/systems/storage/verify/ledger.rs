//! The ledger: the write that each cell of the target must hold.
//!
//! During a run, two requests never touch a cell at once if one of them writes
//! ([`Ledger::is_free`]; the other one waits). So the writes of a cell have one order, which the
//! target cannot reverse, and a read sees one state: there is no guessing and no false alarm. A
//! write that failed may be present, wholly or in part, until a later one is acknowledged.
//!
//! Invariant: a cell's acknowledged generation never falls, unless it is forgotten.

use std::collections::BTreeMap;

use super::findings::Demand;

/// The state of all cells of a target.
#[derive(Clone, Debug)]
pub struct Ledger {
    cell_bytes: u64,
    acknowledged: Vec<u64>,
    possible: BTreeMap<u64, Vec<u64>>,
    /// Requests that touch a cell now: readers, or -1 for a writer.
    busy: BTreeMap<u64, i32>,
    last_generation: u64,
}

impl Ledger {
    /// Return the ledger of a target of `target_bytes` of which nothing is known.
    ///
    /// Memory: 8 B a cell.
    pub fn new(target_bytes: u64, cell_bytes: u64) -> Self {
        let count = usize::try_from(target_bytes / cell_bytes).unwrap_or(usize::MAX);
        Self {
            cell_bytes,
            acknowledged: vec![0; count],
            possible: BTreeMap::new(),
            busy: BTreeMap::new(),
            last_generation: 0,
        }
    }

    /// Return the number of the last write that has begun.
    pub const fn last_generation(&self) -> u64 {
        self.last_generation
    }

    /// Return whether a request for these bytes may begin now.
    pub fn is_free(&self, offset: u64, length: u64, is_write: bool) -> bool {
        self.busy.is_empty()
            || self
                .cells(offset, length)
                .all(|cell| match self.busy.get(&cell) {
                    None => true,
                    Some(&readers) => !is_write && readers > 0,
                })
    }

    /// A read of these bytes begins.
    ///
    /// # Panics
    ///
    /// If it may not begin.
    pub fn begin_read(&mut self, offset: u64, length: u64) {
        assert!(
            self.is_free(offset, length, false),
            "a read at {offset} begins while its cells are written"
        );
        for cell in self.cells(offset, length) {
            *self.busy.entry(cell).or_insert(0) += 1;
        }
    }

    /// A read of these bytes is over.
    ///
    /// # Panics
    ///
    /// If none had begun.
    pub fn end_read(&mut self, offset: u64, length: u64) {
        for cell in self.cells(offset, length) {
            let readers = self
                .busy
                .get_mut(&cell)
                .expect("a read that ends has begun");
            *readers -= 1;
            if *readers == 0 {
                self.busy.remove(&cell);
            }
        }
    }

    /// A write of these bytes begins; return its generation.
    ///
    /// # Panics
    ///
    /// If it may not begin.
    pub fn begin_write(&mut self, offset: u64, length: u64) -> u64 {
        assert!(
            self.is_free(offset, length, true),
            "a write at {offset} begins while its cells are in use"
        );
        for cell in self.cells(offset, length) {
            self.busy.insert(cell, -1);
        }
        self.last_generation += 1;
        self.last_generation
    }

    /// The write `generation` of these bytes is over; it may be there in part if it failed.
    pub fn end_write(&mut self, offset: u64, length: u64, generation: u64, is_acknowledged: bool) {
        for cell in self.cells(offset, length) {
            self.busy.remove(&cell);
            if is_acknowledged {
                self.acknowledged[index(cell)] = generation;
                self.possible.remove(&cell);
            } else {
                self.possible.entry(cell).or_default().push(generation);
            }
        }
    }

    /// These bytes are now unknown; all their users have ended.
    pub fn forget(&mut self, offset: u64, length: u64) {
        for cell in self.cells(offset, length) {
            self.busy.remove(&cell);
            self.possible.remove(&cell);
            self.acknowledged[index(cell)] = 0;
        }
    }

    /// Return the demand on each cell of these bytes in the run `run`.
    pub fn demands(&self, run: u64, offset: u64, length: u64) -> impl Iterator<Item = Demand<'_>> {
        self.cells(offset, length).map(move |cell| Demand {
            run,
            offset: cell * self.cell_bytes,
            generation: self.acknowledged[index(cell)],
            possible: self.possible.get(&cell).map_or(&[], Vec::as_slice),
        })
    }

    /// Return the extents (offset and length, B) of which something is known, by offset.
    pub fn known(&self) -> Vec<(u64, u64)> {
        let mut extents: Vec<(u64, u64)> = Vec::new();
        let known = self
            .acknowledged
            .iter()
            .zip(0_u64..)
            .filter(|one| *one.0 != 0);
        for (_, cell) in known {
            let offset = cell * self.cell_bytes;
            match extents.last_mut() {
                Some((from, length)) if *from + *length == offset => *length += self.cell_bytes,
                _ => extents.push((offset, self.cell_bytes)),
            }
        }
        extents
    }

    /// Return the cells that these bytes touch.
    fn cells(&self, offset: u64, length: u64) -> std::ops::Range<u64> {
        offset / self.cell_bytes..(offset + length).div_ceil(self.cell_bytes)
    }
}

fn index(cell: u64) -> usize {
    usize::try_from(cell).expect("cells of a target in memory have an index")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generations(ledger: &Ledger) -> Vec<u64> {
        ledger
            .demands(1, 0, 4 * 512)
            .map(|demand| demand.generation)
            .collect()
    }

    #[test]
    fn writes_of_a_cell_exclude_each_other_and_reads() {
        let mut ledger = Ledger::new(4 * 512, 512);
        let first = ledger.begin_write(512, 1024);
        assert!(!ledger.is_free(1024, 512, true));
        assert!(!ledger.is_free(0, 1024, false));
        assert!(ledger.is_free(0, 512, true));
        ledger.end_write(512, 1024, first, true);
        assert_eq!(generations(&ledger), [0, 1, 1, 0]);
        assert_eq!(ledger.known(), [(512, 1024)]);
        ledger.begin_read(0, 2048);
        assert!(ledger.is_free(512, 512, false));
        assert!(!ledger.is_free(512, 512, true));
        ledger.end_read(0, 2048);
        assert!(ledger.is_free(0, 2048, true));
    }

    #[test]
    fn a_failed_write_is_possible_until_a_later_one_is_acknowledged() {
        let mut ledger = Ledger::new(4 * 512, 512);
        for is_acknowledged in [true, false, false] {
            let generation = ledger.begin_write(0, 512);
            ledger.end_write(0, 512, generation, is_acknowledged);
        }
        let possible = |ledger: &Ledger| -> Vec<u64> {
            ledger
                .demands(1, 0, 512)
                .flat_map(|demand| demand.possible.to_vec())
                .collect()
        };
        assert_eq!(
            (generations(&ledger)[0], possible(&ledger)),
            (1, vec![2, 3])
        );
        let generation = ledger.begin_write(0, 512);
        ledger.end_write(0, 512, generation, true);
        assert_eq!((generations(&ledger)[0], possible(&ledger)), (4, vec![]));
    }

    #[test]
    #[should_panic(expected = "begins while its cells are in use")]
    fn two_writes_of_a_cell_at_once_are_a_bug() {
        let mut ledger = Ledger::new(4096, 512);
        ledger.begin_write(0, 512);
        ledger.begin_write(0, 4096);
    }
}
