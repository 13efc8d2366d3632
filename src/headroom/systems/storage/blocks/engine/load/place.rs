//! Streams and places: the state of a request between its arrival and its end.

use std::collections::VecDeque;

use crate::systems::storage::workloads::request::{Kind, Request};

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub at_ns: u64,
    pub request: Request,
}

/// A stream of the workload.
#[derive(Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by itself"
)]
pub(super) struct StreamState {
    pub depth: u32,
    pub outstanding: u32,
    /// Until when (ns) it had as many outstanding as it may have.
    pub full_until_ns: u64,
    /// Next request, if it has a due time that has not come.
    pub head: Option<Request>,
    pub waiting: VecDeque<Arrival>,
    pub is_listed: bool,
    pub has_ended: bool,
    /// Whether its last request had a due time.
    pub is_timed: bool,
    /// Whether one of its requests has ended since streams last provided more.
    pub has_room: bool,
    pub unsynced_count: u64,
    /// How long (ns) after its due time a request may end.
    pub allowance_ns: Option<u64>,
}

/// A place, and the request that it carries: one line of the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub request: Request,
    pub arrived_ns: u64,
    pub begun_ns: u64,
    pub stream: u32,
    pub class: u32,
    pub done: u32,
    pub is_taken: bool,
}

impl Place {
    /// A place without a request.
    pub const FREE: Self = Self {
        request: Request {
            kind: Kind::Read,
            offset: 0,
            length: 0,
            due_ns: None,
        },
        arrived_ns: 0,
        begun_ns: 0,
        stream: 0,
        class: 0,
        done: 0,
        is_taken: false,
    };
}

/// The next step of a place after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The request has succeeded; the place is free.
    Done,
    /// The request has failed with an error number, 0 for the end of the file; the place is free.
    Failed(i32),
    /// The rest of the request is still to be done.
    Rest,
}
