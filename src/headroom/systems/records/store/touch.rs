//! Watchers of the store's accesses: none when it is measured, a machine when it is modelled.

/// Memory of one purpose, with addresses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Nodes of the index.
    Index,
    /// Record storage nodes.
    Nodes,
    /// The list of the record storage nodes in physical order.
    Directory,
    /// Where the user gets records.
    User,
}

/// Work of the processor apart from accesses of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Keys that were compared.
    Comparisons,
    /// Nodes of the index that were entered.
    IndexNodes,
    /// Record storage nodes that were entered.
    RecordNodes,
    /// Records that were visited.
    Records,
    /// Bytes that were copied or moved.
    CopiedBytes,
}

/// Kinds of work.
pub const WORK_COUNT: usize = 5;

/// A watcher: sees every access before it happens.
pub trait Touch {
    /// How many records ahead a watched scan asks for, unseen by the watcher: a simulation would wait
    /// for the memory of its own machine at each of them.
    const AHEAD: usize = 0;

    /// `bytes` from `offset` (B) of an area are read.
    fn read(&mut self, area: Area, offset: u64, bytes: u64);
    /// `bytes` from `offset` (B) of an area are written.
    fn write(&mut self, area: Area, offset: u64, bytes: u64);
    /// Work was done.
    fn work(&mut self, work: Work, count: u64);
}

/// No watcher: compiles to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Touch for Silent {
    #[inline]
    fn read(&mut self, _: Area, _: u64, _: u64) {}
    #[inline]
    fn write(&mut self, _: Area, _: u64, _: u64) {}
    #[inline]
    fn work(&mut self, _: Work, _: u64) {}
}
