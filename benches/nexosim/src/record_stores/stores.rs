//! What every store can do, and the stores that take part.

use headroom::memory::probe::buffer::Pages;
use headroom::systems::records::store::operation::{Retrieve, Sum};
use headroom::systems::records::store::table::Table;
use headroom::systems::records::store::touch::Silent;

use crate::{Asked, peers, shapes};

/// Words of 4 bytes of a record, the first of them its number.
pub const RECORD_WORDS: usize = 16;
/// A record of 64 bytes.
pub type Record = [u32; RECORD_WORDS];

/// A store of records.
pub trait Store {
    /// Return its name.
    fn name(&self) -> String;
    /// Add records that are not there; return how many.
    fn insert(&mut self, records: &[Record]) -> u64;
    /// Copy the record of each number out; return how many there were.
    fn look_up(&self, keys: &[u32]) -> u64;
    /// Copy all records out in the order of their numbers; return how many there were.
    fn scan(&self) -> u64;
    /// Sum a field of all records in whatever order; None if the store keeps one order only.
    fn sum(&self) -> Option<u64> {
        None
    }
}

/// Return the stores that were asked for: shapes of the record store, then its peers.
pub fn all(asked: &Asked) -> Vec<Box<dyn Store>> {
    let mut stores: Vec<Box<dyn Store>> = Vec::new();
    for shape in &asked.shapes {
        stores.push(Box::new(Ours::new(shape, asked.records, asked.pages)));
    }
    for (name, make) in peers::ALL {
        if asked.only.is_empty() || asked.only.iter().any(|one| one == name) {
            stores.push(make(&asked.folder));
        }
    }
    stores
}

/// The record store of a shape.
struct Ours {
    name: String,
    table: Table,
    batch: usize,
    ahead: usize,
}

impl Ours {
    fn new(shape: &str, records: usize, pages: Pages) -> Self {
        let (spec, batch, ahead) = shapes::read(shape, records as u64, pages);
        let table = Table::new(spec).expect("memory");
        Self {
            name: format!("headroom {shape}"),
            table,
            batch,
            ahead,
        }
    }
}

impl Store for Ours {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn insert(&mut self, records: &[Record]) -> u64 {
        for record in records {
            let is_new = self.table.insert(record, &mut Silent).expect("room");
            assert!(is_new, "each number once");
        }
        records.len() as u64
    }

    fn look_up(&self, keys: &[u32]) -> u64 {
        let mut user = Retrieve::new(self.table.spec().stride_bytes(), 1);
        self.table.look_up(keys, self.batch, &mut user, &mut Silent)
    }

    fn scan(&self) -> u64 {
        let mut user = Retrieve::new(self.table.spec().stride_bytes(), 1);
        self.table
            .scan_index(0, self.table.len(), self.ahead, &mut user, &mut Silent);
        self.table.len()
    }

    fn sum(&self) -> Option<u64> {
        let mut sum = Sum::default();
        self.table
            .scan_physical(0.0, self.table.len(), &mut sum, &mut Silent);
        Some(sum.total)
    }
}
