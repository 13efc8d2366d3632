//! The operations of the benchmark, in order, without a file system.
//!
//! There are three phases: files are created; transactions are performed, each a read or an append
//! and then a create or a delete; the remaining files are deleted. The executor and models of
//! devices perform the same operations.
//!
//! Invariant: the operations are a function of (parameters, seed, thread); each is legal if all
//! before it were done; each file that is created is deleted. Each parameter's choices have their
//! own random numbers, so that another read bias meets the same sizes.
//!
//! Sources: Katcher (1997), *`PostMark`: a new file system benchmark*, technical report TR-3022; the
//! bounds of sizes, the order within a transaction and what happens to full files as the original
//! program (1.51) shows them when it is run.

use std::collections::VecDeque;

use rand::RngExt;

use super::parameters::{AtFull, Parameters};
use super::pool::{File, Pool};
use crate::simulation::kernel::random::stream::{self, Stream};

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The pool is filled.
    Creation,
    /// Transactions are done.
    Transactions,
    /// The pool is emptied.
    Deletion,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 3] = [Self::Creation, Self::Transactions, Self::Deletion];
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Make a new file of a size.
    Create,
    /// Read a whole file.
    Read,
    /// Write beyond the end of a file.
    Append,
    /// Delete a file.
    Delete,
    /// Nothing: a transaction whose files, or whose pool, were full.
    Nothing,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its phase.
    pub phase: Phase,
    /// Its kind.
    pub kind: Kind,
    /// Number of the file, never given twice in a run of a thread.
    pub file: u64,
    /// Place of the file: below twice the files, given again when the file is deleted.
    pub slot: u64,
    /// Subfolder of the file, 0 if there are none.
    pub subdirectory: u32,
    /// Its start in the file (B): the size before an append, else 0.
    pub offset: u64,
    /// Bytes that it reads or writes; for a delete the size of the file.
    pub bytes: u64,
    /// True for the last operation of a transaction.
    pub ends_transaction: bool,
}

/// Requested operations that could not be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Appends that met a full file.
    pub full_append_count: u64,
    /// Creates that met a full pool.
    pub full_create_count: u64,
    /// True if a transaction needed a file and none was left: the transactions ended there.
    pub is_out_of_files: bool,
}

/// Random numbers, one source for each thing that is chosen.
#[derive(Clone, Debug)]
struct Streams {
    read: Stream,
    create: Stream,
    file: Stream,
    size: Stream,
    growth: Stream,
    place: Stream,
}

impl Streams {
    fn open(seed: u64, thread: u64) -> Self {
        let open = |key: u64| stream::open(seed, stream::mix(thread).wrapping_add(key));
        Self {
            read: open(1),
            create: open(2),
            file: open(3),
            size: open(4),
            growth: open(5),
            place: open(6),
        }
    }
}

/// The operations of one thread.
#[derive(Clone, Debug)]
pub struct Operations {
    parameters: Parameters,
    streams: Streams,
    pool: Pool,
    created_count: u64,
    transaction_count: u64,
    is_deleting: bool,
    pending: VecDeque<Operation>,
    undone: Undone,
}

impl Operations {
    /// Return the operations of `thread` in a run with `seed`.
    pub fn new(parameters: Parameters, seed: u64, thread: u64) -> Self {
        Self {
            streams: Streams::open(seed, thread),
            pool: Pool::new(parameters.files_limit(), parameters.size_high_bytes),
            parameters,
            created_count: 0,
            transaction_count: 0,
            is_deleting: false,
            pending: VecDeque::with_capacity(2),
            undone: Undone::default(),
        }
    }

    /// The files that exist after the operations so far.
    pub fn files(&self) -> &[File] {
        self.pool.files()
    }

    /// Operations that could not be done so far.
    pub fn undone(&self) -> Undone {
        self.undone
    }

    /// True if files are spread over subfolders.
    pub fn is_spread(&self) -> bool {
        self.parameters.subdirectories > 0
    }

    /// Transactions begun so far.
    pub fn transaction_count(&self) -> u64 {
        self.transaction_count
    }

    /// Return the next operation of `phase`, None if the phase is over.
    pub fn next_of(&mut self, phase: Phase) -> Option<Operation> {
        match phase {
            Phase::Creation => self.next_creation(),
            Phase::Transactions => self.next_of_transactions(),
            Phase::Deletion => self.next_deletion(),
        }
    }

    fn next_creation(&mut self) -> Option<Operation> {
        if self.created_count == self.parameters.files {
            return None;
        }
        self.created_count += 1;
        Some(self.create(Phase::Creation))
    }

    fn next_of_transactions(&mut self) -> Option<Operation> {
        if let Some(operation) = self.pending.pop_front() {
            return Some(operation);
        }
        let is_over = self.transaction_count == self.parameters.transactions;
        if is_over || self.is_deleting || self.undone.is_out_of_files {
            return None;
        }
        self.begin_transaction()
    }

    fn next_deletion(&mut self) -> Option<Operation> {
        if !self.is_deleting {
            self.is_deleting = true;
            self.pool.order_for_deletion();
        }
        let file = self.pool.remove_last()?;
        Some(operation_on(
            file,
            Phase::Deletion,
            Kind::Delete,
            file.bytes,
        ))
    }

    /// Draw a transaction: its operations are pending, except for the first, which is returned.
    fn begin_transaction(&mut self) -> Option<Operation> {
        let does_read = self
            .parameters
            .read_share()
            .map(|share| drawn(&mut self.streams.read, share));
        let does_create = self
            .parameters
            .create_share()
            .map(|share| drawn(&mut self.streams.create, share));
        if self.pool.files().is_empty() && (does_read.is_some() || does_create == Some(false)) {
            self.undone.is_out_of_files = true;
            return None;
        }
        self.transaction_count += 1;
        let first = match does_read {
            Some(true) => self.read(),
            Some(false) => self.append(),
            None => None,
        };
        let second = match does_create {
            Some(true) => self.create_or_not(),
            Some(false) => self.delete(),
            None => None,
        };
        self.pending.extend(first.into_iter().chain(second));
        match self.pending.back_mut() {
            Some(last) => last.ends_transaction = true,
            None => self.pending.push_back(NOTHING),
        }
        self.pending.pop_front()
    }

    fn create(&mut self, phase: Phase) -> Operation {
        let (low, high) = (
            self.parameters.size_low_bytes,
            self.parameters.size_high_bytes,
        );
        let bytes = if low < high {
            self.streams.size.random_range(low..high)
        } else {
            low
        };
        let subdirectory = match self.parameters.subdirectories {
            0 => 0,
            count => self.streams.place.random_range(0..count),
        };
        let file = self.pool.add(bytes, subdirectory);
        operation_on(file, phase, Kind::Create, bytes)
    }

    fn create_or_not(&mut self) -> Option<Operation> {
        if !self.pool.has_place() {
            self.undone.full_create_count += 1;
            return None;
        }
        Some(self.create(Phase::Transactions))
    }

    fn read(&mut self) -> Option<Operation> {
        let file = self.pool.files()[self.pool.choose(&mut self.streams.file)?];
        Some(operation_on(
            file,
            Phase::Transactions,
            Kind::Read,
            file.bytes,
        ))
    }

    fn append(&mut self) -> Option<Operation> {
        let index = match self.parameters.at_full {
            AtFull::Nothing => self.pool.choose(&mut self.streams.file),
            AtFull::Another => self.pool.choose_growing(&mut self.streams.file),
        };
        let room_of =
            |index: &usize| self.parameters.size_high_bytes - self.pool.files()[*index].bytes;
        let Some((index, room)) = index
            .map(|index| (index, room_of(&index)))
            .filter(|found| found.1 > 0)
        else {
            self.undone.full_append_count += 1;
            return None;
        };
        let bytes = self.streams.growth.random_range(1..=room);
        let before = self.pool.grow(index, bytes);
        Some(Operation {
            offset: before.bytes,
            ..operation_on(before, Phase::Transactions, Kind::Append, bytes)
        })
    }

    fn delete(&mut self) -> Option<Operation> {
        let file = self.pool.remove(self.pool.choose(&mut self.streams.file)?);
        Some(operation_on(
            file,
            Phase::Transactions,
            Kind::Delete,
            file.bytes,
        ))
    }
}

impl Iterator for Operations {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        Phase::ALL.into_iter().find_map(|phase| self.next_of(phase))
    }
}

/// A transaction that has nothing to do.
const NOTHING: Operation = Operation {
    phase: Phase::Transactions,
    kind: Kind::Nothing,
    file: 0,
    slot: 0,
    subdirectory: 0,
    offset: 0,
    bytes: 0,
    ends_transaction: true,
};

fn operation_on(file: File, phase: Phase, kind: Kind, bytes: u64) -> Operation {
    Operation {
        phase,
        kind,
        file: file.id,
        slot: file.slot,
        subdirectory: file.subdirectory,
        offset: 0,
        bytes,
        ends_transaction: false,
    }
}

/// Draw whether something of a probability happens.
fn drawn(stream: &mut Stream, probability: f64) -> bool {
    stream.random::<f64>() < probability
}

#[cfg(test)]
#[path = "operations_tests.rs"]
mod tests;
