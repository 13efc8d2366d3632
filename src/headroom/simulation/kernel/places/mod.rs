//! Jobs, and the stations and pools where they wait.

pub(in crate::simulation::kernel) mod cache;
pub mod event_queue;
pub mod jobs;
pub mod line;
pub mod occupancy;
pub mod pools;
pub mod position_line;
pub mod sharing;
pub mod stations;
pub mod tally;
