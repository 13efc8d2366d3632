//! Memory of a machine: caches and TLBs that are simulated, and the probe of a real one.
//!
//! It lies below the layers that need it: records in memory and shared memory.

pub mod caches;
pub mod probe;
#[cfg(feature = "python")]
mod python;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
pub mod stack_distance;
pub mod streams;
pub mod sweep;

#[cfg(feature = "python")]
pub use {
    probe::python::readings,
    python::{counts, register},
};
