//! Records in memory: a store whose nodes, index and memory are factors, measured and modelled.
//!
//! One implementation serves both columns: its accesses go to a [`store::touch::Touch`], which is
//! silent when the store is measured and drives simulated caches when it is modelled.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::similar_names,
    reason = "a table has fewer than 2^32 records and words, which is checked when it is made"
)]
#[cfg(all(feature = "python", target_os = "linux"))]
mod bindings;
#[cfg(target_os = "linux")]
pub mod cells;
#[cfg(target_os = "linux")]
pub mod measured;
#[cfg(target_os = "linux")]
pub mod modelled;
#[cfg(target_os = "linux")]
pub mod store;
#[cfg(target_os = "linux")]
pub mod upkeep;

/// The layer.
pub const LAYER: Records = Records;

/// See [`LAYER`].
#[derive(Debug)]
pub struct Records;

impl crate::simulation::layer::Layer for Records {
    #[cfg(all(feature = "python", target_os = "linux"))]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        bindings::register(module)
    }
}
