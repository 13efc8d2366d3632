//! Functions for Python; `native.pyi` has their types.

use std::fs::File;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::caches::counts::Counts;
use super::caches::machine::{Machine, MachineSpec};
use super::probe;
use super::stack_distance::StackDistances;
use super::streams::{self, Access, Kind};
use super::sweep::Sweep;
use crate::python::integers;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(stack_distances, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(by_thread, module)?)?;
    probe::python::register(module)
}

/// Read a file if there is one, packed accesses otherwise.
fn each(path: Option<&str>, packed: Option<&[u8]>, to: &mut impl FnMut(Access)) -> PyResult<u64> {
    let Some(path) = path else {
        return Ok(streams::unpack(packed.unwrap_or_default(), to));
    };
    streams::read(open(path)?, to).map_err(PyValueError::new_err)
}

fn open(path: &str) -> PyResult<File> {
    File::open(path).map_err(|error| PyOSError::new_err(error.to_string()))
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

#[pyfunction]
#[pyo3(signature = (*, line_bytes, most_sets, most_ways, path = None, packed = None))]
#[allow(clippy::needless_pass_by_value, reason = "a list of Python")]
fn sweep<'py>(
    py: Python<'py>,
    line_bytes: Vec<u64>,
    most_sets: u64,
    most_ways: u32,
    path: Option<&str>,
    packed: Option<&[u8]>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut sweep = Sweep::new(&line_bytes, most_sets, most_ways).map_err(PyValueError::new_err)?;
    py.detach(|| {
        each(path, packed, &mut |access| {
            if access.kind != Kind::Fetch {
                let is_write = access.kind == Kind::Write;
                sweep.access(access.address, access.bytes, is_write);
            }
        })
    })?;
    let (mut sizes, mut read_misses, mut write_misses) = (Vec::new(), Vec::new(), Vec::new());
    let (reads, writes) = sweep.accesses();
    for size in sweep.sizes() {
        sizes.push(size.line_bytes());
        for set_bits in 0..=most_sets.trailing_zeros() {
            for ways in 1..=most_ways {
                let (reads, writes) = size.misses(1 << set_bits, ways);
                read_misses.push(reads);
                write_misses.push(writes);
            }
        }
    }
    let dict = PyDict::new(py);
    dict.set_item("line_bytes", integers(py, &sizes)?)?;
    dict.set_item("read_misses", integers(py, &read_misses)?)?;
    dict.set_item("write_misses", integers(py, &write_misses)?)?;
    dict.set_item("reads", reads)?;
    dict.set_item("writes", writes)?;
    Ok(dict)
}

#[pyfunction]
#[pyo3(signature = (*, path))]
fn by_thread<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
    let file = open(path)?;
    let mut packed: Vec<Vec<u8>> = Vec::new();
    let names = py.detach(|| {
        streams::read_threads(file, &mut |thread, access| {
            if thread == packed.len() {
                packed.push(Vec::new());
            }
            packed[thread].extend(streams::pack(access).flat_map(u64::to_le_bytes));
        })
    });
    let dict = PyDict::new(py);
    for (name, packed) in names.map_err(PyValueError::new_err)?.iter().zip(&packed) {
        dict.set_item(name, PyBytes::new(py, packed))?;
    }
    Ok(dict)
}
