//! The engine: events, execution of programs, and the result of a run.

pub(in crate::simulation::kernel) mod amounts;
pub(in crate::simulation::kernel) mod bounded;
pub(in crate::simulation::kernel) mod changes;
pub mod deadlock;
pub mod engine;
pub(in crate::simulation::kernel) mod giving_up;
pub mod holdings;
pub mod invariants;
pub(in crate::simulation::kernel) mod leaving;
pub(in crate::simulation::kernel) mod plain;
#[cfg(test)]
pub(in crate::simulation::kernel) mod random_models;
pub mod recorder;
pub mod result;
#[cfg(test)]
mod same_bits;
pub(in crate::simulation::kernel) mod service;
pub(in crate::simulation::kernel) mod walk;
