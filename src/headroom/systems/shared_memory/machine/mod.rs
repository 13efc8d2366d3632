//! Machines with shared memory: nodes on a ring, network caches, homes, and the stations between.

pub mod account;
#[cfg(all(feature = "python", target_os = "linux"))]
pub mod bindings;
pub mod engine;
pub mod frames;
pub mod network;
#[cfg(target_os = "linux")]
pub mod pages;
pub mod placement;
#[cfg(target_os = "linux")]
pub mod processor;
pub mod server;
#[cfg(target_os = "linux")]
pub mod simulation;
pub mod spec;
#[cfg(test)]
mod tests;
pub mod word;
