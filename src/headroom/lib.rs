//! Headroom's core: whatever runs once per event or per operation.
//!
//! The Python package of the same name lives in the same tree; the extension
//! module in `bindings/` converts between the two and holds no logic. Each part is a crate in its
//! folder, so that a changed line compiles that part and those above it alone.

#[cfg(all(target_os = "linux", feature = "systems"))]
pub use headroom_memory::memory;
#[cfg(feature = "python")]
pub use headroom_python as python;
pub use headroom_recording::recording;
pub use headroom_simulation::simulation;

#[cfg(feature = "systems")]
pub mod systems;
