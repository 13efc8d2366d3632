//! The storage engine for Python: a job in, a dictionary of tables out.

use crate::recording::load::outcome::{ClassTotal, FailureTotal, Quantity, Tables};
use crate::recording::spans::SpansTable;
use crate::systems::storage::blocks::engine::{self, EngineError, Measured};
use crate::systems::storage::soft::device::Truth;
use crate::systems::storage::verify::check as verify;
use crate::systems::storage::verify::findings::{Fault, Finding, Findings};
use crate::systems::storage::workloads::request::Request;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::python::floats;
use crate::simulation::python::{histogram_dict, series_dict, table_dict};

create_exception!(
    headroom.systems.storage.native,
    StorageError,
    PyException,
    "An invalid job of the storage engine: message and hint."
);

/// Carry the requests of a job out on its target; see `headroom.systems.storage`.
///
/// A signal such as Ctrl-C ends the run early: the dictionary then holds the measurements until
/// then, and under `interrupt` the exception that its handler raised, for the caller to raise.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general enough over the lifetime of the token"
)]
#[pyfunction]
#[pyo3(signature = (*, job))]
pub fn run<'py>(py: Python<'py>, job: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let mut signal: Option<PyErr> = None;
    let mut is_wanted = || {
        if signal.is_none() {
            signal = Python::attach(|py| py.check_signals()).err();
        }
        signal.is_none()
    };
    let measured = py
        .detach(|| engine::run(job, &mut is_wanted))
        .map_err(|error| raise(&error))?;
    let dict = measured_dict(py, &measured)?;
    dict.set_item("interrupt", signal)?;
    Ok(dict)
}

fn raise(error: &EngineError) -> PyErr {
    StorageError::new_err((error.to_string(), error.cure().to_owned()))
}

fn measured_dict<'py>(py: Python<'py>, measured: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let dict = outcome_dict(py, measured)?;
    let facts = PyDict::new(py);
    for (name, value) in &measured.facts {
        facts.set_item(name, value)?;
    }
    dict.set_item("facts", facts)?;
    let (usage, counters) = (&measured.usage, PyDict::new(py));
    counters.set_item("cpu_s", usage.user_s + usage.system_s)?;
    counters.set_item("cpu_user_s", usage.user_s)?;
    counters.set_item("cpu_system_s", usage.system_s)?;
    counters.set_item("minor_fault_count", usage.minor_fault_count)?;
    counters.set_item("major_fault_count", usage.major_fault_count)?;
    counters.set_item("voluntary_switch_count", usage.voluntary_switch_count)?;
    counters.set_item("involuntary_switch_count", usage.involuntary_switch_count)?;
    counters.set_item("system_call_count", measured.call_count)?;
    dict.set_item("counters", counters)?;
    let findings = measured.findings.as_ref();
    dict.set_item(
        "findings",
        findings.map(|one| findings_dict(py, one)).transpose()?,
    )?;
    let truth = measured.truth.map(|one| truth_dict(py, one)).transpose()?;
    dict.set_item("truth", truth)?;
    Ok(dict)
}

/// Compare a target with what it had promised before a crash; see `headroom.systems.storage`.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general enough over the lifetime of the token"
)]
#[pyfunction]
#[pyo3(signature = (*, job))]
pub fn check<'py>(py: Python<'py>, job: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let mut signal: Option<PyErr> = None;
    let mut is_wanted = || {
        signal = Python::attach(|py| py.check_signals()).err();
        signal.is_none()
    };
    let checked = py.detach(|| verify::check(job, &mut is_wanted));
    if let Some(error) = signal {
        return Err(error);
    }
    let checked = checked.map_err(|error| raise(&error))?;
    let dict = findings_dict(py, &checked.findings)?;
    dict.set_item("demanded_count", checked.demanded_count)?;
    dict.set_item("unreadable_count", checked.unreadable_count)?;
    dict.set_item("newer_count", checked.newer_count)?;
    dict.set_item("written_count", checked.written_count)?;
    dict.set_item("flushed_count", checked.flushed_count)?;
    Ok(dict)
}

fn findings_dict<'py>(py: Python<'py>, findings: &Findings) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("cell_count", findings.cell_count)?;
    dict.set_item("unknown_count", findings.unknown_count)?;
    let counts = PyDict::new(py);
    for fault in Fault::ALL {
        counts.set_item(fault.name(), findings.count(fault))?;
    }
    dict.set_item("counts", counts)?;
    let kept = findings.kept().iter().map(|one| finding_dict(py, one));
    dict.set_item(
        "first",
        PyList::new(py, kept.collect::<PyResult<Vec<_>>>()?)?,
    )?;
    Ok(dict)
}

fn finding_dict<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fault", finding.fault.name())?;
    dict.set_item("offset", finding.offset)?;
    dict.set_item("demanded", finding.demanded)?;
    let found = finding
        .found
        .map(|one| (one.run, one.offset, one.generation));
    dict.set_item("found", found)?;
    Ok(dict)
}

fn truth_dict(py: Python<'_>, truth: Truth) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("read_count", truth.read_count)?;
    dict.set_item("write_count", truth.write_count)?;
    dict.set_item("flush_count", truth.flush_count)?;
    dict.set_item("trim_count", truth.trim_count)?;
    dict.set_item("error_count", truth.error_count)?;
    dict.set_item("lost_count", truth.lost_count)?;
    dict.set_item("torn_count", truth.torn_count)?;
    dict.set_item("misdirected_count", truth.misdirected_count)?;
    Ok(dict)
}

fn outcome_dict<'py>(py: Python<'py>, measured: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let outcome = &measured.outcome;
    let dict = PyDict::new(py);
    dict.set_item("stop_reason", outcome.stop_reason.name())?;
    dict.set_item("load_s", outcome.load_s)?;
    dict.set_item("end_s", outcome.end_s)?;
    dict.set_item("problem", outcome.problem.as_deref())?;
    dict.set_item("outstanding_count", outcome.outstanding_count)?;
    dict.set_item("waiting_count", outcome.waiting_count)?;
    dict.set_item("continued_count", measured.continued_count)?;
    let counters = PyDict::new(py);
    for (name, count) in &measured.counters {
        counters.set_item(name, count)?;
    }
    dict.set_item("workload_counters", counters)?;
    dict.set_item("snapshots", tables_dict(py, &outcome.snapshots)?)?;
    let samples = outcome.samples.as_ref();
    dict.set_item(
        "samples",
        samples
            .map(|samples| tables_dict(py, samples))
            .transpose()?,
    )?;
    dict.set_item("series", by_class(py, &outcome.series, series_dict)?)?;
    let histograms = PyDict::new(py);
    histograms.set_item("response_s", by_class(py, &outcome.response, spans_dict)?)?;
    histograms.set_item("service_s", by_class(py, &outcome.service, spans_dict)?)?;
    histograms.set_item(
        "submit_error_s",
        by_class(py, &outcome.submit_error, spans_dict)?,
    )?;
    dict.set_item("histograms", histograms)?;
    let classes = PyDict::new(py);
    for class in &outcome.classes {
        classes.set_item(&class.name, total_dict(py, class)?)?;
    }
    dict.set_item("classes", classes)?;
    let failures = outcome.failures.iter().map(|one| failure_dict(py, one));
    dict.set_item(
        "failures",
        PyList::new(py, failures.collect::<PyResult<Vec<_>>>()?)?,
    )?;
    Ok(dict)
}

pub fn spans_dict<'py>(py: Python<'py>, spans: &SpansTable) -> PyResult<Bound<'py, PyDict>> {
    let dict = histogram_dict(py, &spans.histogram)?;
    let totals = PyDict::new(py);
    let names = ["sums", "square_sums", "minima", "maxima"];
    for (name, values) in names.into_iter().zip(&spans.totals) {
        totals.set_item(name, floats(py, values)?)?;
    }
    dict.set_item("totals", totals)?;
    Ok(dict)
}

fn by_class<'py, T>(
    py: Python<'py>,
    quantities: &[Quantity<T>],
    convert: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for one in quantities {
        dict.set_item(&one.class, convert(py, &one.values)?)?;
    }
    Ok(dict)
}

fn tables_dict<'py>(py: Python<'py>, tables: &Tables) -> PyResult<Bound<'py, PyDict>> {
    let row_count = tables.times_s.len();
    let dict = PyDict::new(py);
    dict.set_item("times_s", floats(py, &tables.times_s)?)?;
    dict.set_item(
        "classes",
        table_dict(py, tables.classes.clone(), row_count)?,
    )?;
    dict.set_item(
        "stations",
        table_dict(py, tables.stations.clone(), row_count)?,
    )?;
    Ok(dict)
}

fn total_dict<'py>(py: Python<'py>, class: &ClassTotal) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("arrival_count", class.arrival_count)?;
    dict.set_item("begin_count", class.begin_count)?;
    dict.set_item("completion_count", class.completion_count)?;
    dict.set_item("failure_count", class.failure_count)?;
    dict.set_item("defect_count", class.defect_count)?;
    dict.set_item("late_count", class.late_count)?;
    dict.set_item("bytes", class.bytes)?;
    dict.set_item("response_s_min", class.response_s.0)?;
    dict.set_item("response_s_max", class.response_s.1)?;
    dict.set_item("service_s_min", class.service_s.0)?;
    dict.set_item("service_s_max", class.service_s.1)?;
    dict.set_item("submit_error_s_min", class.submit_error_s.0)?;
    dict.set_item("submit_error_s_max", class.submit_error_s.1)?;
    dict.set_item("submit_error_s_sum", class.submit_error_s_sum)?;
    Ok(dict)
}

fn failure_dict<'py>(py: Python<'py>, one: &FailureTotal<Request>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("class", &one.class)?;
    dict.set_item("errno", one.failure.errno)?;
    dict.set_item("count", one.failure.count)?;
    dict.set_item("first_offset", one.failure.first.offset)?;
    dict.set_item("first_length", one.failure.first.length)?;
    dict.set_item("first_s", one.failure.first_ns as f64 / 1e9)?;
    Ok(dict)
}
