//! Transactions: what TPC-C loads and asks for.

#[cfg(feature = "python")]
mod bindings;
pub mod inputs;

/// The layer.
pub const LAYER: Transactions = Transactions;

/// See [`LAYER`].
#[derive(Debug)]
pub struct Transactions;

impl crate::simulation::layer::Layer for Transactions {
    #[cfg(feature = "python")]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        bindings::register(module)
    }
}
