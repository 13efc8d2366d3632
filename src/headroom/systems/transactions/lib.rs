//! Transactions. The crate of this folder; paths are those of the whole.

use headroom_simulation::simulation;

#[path = "."]
pub mod systems {
    //! See [`transactions`].

    #[path = "mod.rs"]
    pub mod transactions;
}
