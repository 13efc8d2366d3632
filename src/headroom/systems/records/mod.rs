//! Records in memory: a store whose nodes, index and memory are factors, measured and modelled.
//!
//! One implementation serves both columns: its accesses go to a [`store::touch::Touch`], which is
//! silent when the store is measured and drives simulated caches when it is modelled.

#[cfg(target_os = "linux")]
pub mod store;

/// The layer.
pub const LAYER: Records = Records;

/// See [`LAYER`].
#[derive(Debug)]
pub struct Records;

impl super::Layer for Records {
    #[cfg(all(feature = "python", target_os = "linux"))]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        let _ = module; Ok(())
    }
}
