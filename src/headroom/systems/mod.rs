//! Layers: what Headroom measures and models.

#[cfg(feature = "python")]
use pyo3::{prelude::*, types::PyDict};

use crate::simulation::kernel::plan::mechanism::{Made, Parameters};
use crate::simulation::kernel::random::stream::Stream;
use crate::simulation::layer::Layer;

macro_rules! layers {
    ($($layer:ident in $member:ident),* $(,)?) => {
        $(pub use $member::systems::$layer;)*
        const LAYERS: &[(&str, &dyn Layer)] = &[$((stringify!($layer), &$layer::LAYER)),*];
    };
}

// One line for each layer that has a compiled part, a member of the workspace in its folder.
layers! {
    records in headroom_records,
    shared_memory in headroom_shared_memory,
    storage in headroom_storage,
    transactions in headroom_transactions,
}

/// Return the kinds of mechanisms of all layers.
pub fn mechanism_kinds() -> Vec<&'static str> {
    let kinds = LAYERS.iter().map(|(_, layer)| layer.mechanism_kinds());
    kinds.flatten().copied().collect()
}

/// Make a mechanism of any layer; None if no layer has the kind.
pub fn mechanism(kind: &str, parameters: &Parameters, stream: Stream) -> Option<Made> {
    let has = |layer: &dyn Layer| layer.mechanism_kinds().contains(&kind);
    let (_, layer) = LAYERS.iter().find(|(_, layer)| has(*layer))?;
    layer.mechanism(kind, parameters, stream)
}

/// Return the module of each layer by its name.
///
/// # Errors
///
/// Fails if Python raises an error.
#[cfg(feature = "python")]
pub fn python_layers(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, layer) in LAYERS {
        let module = PyModule::new(py, name)?;
        layer.register(&module)?;
        dict.set_item(name, module)?;
    }
    Ok(dict)
}
