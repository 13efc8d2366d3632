//! What a layer, which brings one kind of system, adds to the compiled core.

#[cfg(feature = "python")]
use pyo3::prelude::*;

use crate::simulation::kernel::plan::mechanism::{Made, Parameters};
use crate::simulation::kernel::random::stream::Stream;

/// A layer's contributions to the compiled core; all are optional.
pub trait Layer: Sync {
    /// Kinds of the mechanisms that its models may use.
    fn mechanism_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Make a mechanism of one of those kinds; None if there is no such kind.
    fn mechanism(&self, _kind: &str, _parameters: &Parameters, _stream: Stream) -> Option<Made> {
        None
    }

    /// Add the functions for Python to the layer's module.
    ///
    /// # Errors
    ///
    /// Fails if Python raises an error.
    #[cfg(feature = "python")]
    fn register(&self, _module: &Bound<'_, PyModule>) -> PyResult<()> {
        Ok(())
    }
}
