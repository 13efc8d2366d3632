//! Requests of storage workloads, as arrays.

use crate::systems::storage::workloads::requests::columns::{self, Columns};
use crate::systems::storage::workloads::requests::trace::replay::Changes;
use crate::systems::storage::workloads::requests::trace::{self, Description};
use crate::systems::storage::workloads::requests::{WorkloadError as Wrong, mechanism};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::python::{floats, integers};

create_exception!(
    headroom.systems.storage.native,
    WorkloadError,
    PyException,
    "An invalid storage workload: message and hint."
);

fn raise(error: &Wrong) -> PyErr {
    WorkloadError::new_err((error.to_string(), error.cure.clone()))
}

/// Return the first requests of a storage workload; see the stub.
#[pyfunction]
#[pyo3(signature = (*, workload, seed, target_bytes, count))]
pub fn requests<'py>(
    py: Python<'py>,
    workload: &[u8],
    seed: u64,
    target_bytes: u64,
    count: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| columns::columns(workload, seed, target_bytes, count));
    columns_dict(py, &found.map_err(|error| raise(&error))?)
}

/// Describe the trace of a storage workload; see the stub.
#[pyfunction]
#[pyo3(signature = (*, workload, target_bytes))]
pub fn trace_description<'py>(
    py: Python<'py>,
    workload: &[u8],
    target_bytes: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| trace::look_at(&columns::parsed(workload)?, target_bytes));
    let (description, changes) = found.map_err(|error| raise(&error))?;
    description_dict(py, &description, changes)
}

/// Return the seed of a source of requests in a run; see the stub.
#[pyfunction]
#[pyo3(signature = (*, seed, key))]
pub fn source_seed(seed: u64, key: u64) -> u64 {
    mechanism::source_seed(seed, key)
}

fn columns_dict<'py>(py: Python<'py>, columns: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("kind", integers(py, &columns.kind)?)?;
    dict.set_item("offset", integers(py, &columns.offset)?)?;
    dict.set_item("length", integers(py, &columns.length)?)?;
    dict.set_item("due_s", floats(py, &columns.due_s)?)?;
    dict.set_item("stream", integers(py, &columns.stream)?)?;
    let streams = &columns.streams;
    let names: Vec<&str> = streams.iter().map(|one| one.name.as_str()).collect();
    dict.set_item("streams", names)?;
    let depths: Vec<u64> = streams.iter().map(|one| u64::from(one.depth)).collect();
    dict.set_item("depth", integers(py, &depths)?)?;
    dict.set_item("allowance_s", floats(py, &columns.allowance_s)?)?;
    dict.set_item("counters", counters_dict(py, &columns.counters)?)?;
    Ok(dict)
}

fn description_dict<'py>(
    py: Python<'py>,
    found: &Description,
    changes: Changes,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", found.request_count)?;
    dict.set_item("reads", found.read_count)?;
    dict.set_item("writes", found.write_count)?;
    dict.set_item("read_bytes", found.read_bytes)?;
    dict.set_item("write_bytes", found.write_bytes)?;
    dict.set_item("read_share", found.read_share())?;
    dict.set_item("duration_s", found.duration_ns as f64 / 1e9)?;
    dict.set_item("earlier", found.earlier_count)?;
    dict.set_item("footprint_bytes", found.footprint_bytes)?;
    dict.set_item("lines_skipped", found.skipped_count)?;
    let sizes: Vec<u64> = found.sizes.keys().copied().collect();
    let counts: Vec<u64> = found.sizes.values().copied().collect();
    dict.set_item("size_bytes", integers(py, &sizes)?)?;
    dict.set_item("size_count", integers(py, &counts)?)?;
    let devices = PyDict::new(py);
    for (name, device) in &found.devices {
        devices.set_item(name, (device.request_count, device.end))?;
    }
    dict.set_item("devices", devices)?;
    dict.set_item("counters", counters_dict(py, &changes.counters())?)?;
    Ok(dict)
}

fn counters_dict<'py>(
    py: Python<'py>,
    counters: &[(&'static str, u64)],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counters {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}
