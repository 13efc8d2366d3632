//! Shared memory. The crate of this folder; paths are those of the whole.

#[cfg(target_os = "linux")]
use headroom_memory::memory;
use headroom_simulation::simulation;

#[path = "."]
pub mod systems {
    //! See [`shared_memory`].

    #[path = "mod.rs"]
    pub mod shared_memory;
}
