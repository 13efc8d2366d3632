//! Backends: how requests are carried out, and how time passes meanwhile.
//!
//! A backend holds some slots, called places; each carries one operation at a time. The driver puts
//! operations into places and then takes a turn, which begins them and waits. The backend supplies
//! the time: a native one reads the machine's clock, a scripted one may jump from event to event,
//! so that it reports exactly what its script says.

use super::error::EngineError;
use crate::systems::storage::workloads::request::Kind;

/// One operation on one file of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What to do.
    pub kind: Kind,
    /// Index of the file.
    pub file: u32,
    /// First byte (B) from the start of the file.
    pub offset: u64,
    /// Length (B); 0 for syncs.
    pub length: u32,
    /// Start (B) of the data in the buffer of the place.
    pub at: u32,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Place that carried it.
    pub place: u32,
    /// Bytes moved (B), 0 for what moves none, or the error number, negative.
    pub result: i32,
    /// When it was known (ns) since the start of the run; at or after the turn that began it.
    pub done_ns: u64,
}

/// A carrier of operations.
///
/// Invariant: time never goes back; each operation completes exactly once.
pub trait Backend {
    /// Let the time of the run begin.
    fn start(&mut self) {}

    /// Return the time (ns) since the start of the run.
    fn now_ns(&mut self) -> u64;

    /// Return the buffer of `place`; called for places that carry nothing only.
    fn buffer(&mut self, place: u32) -> &mut [u8];

    /// Put `operation` into `place`; it begins with the next turn.
    fn push(&mut self, place: u32, operation: Operation);

    /// Begin the pushed operations, then wait until something is complete or until `until_ns`, if
    /// that is given; append completed operations to `done`. A backend may return early with
    /// nothing.
    ///
    /// # Errors
    ///
    /// If the interface itself broke; errors of operations are their results.
    fn turn(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;

    /// Return how many system calls were made.
    fn call_count(&self) -> u64 {
        0
    }
}
