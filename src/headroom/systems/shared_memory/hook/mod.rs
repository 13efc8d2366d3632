//! Memory accesses of real programs: compiled with hooks, recorded or handed on while they run.
//!
//! The folder `runtime` holds the C side, which a program links instead of the runtime of its
//! thread sanitizer; `runtime/format.h` documents the trace. [`read`] hands out the events of each
//! thread as they come; [`merge`] brings those of all threads into an order that agrees with their
//! synchronisation, in bounded memory.
//!
//! Invariant: no trace, however damaged, makes a reader panic: each fault is an error with its
//! place, and a trace that ends early is reported with what is missing.

#[cfg(feature = "python")]
pub mod bindings;
mod chunks;
mod decode;
pub mod events;
pub mod format;
mod merge;
pub mod reader;
pub mod totals;

#[cfg(test)]
mod tests;

pub use self::events::{Access, Event, Events, Kind};
pub use self::merge::{Pace, merge};
pub use self::reader::{Report, TraceError, read};
