//! Cells of the experiment: what is done to a table, the same when it is timed and when simulated.

use rand::RngExt;
use serde::Deserialize;

use super::store::StoreError;
use super::store::operation::{Operation, Retrieve, Sum};
use super::store::spec::Spec;
use super::store::table::{Table, fill};
use super::store::touch::{Silent, Touch};
use crate::simulation::kernel::random::stream::{self, Stream};

const KEY_OF_ORDER: u64 = 0x006f_7264_6572;
const KEY_OF_CELLS: u64 = 0x0063_656c_6c73;

/// Order in which the records come into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Insertion {
    /// In the order of their numbers.
    Ascending,
    /// In random order.
    Random,
}

/// How records are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In physical order.
    PhySeq,
    /// In the order of the index.
    IdxSeq,
    /// At random, by the index.
    IdxRan,
    /// Random records are overwritten.
    Update,
    /// Random records are removed.
    Delete,
    /// Removed records are inserted again.
    Insert,
}

/// Treatment of a record by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// The user gets a copy.
    Retrieve,
    /// A field is added up.
    Sum,
}

/// A cell.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// How records are visited.
    pub mode: Mode,
    /// Treatment of each record.
    pub operation: Use,
    /// Share of the table that a scan visits, that updates, deletes and inserts change, and that is
    /// looked up at random; above 0, at most 1.
    pub share: f64,
    /// Scans of a run, each from a place of its own; at least 1.
    #[serde(default = "one")]
    pub scans: u64,
    /// Look-ups at once.
    pub batch: usize,
    /// Records or nodes that a scan of the index asks for ahead; 0: none.
    pub ahead: usize,
    /// Fewest look-ups of a run at random.
    pub lookups: u64,
    /// Most look-ups of a run at random.
    #[serde(default = "unlimited")]
    pub most_lookups: u64,
    /// Whether the user keeps all retrieved records, side by side.
    pub keeps_all: bool,
    /// Whether scans begin at the first record, instead of a random one.
    pub from_first: bool,
}

impl Cell {
    /// Return the cell with at most `most` visits of a table with `count` records.
    #[must_use]
    pub fn at_most(self, most: u64, count: u64) -> Self {
        Self {
            share: self.share.min(most as f64 / count as f64),
            most_lookups: self.most_lookups.min(most),
            ..self
        }
    }
}

const fn one() -> u64 {
    1
}

const fn unlimited() -> u64 {
    u64::MAX
}

/// A table with records 0 to `count` - 1.
#[derive(Debug)]
pub struct Loaded {
    /// The table.
    pub table: Table,
    /// Its records.
    pub count: u64,
    order: Vec<u32>,
}

impl Loaded {
    /// Fill a table.
    ///
    /// # Errors
    ///
    /// The table cannot be, or there is no memory.
    pub fn new(spec: Spec, insertion: Insertion, is_grown: bool) -> Result<Self, StoreError> {
        let mut table = Table::new(spec)?;
        let mut order: Vec<u32> = (0..spec.capacity as u32).collect();
        shuffle(&mut order, &mut stream::open(spec.seed, KEY_OF_ORDER));
        match insertion {
            Insertion::Random => table.load(&order, is_grown)?,
            Insertion::Ascending => {
                let ascending: Vec<u32> = (0..spec.capacity as u32).collect();
                table.load(&ascending, is_grown)?;
            }
        }
        Ok(Self {
            table,
            count: spec.capacity,
            order,
        })
    }
}

/// Bring numbers into random order (Fisher and Yates).
fn shuffle(numbers: &mut [u32], random: &mut Stream) {
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, random.random_range(0..=place));
    }
}

/// Random choices of the runs of a cell, drawn before they are timed.
#[derive(Debug)]
pub struct Runner {
    cell: Cell,
    random: Stream,
    /// Numbers that are looked up or changed in the next run.
    keys: Vec<u32>,
    /// Where the scans of the next run begin, as shares of the table.
    starts: Vec<f64>,
    retrieve: Retrieve,
    sum: Sum,
    record: Vec<u32>,
    /// Place in the random order at which the next changes begin.
    next: usize,
}

impl Runner {
    /// Return a runner of a cell.
    pub fn new(cell: Cell, loaded: &Loaded, seed: u64) -> Self {
        let spec = loaded.table.spec();
        let keeps = if cell.keeps_all {
            Self::visits_of(&cell, loaded.count)
        } else {
            1
        };
        Self {
            cell,
            random: stream::open(seed, KEY_OF_CELLS),
            keys: Vec::new(),
            starts: Vec::new(),
            retrieve: Retrieve::new(spec.stride_bytes(), keeps as usize),
            sum: Sum::default(),
            record: vec![0; (spec.stride_bytes() / 4) as usize],
            next: 0,
        }
    }

    /// Return how many records a run visits.
    pub const fn visits(&self, loaded: &Loaded) -> u64 {
        Self::visits_of(&self.cell, loaded.count)
    }

    const fn visits_of(cell: &Cell, count: u64) -> u64 {
        let share = (cell.share * count as f64) as u64;
        let share = if share == 0 { 1 } else { share };
        match cell.mode {
            Mode::IdxRan => {
                let wanted = if cell.lookups > share {
                    cell.lookups
                } else {
                    share
                };
                if wanted > cell.most_lookups {
                    cell.most_lookups
                } else {
                    wanted
                }
            }
            Mode::PhySeq | Mode::IdxSeq => cell.scans * share,
            _ => share,
        }
    }

    /// Draw the choices of the next run, and undo the changes of the last one.
    pub fn prepare(&mut self, loaded: &mut Loaded) {
        self.retrieve.restart();
        self.starts.clear();
        for _ in 0..self.cell.scans {
            let start = if self.cell.from_first {
                0.0
            } else {
                self.random.random::<f64>()
            };
            self.starts.push(start);
        }
        let visits = self.visits(loaded) as usize;
        match self.cell.mode {
            Mode::PhySeq | Mode::IdxSeq => {}
            Mode::IdxRan => {
                let count = loaded.count as u32;
                let random = &mut self.random;
                self.keys.clear();
                self.keys
                    .extend((0..visits).map(|_| random.random_range(0..count)));
            }
            Mode::Update | Mode::Delete | Mode::Insert => {
                self.restore(loaded);
                let all = loaded.order.len();
                self.keys.clear();
                let chosen = (0..visits).map(|number| loaded.order[(self.next + number) % all]);
                self.keys.extend(chosen);
                self.next = (self.next + visits) % all;
                if self.cell.mode == Mode::Insert {
                    for &key in &self.keys {
                        loaded.table.remove(key, &mut Silent);
                    }
                    // Other places than before: the order of the free ones would tell.
                    shuffle(&mut self.keys, &mut self.random);
                }
            }
        }
    }

    /// Leave the table as it was.
    pub fn finish(&mut self, loaded: &mut Loaded) {
        if matches!(self.cell.mode, Mode::Delete | Mode::Insert) {
            self.restore(loaded);
        }
    }

    /// Insert again what was removed.
    fn restore(&mut self, loaded: &mut Loaded) {
        for &key in &self.keys {
            fill(&mut self.record, key);
            let back = loaded.table.insert(&self.record, &mut Silent);
            debug_assert!(back.is_ok());
        }
    }

    /// Do what was prepared.
    ///
    /// # Errors
    ///
    /// An insertion finds no room.
    pub fn run(&mut self, loaded: &mut Loaded, touch: &mut impl Touch) -> Result<(), StoreError> {
        let table = &mut loaded.table;
        match self.cell.mode {
            Mode::Update => {
                for &key in &self.keys {
                    fill(&mut self.record, key);
                    table.update(key, 1, &self.record[1..], touch);
                }
            }
            Mode::Delete => {
                for &key in &self.keys {
                    table.remove(key, touch);
                }
            }
            Mode::Insert => {
                for &key in &self.keys {
                    fill(&mut self.record, key);
                    table.insert(&self.record, touch)?;
                }
            }
            Mode::PhySeq | Mode::IdxSeq | Mode::IdxRan => match self.cell.operation {
                Use::Retrieve => {
                    let mut retrieve = std::mem::take(&mut self.retrieve);
                    self.visit(loaded, &mut retrieve, touch);
                    self.retrieve = retrieve;
                }
                Use::Sum => {
                    let mut sum = self.sum;
                    self.visit(loaded, &mut sum, touch);
                    self.sum = sum;
                }
            },
        }
        std::hint::black_box((&self.sum, self.retrieve.user()));
        Ok(())
    }

    fn visit<T: Touch>(&self, loaded: &Loaded, operation: &mut impl Operation, touch: &mut T) {
        let table = &loaded.table;
        if self.cell.mode == Mode::IdxRan {
            look_up(table, &self.keys, self.cell.batch, operation, touch);
            return;
        }
        let each = self.visits(loaded) / self.starts.len() as u64;
        for &start in &self.starts {
            if self.cell.mode == Mode::PhySeq {
                table.scan_physical(start, each, operation, touch);
            } else {
                let key = (start * loaded.count as f64) as u32;
                table.scan_index(key, each, self.cell.ahead, operation, touch);
            }
        }
    }
}

/// Look up keys; a watched look-up follows an unwatched one, whose misses overlap.
fn look_up<T: Touch>(
    table: &Table,
    keys: &[u32],
    batch: usize,
    operation: &mut impl Operation,
    touch: &mut T,
) {
    if T::AHEAD == 0 {
        table.look_up(keys, batch, operation, touch);
        return;
    }
    for keys in keys.chunks(T::AHEAD.next_multiple_of(batch)) {
        table.look_up(keys, T::AHEAD, &mut Sum::default(), &mut Silent);
        table.look_up(keys, batch, operation, touch);
    }
}
