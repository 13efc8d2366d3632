//! What measured systems need. The crate of this folder; paths are those of the whole.

use headroom_simulation::simulation;

#[path = "mod.rs"]
pub mod recording;
