//! From model data to the tables that the engine runs.

pub mod arrivals;
pub(in crate::simulation::kernel) mod blocks;
pub mod calls;
pub mod choice;
pub mod compile;
pub mod expression;
pub(in crate::simulation::kernel) mod frames;
pub mod fuse;
pub mod instruction;
pub mod mechanism;
pub mod mechanisms;
pub mod model;
pub mod program;
pub mod rows;
pub mod stack_depth;
pub(in crate::simulation::kernel) mod station_plans;
