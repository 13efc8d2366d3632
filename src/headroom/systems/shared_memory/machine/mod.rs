//! Machines with shared memory: nodes on a ring, network caches, homes, and the stations between.

pub mod account;
pub mod engine;
pub mod frames;
pub mod network;
pub mod placement;
pub mod server;
pub mod spec;
#[cfg(test)]
mod tests;
pub mod word;
