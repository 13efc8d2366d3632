//! Storage: load on real devices and file systems, and models of devices.
//!
//! One seeded stream of requests ([`request`]) drives both columns: the engine that measures a
//! target, and the kernel that simulates a device.

#[cfg(unix)]
pub mod engine;
pub mod mechanisms;
pub mod postmark;
pub mod request;
pub mod requests;
pub mod soft;
pub mod verify;
