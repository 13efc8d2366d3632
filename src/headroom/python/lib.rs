//! Arrays for Python, as all bindings return them.
//!
//! Arrays cross as bytes that `NumPy` wraps without a copy: read-only, and without a crate whose
//! dependencies would turn on `num-traits/std` (see `Cargo.toml`).

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Return bins, with counts by segment (shape: segments, bins).
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn bins_dict<'py>(
    py: Python<'py>,
    low: &[f64],
    high: &[f64],
    counts: &[u64],
    ends_s: &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    let shape = (ends_s.len(), low.len());
    let dict = PyDict::new(py);
    dict.set_item("bin_low", floats(py, low)?)?;
    dict.set_item("bin_high", floats(py, high)?)?;
    let counts = integers(py, counts)?.call_method1("reshape", (shape,))?;
    dict.set_item("counts", counts)?;
    dict.set_item("segment_end_times_s", floats(py, ends_s)?)?;
    Ok(dict)
}

/// Return a read-only array of zeros, whose memory nobody touches.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn zeros(py: Python<'_>, shape: (usize, usize)) -> PyResult<Bound<'_, PyAny>> {
    let array = py.import("numpy")?.call_method1("zeros", (shape,))?;
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// Return numbers as an array that shares no memory with Rust.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn floats<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    array(py, values.iter().map(|value| value.to_ne_bytes()), "f8")
}

/// Return counts as an array: they are below 2^63, so they read the same as signed numbers.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn integers<'py>(py: Python<'py>, values: &[u64]) -> PyResult<Bound<'py, PyAny>> {
    array(py, values.iter().map(|value| value.to_ne_bytes()), "i8")
}

fn array<'py>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = [u8; 8]>,
    kind: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new_with(py, 8 * values.len(), |bytes| {
        for (to, value) in bytes.chunks_exact_mut(8).zip(values) {
            to.copy_from_slice(&value);
        }
        Ok(())
    })?;
    py.import("numpy")?
        .call_method1("frombuffer", (bytes, kind))
}
