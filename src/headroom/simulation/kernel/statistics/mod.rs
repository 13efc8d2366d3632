//! Statistics of a run: cumulative sums, histograms, intervals.

pub mod classes;
pub mod histogram;
pub mod intervals;
pub mod series;
pub mod snapshots;
pub mod waits;
