//! Tables of a run for Python.

use headroom_python::{bins_dict, floats, zeros};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
