//! Tables and arrays for Python, as all bindings return them.
//!
//! Arrays cross as bytes that `NumPy` wraps without a copy: read-only, and without a crate whose
//! dependencies would turn on `num-traits/std` (see `Cargo.toml`).

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::simulation::kernel::run::result::{HistogramTable, SeriesTable, Table};

/// Return a table of snapshots as `names`, `capacity`, `columns` and `maxima`.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn table_dict(
    py: Python<'_>,
    table: Table,
    snapshot_count: usize,
) -> PyResult<Bound<'_, PyDict>> {
    let shape = (snapshot_count, table.names.len());
    let columns = PyDict::new(py);
    for (name, values) in table.columns {
        // Each goes as soon as Python has it: in a large model they are the most of the memory.
        let array = if values.iter().all(|value| value.to_bits() == 0) {
            zeros(py, shape)?
        } else {
            floats(py, &values)?.call_method1("reshape", (shape,))?
        };
        columns.set_item(name, array)?;
    }
    let maxima = PyDict::new(py);
    for (name, values) in &table.maxima {
        maxima.set_item(name, floats(py, values)?)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("names", table.names)?;
    dict.set_item("capacity", floats(py, &table.capacity)?)?;
    dict.set_item("columns", columns)?;
    dict.set_item("maxima", maxima)?;
    Ok(dict)
}

/// Return a series of batch means.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn series_dict<'py>(py: Python<'py>, series: &SeriesTable) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("values", floats(py, &series.values)?)?;
    dict.set_item("batch_size", series.batch_size)?;
    dict.set_item("end_times_s", floats(py, &series.end_times_s)?)?;
    Ok(dict)
}

/// Return a histogram by segment of the run.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn histogram_dict<'py>(
    py: Python<'py>,
    histogram: &HistogramTable,
) -> PyResult<Bound<'py, PyDict>> {
    bins_dict(
        py,
        &histogram.bin_low,
        &histogram.bin_high,
        &histogram.counts,
        &histogram.segment_end_times_s,
    )
}

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
fn zeros(py: Python<'_>, shape: (usize, usize)) -> PyResult<Bound<'_, PyAny>> {
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
