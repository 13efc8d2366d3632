//! The data that a target must hold after a crash, according to the log of the run.
//!
//! For each cell, the log records the writes that were begun and those that were acknowledged.
//! After the death of the writing process, every acknowledged write must be present. After a loss
//! of power, the writes covered by a later acknowledged flush must be present, namely those
//! acknowledged before the flush began. Writes that began later may also be present, wholly or in
//! part.

use std::collections::BTreeMap;

use super::findings::Demand;
use super::log::{Entry, Extent, Head};
use super::stamp::Origin;

/// The promise that a target must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Whatever was acknowledged: the writing process died, the target did not.
    Acknowledged,
    /// Whatever was acknowledged before a flush that was acknowledged too: the power went.
    Flushed,
}

/// Facts about the cells that a run has written.
#[derive(Clone, Debug)]
pub struct History {
    head: Head,
    cells: BTreeMap<u64, Cell>,
    last_generation: u64,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    demanded: u64,
    possible: Vec<u64>,
}

impl History {
    /// Return the demands of `entries` under `promise`.
    pub fn new(head: Head, entries: &[Entry], promise: Promise) -> Self {
        let covered = match promise {
            Promise::Acknowledged => entries.len(),
            Promise::Flushed => covered(entries),
        };
        let mut history = Self {
            head,
            cells: BTreeMap::new(),
            last_generation: 0,
        };
        for (place, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Write(extent) => history.begin(*extent),
                Entry::Written(extent) if place < covered => history.demand(*extent),
                Entry::Unknown(extent) => history.forget(*extent),
                _ => {}
            }
        }
        history
    }

    /// Return the bytes of a cell.
    pub const fn cell_bytes(&self) -> u64 {
        self.head.cell_bytes
    }

    /// Return the demand on each written cell, by offset.
    pub fn demands(&self) -> impl Iterator<Item = Demand<'_>> {
        self.cells.iter().map(|(&number, cell)| Demand {
            run: self.head.run,
            offset: number * self.head.cell_bytes,
            generation: cell.demanded,
            possible: &cell.possible,
        })
    }

    /// Return whether a whole cell at `offset` was written after the last entry of the log.
    ///
    /// If the log was on its way to another machine when the power went, its end is missing.
    pub const fn is_newer(&self, found: Origin, offset: u64) -> bool {
        found.run == self.head.run
            && found.offset == offset
            && found.generation > self.last_generation
    }

    fn begin(&mut self, extent: Extent) {
        self.last_generation = self.last_generation.max(extent.generation);
        for number in self.numbers(extent) {
            let cell = self.cells.entry(number).or_default();
            cell.possible.push(extent.generation);
        }
    }

    fn demand(&mut self, extent: Extent) {
        for number in self.numbers(extent) {
            let cell = self.cells.entry(number).or_default();
            cell.demanded = cell.demanded.max(extent.generation);
            cell.possible
                .retain(|&generation| generation > extent.generation);
        }
    }

    fn forget(&mut self, extent: Extent) {
        for number in self.numbers(extent) {
            self.cells.remove(&number);
        }
    }

    const fn numbers(&self, extent: Extent) -> std::ops::Range<u64> {
        let cell_bytes = self.head.cell_bytes;
        extent.offset / cell_bytes..(extent.offset + extent.length).div_ceil(cell_bytes)
    }
}

/// Return the begin of the last acknowledged flush.
fn covered(entries: &[Entry]) -> usize {
    let mut begun = BTreeMap::new();
    let mut covered = 0;
    for (place, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Flush(number) => {
                begun.insert(number, place);
            }
            Entry::Flushed(number) => {
                covered = covered.max(begun.get(number).copied().unwrap_or(0));
            }
            _ => {}
        }
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head {
        run: 1,
        cell_bytes: 512,
        target_bytes: 4096,
    };

    const fn extent(generation: u64) -> Extent {
        Extent {
            offset: 512,
            length: 512,
            generation,
        }
    }

    fn demanded(entries: &[Entry], promise: Promise) -> (u64, Vec<u64>) {
        let history = History::new(HEAD, entries, promise);
        let demand = history.demands().next().expect("a cell was written");
        assert_eq!(demand.offset, 512);
        (demand.generation, demand.possible.to_vec())
    }

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it_began() {
        let entries = [
            Entry::Write(extent(1)),
            Entry::Written(extent(1)),
            Entry::Flush(1),
            Entry::Write(extent(2)),
            Entry::Written(extent(2)),
            Entry::Flushed(1),
            Entry::Write(extent(3)),
        ];
        assert_eq!(demanded(&entries, Promise::Flushed), (1, vec![2, 3]));
        assert_eq!(demanded(&entries, Promise::Acknowledged), (2, vec![3]));
        assert_eq!(demanded(&entries[..5], Promise::Flushed), (0, vec![1, 2]));
    }

    #[test]
    fn a_write_after_the_end_of_the_log_is_known_as_newer() {
        let entries = [Entry::Write(extent(1)), Entry::Write(extent(2))];
        let history = History::new(HEAD, &entries, Promise::Acknowledged);
        let found = |run, generation| Origin {
            run,
            offset: 512,
            generation,
        };
        assert!(history.is_newer(found(1, 3), 512));
        assert!(!history.is_newer(found(1, 2), 512), "the log has it");
        assert!(!history.is_newer(found(2, 3), 512), "another run");
        assert!(!history.is_newer(found(1, 3), 1024), "another place");
    }

    #[test]
    fn of_what_was_done_otherwise_nothing_is_demanded() {
        let entries = [
            Entry::Write(extent(1)),
            Entry::Written(extent(1)),
            Entry::Unknown(extent(0)),
        ];
        let history = History::new(HEAD, &entries, Promise::Acknowledged);
        assert_eq!(history.demands().count(), 0);
        let again = [&entries[..], &[Entry::Write(extent(2))]].concat();
        assert_eq!(demanded(&again, Promise::Acknowledged), (0, vec![2]));
    }

    #[test]
    fn of_overlapping_flushes_the_one_that_began_last_counts() {
        let entries = [
            Entry::Write(extent(1)),
            Entry::Flush(1),
            Entry::Written(extent(1)),
            Entry::Flush(2),
            Entry::Flushed(2),
        ];
        assert_eq!(demanded(&entries, Promise::Flushed), (1, vec![]));
        assert_eq!(
            demanded(
                &[&entries[..4], &[Entry::Flushed(1)]].concat(),
                Promise::Flushed
            ),
            (0, vec![1])
        );
    }
}
