//! Functions for Python; `native.pyi` has their types.

use std::fs::File;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::caches::counts::Counts;
use super::caches::machine::{Machine, MachineSpec};
use super::probe;
use super::stack_distance::StackDistances;
use super::streams::{self, Access, Kind};
use crate::python::integers;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(stack_distances, module)?)?;
    probe::python::register(module)
}

/// Read a file if there is one, packed accesses otherwise.
fn each(path: Option<&str>, packed: Option<&[u8]>, to: &mut impl FnMut(Access)) -> PyResult<u64> {
    let Some(path) = path else {
        return Ok(streams::unpack(packed.unwrap_or_default(), to));
    };
    let file = File::open(path).map_err(|error| PyOSError::new_err(error.to_string()))?;
    streams::read(file, to).map_err(PyValueError::new_err)
}

#[pyfunction]
#[pyo3(signature = (*, machine, path = None, packed = None))]
fn simulate<'py>(
    py: Python<'py>,
    machine: &[u8],
    path: Option<&str>,
    packed: Option<&[u8]>,
) -> PyResult<Bound<'py, PyDict>> {
    let spec: MachineSpec = serde_json::from_slice(machine)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut machine = Machine::new(spec).map_err(PyValueError::new_err)?;
    let count = py.detach(|| {
        each(path, packed, &mut |access| {
            machine.carry_out(access);
        })
    })?;
    let dict = counts(py, &machine)?;
    dict.set_item("accesses", count)?;
    Ok(dict)
}

/// Return what a machine counted, for Python.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn counts<'py>(py: Python<'py>, machine: &Machine) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fetches", machine.fetches)?;
    dict.set_item("served", integers(py, &machine.served)?)?;
    dict.set_item("memory_reads", machine.data.memory_reads)?;
    dict.set_item("memory_writes", machine.data.memory_writes)?;
    let levels = PyList::empty(py);
    for (level, instructions) in machine.data.levels.iter().zip(&machine.instruction_counts) {
        let row = row(py, &level.spec.name, &level.counts)?;
        row.set_item("fetches", instructions.0)?;
        row.set_item("fetch_misses", instructions.1)?;
        levels.append(row)?;
    }
    dict.set_item("levels", levels)?;
    let near = machine.instructions.as_ref().map(|own| &own.levels[0]);
    let near = near.map(|level| row(py, &level.spec.name, &level.counts));
    dict.set_item("instructions", near.transpose()?)?;
    let tlbs = PyList::empty(py);
    if let Some(paging) = &machine.paging {
        for (spec, counts) in paging.spec.tlbs.iter().zip(&paging.counts) {
            tlbs.append(row(py, &spec.name, counts)?)?;
        }
        dict.set_item("walks", paging.walks)?;
        dict.set_item("walk_reads", integers(py, &paging.walk_reads)?)?;
    }
    dict.set_item("tlbs", tlbs)?;
    Ok(dict)
}

fn row<'py>(py: Python<'py>, name: &str, counts: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", name)?;
    for (name, value) in counts.named() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pyfunction]
#[pyo3(signature = (*, line_bytes, rate = 1.0, path = None, packed = None))]
fn stack_distances<'py>(
    py: Python<'py>,
    line_bytes: u64,
    rate: f64,
    path: Option<&str>,
    packed: Option<&[u8]>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut distances = StackDistances::sampled(line_bytes, rate);
    py.detach(|| {
        each(path, packed, &mut |access| {
            if access.kind != Kind::Fetch {
                distances.access_all(access.address, u64::from(access.bytes));
            }
        })
    })?;
    let dict = PyDict::new(py);
    let histogram = distances.histogram();
    let used = histogram
        .iter()
        .rposition(|&count| count > 0)
        .map_or(0, |last| last + 1);
    dict.set_item("histogram", integers(py, &histogram[..used])?)?;
    dict.set_item("first_count", distances.first_count)?;
    dict.set_item("sampled_count", distances.sampled_count)?;
    dict.set_item("access_count", distances.access_count)?;
    dict.set_item("rate", distances.rate())?;
    Ok(dict)
}
