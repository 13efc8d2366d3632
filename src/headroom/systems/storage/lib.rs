//! Storage. The crate of this folder; paths are those of the whole.

#[cfg(feature = "python")]
use headroom_python as python;
use headroom_recording::recording;
use headroom_simulation::simulation;

#[path = "."]
pub mod systems {
    //! See [`storage`].

    #[path = "mod.rs"]
    pub mod storage;
}
