//! Records in memory. The crate of this folder; paths are those of the whole.

#[cfg(target_os = "linux")]
use headroom_memory::memory;
#[cfg(feature = "python")]
use headroom_python as python;
use headroom_simulation::simulation;

#[path = "."]
pub mod systems {
    //! See [`records`].

    #[path = "mod.rs"]
    pub mod records;
}
