//! Functions for Python; `../native.pyi` has their types.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Seek;

use pyo3::exceptions::{PyEOFError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Failure, Opened, Outcome, simulate_trace};
use crate::systems::shared_memory::hook::{Access, Event, Events, TraceError, read};
use crate::systems::shared_memory::machine::bindings::set_accounts;
use crate::systems::shared_memory::machine::server::seconds;
use crate::systems::shared_memory::machine::simulation::Setup;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TRACED_CODE", env!("HEADROOM_TRACED"))?;
    module.add_function(wrap_pyfunction!(allocation_sites, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_recording, module)?)
}

/// Addresses of the code behind allocations.
#[derive(Default)]
struct Sites(BTreeSet<u64>);

impl Events for Sites {
    fn access(&mut self, _: u32, _: Access) {}

    fn event(&mut self, _: u32, event: Event) {
        if let Event::Allocated { site, .. } = event {
            self.0.insert(site);
        }
    }
}

/// Return the sites of a trace's allocations, and the maps of its program.
#[pyfunction]
fn allocation_sites(py: Python<'_>, path: &str) -> PyResult<(Vec<u64>, String)> {
    let file = File::open(path)?;
    let mut sites = Sites::default();
    let report = py.detach(|| read(file, &mut sites));
    let report = report.map_err(|error| raised(Failure::Trace(error)))?;
    Ok((sites.0.into_iter().collect(), report.maps))
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn raised(failure: Failure) -> PyErr {
    match failure {
        Failure::Trace(error @ TraceError::Empty) => PyEOFError::new_err(error.to_string()),
        Failure::Trace(error) => PyRuntimeError::new_err(error.to_string()),
        Failure::Cut(reason) => PyEOFError::new_err(reason),
        Failure::Impossible(reason) => PyValueError::new_err(reason),
    }
}

/// Simulate a recorded program on a machine.
#[pyfunction]
#[pyo3(signature = (path, setup, *, instructions_per_access))]
fn simulate_recording<'py>(
    py: Python<'py>,
    path: &str,
    setup: &[u8],
    instructions_per_access: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let invalid = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let setup: Setup = serde_json::from_slice(setup).map_err(invalid)?;
    let file = File::open(path)?;
    let open = || {
        let mut again = file.try_clone()?;
        again.rewind()?;
        Ok(again)
    };
    let outcome = py.detach(|| simulate_trace(&Opened(open), &setup, instructions_per_access));
    as_dict(py, &outcome.map_err(raised)?)
}

fn as_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("run_s", outcome.run_s)?;
    set_accounts(&dict, &outcome.accounts)?;
    dict.set_item("utilizations", outcome.utilizations)?;
    dict.set_item("messages", outcome.messages)?;
    dict.set_item("retries", outcome.retries)?;
    dict.set_item("accesses", outcome.accesses)?;
    dict.set_item("atomic_waits", outcome.atomic_waits)?;
    dict.set_item("threads", outcome.threads)?;
    dict.set_item("shared", outcome.shared)?;
    dict.set_item("page_bytes", outcome.page_bytes)?;
    dict.set_item("home_bytes", &outcome.home_bytes)?;
    dict.set_item("sharing", &outcome.sharing)?;
    let moments = outcome.moments.iter();
    let moments = moments.map(|one| (one.end_s, &one.spent_s));
    dict.set_item("moments", moments.collect::<Vec<_>>())?;
    dict.set_item("groups", &outcome.groups)?;
    let code = outcome.code.iter().map(|one| {
        let remote = &one.remote;
        (one.site, one.group, remote.count, seconds(remote.time))
    });
    dict.set_item("code", code.collect::<Vec<_>>())?;
    let hot = outcome.hot.iter().map(|one| {
        (
            one.address,
            one.group,
            one.offset,
            one.of_nodes,
            one.of_processors,
        )
    });
    dict.set_item("hot", hot.collect::<Vec<_>>())?;
    dict.set_item("maps", &outcome.maps)?;
    Ok(dict)
}
