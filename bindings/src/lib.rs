//! The extension module `headroom._core`: conversion only, no branch on domain values.

use pyo3::prelude::*;

/// Compiled core of Headroom.
#[pymodule]
mod _core {
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    /// Export what the build was made of.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let launcher = PyBytes::new(module.py(), headroom::systems::command::LAUNCHER);
        module.add("LAUNCHER", launcher)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BUILD_PROFILE", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
