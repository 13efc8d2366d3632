//! Functions of the probe for Python; `native.pyi` of the part has their types.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};

use super::chase::Chase;
use super::counters::Reading;
use crate::python::floats;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PROBE_CODE", env!("HEADROOM_MEMORY_PROBE"))?;
    module.add_function(wrap_pyfunction!(chase, module)?)?;
    module.add_function(wrap_pyfunction!(bandwidth, module)?)?;
    module.add_function(wrap_pyfunction!(hand_over, module)?)
}

fn word<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    let text: StrDeserializer<'_, Error> = serde::de::IntoDeserializer::into_deserializer(text);
    T::deserialize(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pyfunction]
#[pyo3(signature = (*, bytes, stride_bytes, pages, chains, rounds, round_s, seed))]
#[allow(clippy::too_many_arguments, reason = "keywords on the side of Python")]
fn chase<'py>(
    py: Python<'py>,
    bytes: usize,
    stride_bytes: usize,
    pages: &str,
    chains: usize,
    rounds: usize,
    round_s: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let pages = word(pages)?;
    let asked = Chase {
        bytes,
        stride_bytes,
        pages,
        chains,
        rounds,
        round_s,
        seed,
    };
    let found = py
        .detach(|| super::chase::chase(asked))
        .map_err(PyOSError::new_err)?;
    let dict = PyDict::new(py);
    dict.set_item("load_s", floats(py, &found.load_s)?)?;
    dict.set_item("loads", found.loads)?;
    dict.set_item("huge_bytes", found.huge_bytes)?;
    dict.set_item("counters", readings(py, found.counters)?)?;
    Ok(dict)
}

/// Return each counter by its name: its count, or why there is none.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn readings(py: Python<'_>, counters: Vec<Reading>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for reading in counters {
        match reading.count {
            Ok(count) => dict.set_item(reading.name, count)?,
            Err(why) => dict.set_item(reading.name, why)?,
        }
    }
    Ok(dict)
}

#[pyfunction]
#[pyo3(signature = (*, operation, bytes, cpus, rounds, round_s))]
#[allow(clippy::needless_pass_by_value, reason = "a list of Python")]
fn bandwidth<'py>(
    py: Python<'py>,
    operation: &str,
    bytes: usize,
    cpus: Vec<usize>,
    rounds: usize,
    round_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let operation = word(operation)?;
    let measure = || super::bandwidth::bandwidth(operation, bytes, &cpus, rounds, round_s);
    let (rates, huge_bytes) = py.detach(measure).map_err(PyOSError::new_err)?;
    let dict = PyDict::new(py);
    dict.set_item("bytes_per_s", floats(py, &rates)?)?;
    dict.set_item("huge_bytes", huge_bytes)?;
    Ok(dict)
}

#[pyfunction]
#[pyo3(signature = (*, cpus, lines, rounds, round_s))]
fn hand_over(
    py: Python<'_>,
    cpus: (usize, usize),
    lines: usize,
    rounds: usize,
    round_s: f64,
) -> PyResult<Bound<'_, PyAny>> {
    let found = py.detach(|| super::hand_over::hand_over(cpus, lines, rounds, round_s));
    floats(py, &found.map_err(PyOSError::new_err)?)
}
