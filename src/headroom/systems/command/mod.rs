//! Any program as a black box: the launcher that starts and clocks it.

/// The launcher as an executable file; see `launch.rs`.
///
/// It is carried inside the library, so that an installation needs no second file and the
/// launcher always has the version of the package that talks to it.
pub const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launch"));

/// The layer.
pub const LAYER: Command = Command;

/// See [`LAYER`].
#[derive(Debug)]
pub struct Command;

impl super::Layer for Command {
    #[cfg(feature = "python")]
    fn register(&self, module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::{PyBytes, PyModuleMethods};
        module.add("LAUNCHER", PyBytes::new(module.py(), LAUNCHER))
    }
}
