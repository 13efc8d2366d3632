//! The Python bindings of storage: conversion only.

#[cfg(unix)]
mod engine;
mod postmark;
mod requests;
#[cfg(target_os = "linux")]
mod soft;

use pyo3::prelude::*;

/// Add the functions and errors to a module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    #[cfg(unix)]
    {
        module.add("StorageError", py.get_type::<engine::StorageError>())?;
        module.add_function(wrap_pyfunction!(engine::run, module)?)?;
        module.add_function(wrap_pyfunction!(engine::check, module)?)?;
    }
    module.add("WorkloadError", py.get_type::<requests::WorkloadError>())?;
    module.add_function(wrap_pyfunction!(requests::requests, module)?)?;
    module.add_function(wrap_pyfunction!(requests::trace_description, module)?)?;
    module.add_function(wrap_pyfunction!(requests::source_seed, module)?)?;
    module.add_function(wrap_pyfunction!(postmark::postmark, module)?)?;
    module.add_function(wrap_pyfunction!(postmark::postmark_operations, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(soft::soft_mount, module)?)?;
    Ok(())
}
