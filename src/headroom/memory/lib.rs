//! Memory of a machine. The crate of this folder; paths are those of the whole.

#[cfg(feature = "python")]
use headroom_python as python;

#[path = "mod.rs"]
pub mod memory;
