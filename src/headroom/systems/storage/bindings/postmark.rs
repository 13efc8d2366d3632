//! `PostMark` for Python: a job in, facts as JSON and arrays out.

use crate::systems::storage::postmark::job::Job;
use crate::systems::storage::postmark::mechanism::{kind_number, phase_number};
use crate::systems::storage::postmark::operations::{Operation, Operations};
use crate::systems::storage::postmark::run::{Outcome, RunError, run};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::engine::spans_dict;
use crate::python::{floats, integers};
use crate::simulation::python::{series_dict, table_dict};

/// Run `PostMark`; see `headroom.systems.storage.postmark.postmark.carry_out`.
///
/// A signal such as Ctrl-C ends the run early: the dictionary then holds the measurements until
/// then, and under `interrupt` the exception that its handler raised, for the caller to raise.
#[allow(
    clippy::needless_pass_by_value,
    reason = "an argument from Python is owned"
)]
#[pyfunction]
#[pyo3(signature = (*, job, progress = None))]
pub fn postmark<'py>(
    py: Python<'py>,
    job: &[u8],
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut signal: Option<PyErr> = None;
    let mut is_wanted = |share: f64| {
        let asked = Python::attach(|py| {
            py.check_signals()?;
            progress
                .as_ref()
                .map_or(Ok(()), |one| one.call1(py, (share,)).map(drop))
        });
        signal = signal.take().or(asked.err());
        signal.is_none()
    };
    let outcome = py.detach(|| run(job, &mut is_wanted));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Err(signal.unwrap_or_else(|| raise(&error))),
    };
    let dict = outcome_dict(py, &outcome)?;
    dict.set_item("interrupt", signal)?;
    Ok(dict)
}

fn raise(error: &RunError) -> PyErr {
    match error.os_error() {
        Some(errno) => PyOSError::new_err((errno, error.to_string())),
        None => PyValueError::new_err(error.to_string()),
    }
}

/// Return the first operations; see `headroom.systems.storage.postmark.postmark.operations`.
#[pyfunction]
#[pyo3(signature = (*, job, count, thread = 0))]
pub fn postmark_operations<'py>(
    py: Python<'py>,
    job: &[u8],
    count: usize,
    thread: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |error: &dyn std::error::Error| PyValueError::new_err(error.to_string());
    let job = Job::from_json(job).map_err(|error| wrong(&error))?;
    let part = job
        .parameters()
        .and_then(|whole| whole.part(thread, job.threads));
    let operations = Operations::new(part.map_err(|error| wrong(&error))?, job.seed, thread);
    let found: Vec<Operation> = py.detach(|| operations.take(count).collect());
    let column = |value: fn(&Operation) -> u64| {
        let values: Vec<u64> = found.iter().map(value).collect();
        integers(py, &values)
    };
    let dict = PyDict::new(py);
    dict.set_item("kind", column(|one| kind_number(one.kind))?)?;
    dict.set_item("phase", column(|one| phase_number(one.phase))?)?;
    dict.set_item("file", column(|one| one.file)?)?;
    dict.set_item("slot", column(|one| one.slot)?)?;
    dict.set_item("subdirectory", column(|one| u64::from(one.subdirectory))?)?;
    dict.set_item("offset", column(|one| one.offset)?)?;
    dict.set_item("bytes", column(|one| one.bytes)?)?;
    dict.set_item(
        "ends_transaction",
        column(|one| u64::from(one.ends_transaction))?,
    )?;
    Ok(dict)
}

fn outcome_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let (tables, responses) = (&outcome.tables, PyDict::new(py));
    let (histograms, series) = (PyDict::new(py), PyDict::new(py));
    for (class, table) in &tables.histograms {
        responses.set_item(class, spans_dict(py, table)?)?;
    }
    histograms.set_item("response_s", responses)?;
    for (class, table) in &tables.series {
        series.set_item(class, series_dict(py, table)?)?;
    }
    let snapshots = PyDict::new(py);
    let times_s = &tables.snapshot_times_s;
    snapshots.set_item("times_s", floats(py, times_s)?)?;
    snapshots.set_item(
        "classes",
        table_dict(py, tables.classes.clone(), times_s.len())?,
    )?;
    let facts = serde_json::to_vec(&outcome.facts);
    let facts = facts.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let dict = PyDict::new(py);
    dict.set_item("facts", PyBytes::new(py, &facts))?;
    dict.set_item("histograms", histograms)?;
    dict.set_item("series", series)?;
    dict.set_item("snapshots", snapshots)?;
    Ok(dict)
}
