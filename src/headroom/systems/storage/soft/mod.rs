//! The soft device: a device in memory that follows a script, for tests of truth.
//!
//! A tool that measures it must report exactly what the script says: its service times, its stalls,
//! its errors, and the writes that it loses, tears or misplaces.

pub mod backend;
pub mod device;
#[cfg(target_os = "linux")]
pub mod fuse;
pub mod script;
#[cfg(target_os = "linux")]
pub mod serving;
pub mod virtual_time;
