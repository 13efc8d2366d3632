//! Storage: load on real devices and file systems, and models of devices.
//!
//! One seeded stream of requests ([`workloads::request`]) drives both columns: the engine that measures a
//! target, and the kernel that simulates a device.

pub mod blocks;
pub mod devices;
pub mod mechanisms;
pub mod postmark;
pub mod soft;
pub mod verify;
pub mod workloads;
