//! Shared memory over an interconnect: coherence protocols, machines and programs.

#[cfg(feature = "python")]
mod bindings;
pub mod checker;
#[cfg(target_os = "linux")]
pub mod hook;
pub mod machine;
#[cfg(target_os = "linux")]
pub mod programs;
pub mod protocol;
#[cfg(target_os = "linux")]
pub mod traced;

/// The layer.
pub const LAYER: SharedMemory = SharedMemory;

/// See [`LAYER`].
#[derive(Debug)]
pub struct SharedMemory;

impl crate::simulation::layer::Layer for SharedMemory {
    #[cfg(feature = "python")]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        bindings::register(module)?;
        #[cfg(target_os = "linux")]
        {
            hook::bindings::register(module)?;
            machine::bindings::register(module)?;
            programs::bindings::register(module)?;
            traced::bindings::register(module)?;
        }
        Ok(())
    }
}
