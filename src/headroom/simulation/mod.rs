//! Simulation: a model is data, built in Python and run by the kernel.

pub mod kernel;
pub mod layer;
#[cfg(feature = "python")]
pub mod python;
