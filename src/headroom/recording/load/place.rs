//! Streams and places: the state of an operation between its arrival and its end.

use std::collections::VecDeque;

use super::operation::Operation;

/// An operation that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<O> {
    pub at_ns: u64,
    pub operation: O,
}

/// A stream of the workload.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by itself"
)]
pub(super) struct StreamState<O> {
    pub depth: u32,
    pub outstanding: u32,
    /// Until when (ns) it had as many outstanding as it may have.
    pub full_until_ns: u64,
    /// Next operation, if it has a due time or follows a think time, and that has not come.
    pub head: Option<O>,
    pub waiting: VecDeque<Arrival<O>>,
    pub is_listed: bool,
    pub has_ended: bool,
    /// Whether its last operation had a due time.
    pub is_timed: bool,
    /// Whether its user thinks before each operation.
    pub thinks: bool,
    /// Whether one of its operations has ended since streams last provided more.
    pub has_room: bool,
    /// How long (ns) after its due time an operation may end.
    pub allowance_ns: Option<u64>,
}

impl<O> StreamState<O> {
    pub const fn new(depth: u32, allowance_ns: Option<u64>, thinks: bool) -> Self {
        Self {
            depth,
            outstanding: 0,
            full_until_ns: 0,
            head: None,
            waiting: VecDeque::new(),
            is_listed: false,
            has_ended: false,
            is_timed: false,
            thinks,
            has_room: false,
            allowance_ns,
        }
    }
}

/// A place, and the operation that it carries: one line of the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<O> {
    pub operation: O,
    pub arrived_ns: u64,
    pub begun_ns: u64,
    pub stream: u32,
    pub class: u32,
    pub done: u32,
    pub is_taken: bool,
}

impl<O: Operation> Place<O> {
    /// A place without an operation.
    pub const FREE: Self = Self {
        operation: O::BLANK,
        arrived_ns: 0,
        begun_ns: 0,
        stream: 0,
        class: 0,
        done: 0,
        is_taken: false,
    };
}
