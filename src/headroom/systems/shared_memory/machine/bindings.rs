//! Functions for Python; `../native.pyi` has their types.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::account::{Account, KINDS, Spent};
use super::server::seconds;
use super::simulation::{Outcome, Setup, simulate};
use crate::systems::shared_memory::programs::{ProgramSpec, build};

/// Names of the kinds of time, in their order.
const KIND_NAMES: [&str; KINDS] = ["compute", "private", "local", "hit", "remote", "waiting"];

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MACHINE_CODE", env!("HEADROOM_MACHINE"))?;
    module.add("MOST_NODES", super::spec::MOST_NODES)?;
    module.add("TIME_KINDS", KIND_NAMES)?;
    module.add_function(wrap_pyfunction!(simulate_program, module)?)
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Simulate a program on a machine.
#[pyfunction]
#[pyo3(signature = (setup, program, *, seed))]
fn simulate_program<'py>(
    py: Python<'py>,
    setup: &[u8],
    program: &[u8],
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let setup: Setup = serde_json::from_slice(setup).map_err(invalid)?;
    let spec: ProgramSpec = serde_json::from_slice(program).map_err(invalid)?;
    let threads = usize::from(setup.machine.nodes) * usize::from(setup.machine.cpus);
    let outcome = py.detach(|| {
        let program = build(spec, threads, seed)?;
        simulate(&setup, &program)
    });
    as_dict(py, &outcome.map_err(invalid)?)
}

fn as_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("run_s", outcome.run_s)?;
    set_accounts(&dict, &outcome.accounts)?;
    dict.set_item("utilizations", outcome.utilizations)?;
    dict.set_item("messages", outcome.messages)?;
    dict.set_item("retries", outcome.retries)?;
    dict.set_item("accesses", outcome.accesses)?;
    dict.set_item("shared", outcome.shared)?;
    dict.set_item("page_bytes", outcome.page_bytes)?;
    dict.set_item("home_bytes", &outcome.home_bytes)?;
    dict.set_item("sharing", &outcome.sharing)?;
    let moments = outcome.moments.iter();
    dict.set_item(
        "moments",
        moments
            .map(|one| (one.end_s, &one.spent_s))
            .collect::<Vec<_>>(),
    )?;
    let allocations = outcome.allocations.iter().map(|one| {
        let remote = &one.remote;
        (
            one.name,
            one.bytes,
            remote.count,
            seconds(remote.time),
            remote.invalidations,
        )
    });
    dict.set_item("allocations", allocations.collect::<Vec<_>>())?;
    Ok(dict)
}

/// Set what the accounts of processors say, as both simulators report it.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn set_accounts(dict: &Bound<'_, PyDict>, accounts: &[Account]) -> PyResult<()> {
    let spent: Vec<_> = accounts.iter().map(|one| one.times.map(seconds)).collect();
    let counts: Vec<_> = accounts.iter().map(|one| one.counts).collect();
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
    dict.set_item("spent_s", spent)?;
    dict.set_item("counts", counts)?;
    dict.set_item("first_level_misses", sum(Account::first_level_misses))?;
    dict.set_item("to_others", sum(|one| one.to_others))?;
    dict.set_item("evictions", sum(|one| one.evictions))?;
    dict.set_item("own_shared", sum(|one| one.counts[Spent::Local as usize]))
}
