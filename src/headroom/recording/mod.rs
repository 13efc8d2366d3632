//! Needs of every measured system: a clock, a load driver, threads, and records of times.
//!
//! Invariant: nothing here knows what is measured; a system brings its operations.

pub mod clock;
pub mod crew;
pub mod lanes;
pub mod launching;
pub mod load;
pub mod silence;
pub mod slices;
pub mod spans;
pub mod tally;
