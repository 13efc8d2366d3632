//! Functions for Python; `native.pyi` has their types.

use std::fs::File;

use pyo3::exceptions::{PyEOFError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::events::{Access, Event, Events};
use super::merge::{Pace, merge};
use super::reader::{Report, TraceError, read};
use super::totals::Totals;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_totals, module)?)?;
    module.add_function(wrap_pyfunction!(trace_events, module)?)
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn raised(error: TraceError) -> PyErr {
    match error {
        TraceError::Empty => PyEOFError::new_err(error.to_string()),
        TraceError::Wrong { .. } => PyValueError::new_err(error.to_string()),
    }
}

fn report_dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("threads", report.threads)?;
    dict.set_item("entries", report.entries)?;
    dict.set_item("missing", &report.missing)?;
    dict.set_item("lost_words", report.lost_words)?;
    dict.set_item("lost_stamps", report.lost_stamps)?;
    dict.set_item("maps", &report.maps)?;
    let share = report.share;
    dict.set_item("processor_ns", share.spent_ns)?;
    dict.set_item("unseen_ns", share.unseen_ns)?;
    dict.set_item("children_ns", share.children_ns)?;
    dict.set_item("forks", share.forks)?;
    Ok(dict)
}

/// Count the contents of a trace, while it is written or afterwards.
#[pyfunction]
fn trace_totals<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyDict>> {
    let file = File::open(path)?;
    let mut totals = Totals::default();
    let report = py.detach(|| read(file, &mut totals)).map_err(raised)?;
    let dict = report_dict(py, &report)?;
    dict.set_item("accesses", totals.accesses)?;
    dict.set_item("bytes", totals.bytes)?;
    dict.set_item("allocations", totals.allocations)?;
    dict.set_item("allocated_bytes", totals.allocated_bytes)?;
    dict.set_item("frees", totals.frees)?;
    dict.set_item("acquisitions", totals.acquisitions)?;
    dict.set_item("barrier_entries", totals.barrier_entries)?;
    dict.set_item("regions", totals.regions)?;
    dict.set_item("sites", totals.sites())?;
    Ok(dict)
}

/// Thread, name, address or number, bytes, site.
type Row = (u32, &'static str, u64, u64, u64);

/// The first events of a merge.
struct First {
    most: usize,
    rows: Vec<Row>,
}

impl First {
    fn add(&mut self, row: Row) {
        if self.rows.len() < self.most {
            self.rows.push(row);
        }
    }
}

impl Events for First {
    fn access(&mut self, thread: u32, access: Access) {
        let names = [
            "read",
            "write",
            "atomic read",
            "atomic write",
            "atomic modify",
        ];
        let name = names[access.kind as usize];
        self.add((thread, name, access.address, access.bytes, access.site));
    }

    fn event(&mut self, thread: u32, event: Event) {
        let (name, first, bytes, site) = match event {
            Event::Allocated {
                address,
                bytes,
                site,
            } => ("allocated", address, bytes, site),
            Event::Freed { address } => ("freed", address, 0, 0),
            Event::Started { child } => ("started", child.into(), 0, 0),
            Event::Begun => ("begun", 0, 0, 0),
            Event::Ended => ("ended", 0, 0, 0),
            Event::Joined { child } => ("joined", child.map_or(u64::MAX, u64::from), 0, 0),
            Event::Entered { barrier } => ("entered", barrier, 0, 0),
            Event::Left { barrier } => ("left", barrier, 0, 0),
            Event::Acquired { lock } => ("acquired", lock, 0, 0),
            Event::Released { lock } => ("released", lock, 0, 0),
            Event::Changed { object } => ("changed", object, 0, 0),
            Event::Saw { object } => ("saw", object, 0, 0),
            Event::Posted { semaphore, .. } => ("posted", semaphore, 0, 0),
            Event::Passed { semaphore, .. } => ("passed", semaphore, 0, 0),
            Event::RegionBegun => ("region begun", 0, 0, 0),
            Event::RegionEnded => ("region ended", 0, 0, 0),
        };
        self.add((thread, name, first, bytes, site));
    }
}

/// Merge a trace; return its first events and how it ends.
#[pyfunction]
#[pyo3(signature = (path, *, most, turn_accesses = 32))]
fn trace_events<'py>(
    py: Python<'py>,
    path: &str,
    most: usize,
    turn_accesses: usize,
) -> PyResult<(Vec<Row>, Bound<'py, PyDict>)> {
    let file = File::open(path)?;
    let mut first = First {
        most,
        rows: Vec::new(),
    };
    let pace = Pace {
        turn_accesses: turn_accesses.max(1),
        ..Pace::default()
    };
    let report = py
        .detach(|| merge(file, pace, &mut first))
        .map_err(raised)?;
    Ok((first.rows, report_dict(py, &report)?))
}
