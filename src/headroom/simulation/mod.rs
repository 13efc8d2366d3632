//! Simulation: a model is data, built in Python and run by the kernel.

pub mod kernel;
