//! Operations, the streams that they come in, and classes of them.

use std::fmt::Debug;

/// Something that a system is asked to do once.
pub trait Operation: Copy + Debug + Send + 'static {
    /// Any operation, for places that carry none yet.
    const BLANK: Self;

    /// Return the number of its kind, from 0.
    fn kind(&self) -> usize;

    /// Return the bytes (B) that it moves if it succeeds.
    fn bytes(&self) -> u32;

    /// Return when it is due (ns) since the start of the run; None: as soon as a place is free.
    fn due_ns(&self) -> Option<u64>;
}

/// A stream of operations, as reports name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Name, its own within the load.
    pub name: String,
    /// Operations that may be outstanding at once, >= 1; [`u32::MAX`] means no limit.
    pub depth: u32,
}

/// Streams of operations.
///
/// Invariant: the operations of a stream never depend on when they are requested; due times of a
/// stream never fall.
pub trait Source: Send {
    /// What the streams consist of.
    type Operation: Operation;

    /// The streams; a stream is known by its index here.
    fn streams(&self) -> &[Stream];

    /// Append the next `count` >= 1 operations of `stream` to `operations`: fewer if the stream has
    /// ended, or after one with a due time, whose successors are not read before it is due.
    fn fill(&mut self, stream: usize, count: usize, operations: &mut Vec<Self::Operation>);

    /// Return how long after its due time (ns) an operation of `stream` must be complete; otherwise
    /// it is a defect. None: there is no such limit.
    fn allowance_ns(&self, _stream: usize) -> Option<u64> {
        None
    }

    /// Return whether `stream` is a user who thinks before each operation; then its depth is 1, and
    /// its operations have no due times.
    fn thinks(&self, _stream: usize) -> bool {
        false
    }

    /// Return how long (ns) the user of `stream` thinks before the operation that it provided last
    /// arrives; the time counts from the end of the one before, or from the start of the run.
    fn think_ns(&mut self, _stream: usize) -> u64 {
        0
    }
}

/// The class of each operation, by which all results are broken down.
#[derive(Clone, Debug)]
pub struct Classes {
    names: Vec<String>,
    /// Class by stream and kind.
    table: Vec<u32>,
    kind_count: usize,
}

impl Classes {
    /// Return classes with `names`; `table` has the class of each of `kind_count` kinds, stream by
    /// stream.
    pub const fn new(names: Vec<String>, table: Vec<u32>, kind_count: usize) -> Self {
        Self {
            names,
            table,
            kind_count,
        }
    }

    /// Return the class of an operation of `kind` in `stream`.
    #[inline]
    pub fn of(&self, stream: usize, kind: usize) -> u32 {
        self.table[stream * self.kind_count + kind]
    }

    /// Return the names of all classes, also of those without an operation.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
