//! What every measured system needs: time, what happened when, and how long to wait for it.
//!
//! Invariant: nothing here knows what is measured; a system brings its operations.

pub mod clock;
pub mod crew;
pub mod lanes;
pub mod load;
pub mod silence;
pub mod slices;
pub mod spans;
pub mod tally;
