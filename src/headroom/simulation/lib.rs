//! Simulation. The crate of this folder; paths are those of the whole.

#[path = "mod.rs"]
pub mod simulation;
