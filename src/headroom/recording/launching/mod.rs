//! The launcher that starts and clocks programs, and the observer of what they open.

/// The launcher as an executable file; see `launch.rs`.
///
/// It is carried inside the library, so that an installation needs no second file and the
/// launcher always has the version of the package that talks to it.
pub const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launch"));

/// The observer as an executable file; see `observe.rs`.
pub const OBSERVER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/observe"));

/// Add both to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
#[cfg(feature = "python")]
pub fn register(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    use pyo3::types::{PyBytes, PyModuleMethods};
    module.add("LAUNCHER", PyBytes::new(module.py(), LAUNCHER))?;
    module.add("OBSERVER", PyBytes::new(module.py(), OBSERVER))
}
