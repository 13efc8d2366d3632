//! The store: record storage nodes in chosen memory, and a B+-tree over the record numbers.
//!
//! Addresses count words of 4 bytes from the base of their region, so that pointers in
//! nodes take 4 bytes, as in the paper, and a table may take 16 GiB.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "addresses and counts have 32 bits: `Spec::check` and `Region` refuse what has more"
)]

pub mod batch;
pub mod index;
mod index_check;
mod index_insertion;
mod index_removal;
pub mod nodes;
pub mod operation;
pub mod placement;
pub mod region;
mod scan;
pub mod search;
pub mod sorted;
mod sorted_change;
mod sorted_scan;
pub mod spec;
pub mod table;
mod tags;
#[cfg(test)]
mod tests;
pub mod touch;

/// Why a table cannot be made or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A size or a combination that cannot be.
    #[error("{0}")]
    Impossible(String),
    /// The memory that it was made for is exhausted.
    #[error("the table is full: it was made for {capacity} records")]
    Full {
        /// Records that it was made for.
        capacity: u64,
    },
    /// The system gives no such memory.
    #[error("{0}")]
    NoMemory(String),
}
