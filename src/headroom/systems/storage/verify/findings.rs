//! Findings: data that differ from their demanded content.

use super::stamp::{Origin, Stamp};

/// Findings kept in full; all are counted.
const KEPT_AT_MOST: usize = 100;

/// Kinds of wrong data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// An older write of the same place was found: an acknowledged write was lost.
    Lost,
    /// Parts of several writes were found, and none of them could have been torn.
    Torn,
    /// Data of another place were found.
    Misdirected,
    /// Data that no verifying run has written are at a place that one has written.
    Foreign,
    /// A write was found that was never begun.
    Unknown,
}

impl Fault {
    /// All kinds, in order.
    pub const ALL: [Self; 5] = [
        Self::Lost,
        Self::Torn,
        Self::Misdirected,
        Self::Foreign,
        Self::Unknown,
    ];

    /// Return its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Torn => "torn",
            Self::Misdirected => "misdirected",
            Self::Foreign => "foreign",
            Self::Unknown => "unknown",
        }
    }
}

/// One wrong cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The fault.
    pub fault: Fault,
    /// First byte (B) of the cell.
    pub offset: u64,
    /// The write that had to be there.
    pub demanded: u64,
    /// The write found, if the cell identifies it.
    pub found: Option<Origin>,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Cells that were compared.
    pub cell_count: u64,
    /// Cells about which nothing is known, because this run has not written them.
    pub unknown_count: u64,
    counts: [u64; Fault::ALL.len()],
    kept: Vec<Finding>,
}

impl Findings {
    /// Return how many cells have `fault`.
    pub const fn count(&self, fault: Fault) -> u64 {
        self.counts[fault as usize]
    }

    /// Return the first findings in full.
    pub fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// Return whether everything compared is as demanded.
    pub fn is_clean(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }

    /// Compare a cell's stamp with its demanded content.
    pub fn compare(&mut self, found: Stamp, demand: Demand<'_>) {
        self.cell_count += 1;
        self.unknown_count += u64::from(demand.generation == 0);
        if let Some(fault) = judge(found, demand) {
            self.add(Finding {
                fault,
                offset: demand.offset,
                demanded: demand.generation,
                found: match found {
                    Stamp::Whole(origin) => Some(origin),
                    Stamp::Torn | Stamp::Foreign => None,
                },
            });
        }
    }

    fn add(&mut self, finding: Finding) {
        self.counts[finding.fault as usize] += 1;
        if self.kept.len() < KEPT_AT_MOST {
            self.kept.push(finding);
        }
    }
}

/// The allowed content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand<'a> {
    /// Number of the run.
    pub run: u64,
    /// First byte (B) of the cell.
    pub offset: u64,
    /// The write that must be there at least; 0 if there is none.
    pub generation: u64,
    /// Later writes that may be there instead, whole or in part: begun, and never acknowledged.
    pub possible: &'a [u64],
}

/// Judge a cell's stamp; None if it is as demanded, or nothing is known.
pub fn judge(found: Stamp, demand: Demand<'_>) -> Option<Fault> {
    let is_open = demand.generation == 0;
    match found {
        Stamp::Whole(origin) if origin.run == demand.run => {
            let is_there = origin.generation == demand.generation
                || demand.possible.contains(&origin.generation);
            match (origin.offset == demand.offset, is_there) {
                (false, _) => Some(Fault::Misdirected),
                (true, true) => None,
                (true, false) if origin.generation < demand.generation => Some(Fault::Lost),
                // Of such a cell everything was forgotten once: an older write may still be there.
                (true, false) if is_open && !is_beyond(origin.generation, demand.possible) => None,
                (true, false) => Some(Fault::Unknown),
            }
        }
        // Data of other runs may be anywhere that this one has not written.
        Stamp::Whole(_) => (!is_open).then_some(Fault::Lost),
        Stamp::Torn => (!is_open && demand.possible.is_empty()).then_some(Fault::Torn),
        Stamp::Foreign => (!is_open && demand.possible.is_empty()).then_some(Fault::Foreign),
    }
}

/// Return whether `generation` is later than all that were begun, if there were any.
fn is_beyond(generation: u64, begun: &[u64]) -> bool {
    begun.iter().max().is_some_and(|&last| generation > last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(run: u64, offset: u64, generation: u64) -> Stamp {
        Stamp::Whole(Origin {
            run,
            offset,
            generation,
        })
    }

    #[test]
    fn each_kind_of_wrong_data_is_told_apart() {
        let demand = |generation, possible| Demand {
            run: 1,
            offset: 512,
            generation,
            possible,
        };
        let table: [(Stamp, Demand<'_>, Option<Fault>); 17] = [
            (origin(1, 512, 5), demand(5, &[]), None),
            (origin(1, 512, 4), demand(5, &[]), Some(Fault::Lost)),
            (origin(1, 512, 6), demand(5, &[]), Some(Fault::Unknown)),
            (origin(1, 512, 6), demand(5, &[6]), None),
            (origin(1, 512, 7), demand(5, &[6]), Some(Fault::Unknown)),
            (origin(1, 0, 5), demand(5, &[]), Some(Fault::Misdirected)),
            (origin(1, 0, 5), demand(0, &[]), Some(Fault::Misdirected)),
            (origin(9, 512, 5), demand(5, &[]), Some(Fault::Lost)),
            (origin(9, 512, 5), demand(0, &[]), None),
            (Stamp::Torn, demand(5, &[]), Some(Fault::Torn)),
            (Stamp::Torn, demand(5, &[6]), None),
            (Stamp::Torn, demand(0, &[]), None),
            (Stamp::Foreign, demand(5, &[]), Some(Fault::Foreign)),
            (Stamp::Foreign, demand(0, &[]), None),
            (origin(1, 512, 2), demand(0, &[1]), Some(Fault::Unknown)),
            (origin(1, 512, 2), demand(0, &[3]), None),
            (origin(1, 512, 2), demand(0, &[]), None),
        ];
        for (found, demand, expected) in table {
            assert_eq!(judge(found, demand), expected, "{found:?} for {demand:?}");
        }
    }

    #[test]
    fn all_are_counted_and_the_first_are_kept() {
        let mut findings = Findings::default();
        assert!(findings.is_clean());
        for offset in 0..1000 {
            findings.add(Finding {
                fault: Fault::Torn,
                offset,
                demanded: 1,
                found: None,
            });
        }
        assert!(!findings.is_clean());
        assert_eq!(findings.count(Fault::Torn), 1000);
        assert_eq!(findings.count(Fault::Lost), 0);
        assert_eq!(findings.kept().len(), KEPT_AT_MOST);
    }
}
