//! Headroom's core: whatever runs once per event or per operation.
//!
//! The Python package of the same name lives in the same tree; the extension
//! module in `bindings/` converts between the two and holds no logic.

#[cfg(all(target_os = "linux", feature = "systems"))]
pub mod memory;
#[cfg(feature = "python")]
pub mod python;
pub mod recording;
pub mod simulation;
#[cfg(feature = "systems")]
pub mod systems;
