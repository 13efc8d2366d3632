//! Functions for Python; `native.pyi` has their types.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::measured::{Measured, Plan, Round, measure_beside};
use crate::memory::probe::counters::NAMES;

use super::{AnyProgram, Program, ProgramSpec, build};

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(program_memory, module)?)?;
    module.add_function(wrap_pyfunction!(run_program, module)?)
}

fn built(program: &[u8], threads: usize, seed: u64) -> PyResult<AnyProgram> {
    let spec: ProgramSpec = serde_json::from_slice(program)
        .map_err(|error| PyValueError::new_err(format!("no program: {error}")))?;
    build(spec, threads, seed).map_err(PyValueError::new_err)
}

/// Return the memory (B) that a program takes for its data.
#[pyfunction]
#[pyo3(signature = (program, *, threads))]
fn program_memory(py: Python<'_>, program: &[u8], threads: usize) -> PyResult<u64> {
    let program = py.detach(|| built(program, threads, 0))?;
    let allocations = program.allocations().iter();
    Ok(allocations.map(|allocation| allocation.bytes).sum())
}

/// Run a program natively, and check its result.
#[pyfunction]
#[pyo3(signature = (program, *, threads, seed, warm_runs, rounds, round_s, copies=1))]
#[allow(clippy::too_many_arguments, reason = "named in Python")]
fn run_program<'py>(
    py: Python<'py>,
    program: &[u8],
    threads: usize,
    seed: u64,
    warm_runs: usize,
    rounds: usize,
    round_s: f64,
    copies: usize,
) -> PyResult<Bound<'py, PyDict>> {
    if rounds == 0 || !round_s.is_finite() {
        return Err(PyValueError::new_err(format!(
            "{rounds} rounds of {round_s} s: there is at least one, of finite time"
        )));
    }
    let plan = Plan {
        warm_runs,
        rounds,
        round_s,
    };
    let measured = py.detach(|| {
        let copies = (0..copies.max(1)).map(|_| built(program, threads, seed));
        let copies = copies.collect::<PyResult<Vec<_>>>()?;
        Ok::<_, PyErr>(measure_beside(&copies, plan))
    })?;
    measured_dict(py, &measured)
}

fn measured_dict<'py>(py: Python<'py>, measured: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let rounds = measured.rounds.iter().map(|round| round_dict(py, round));
    let dict = PyDict::new(py);
    dict.set_item("phases", measured.phases)?;
    dict.set_item("rounds", rounds.collect::<PyResult<Vec<_>>>()?)?;
    let deviations: Vec<_> = measured
        .check
        .iter()
        .flat_map(|check| &check.deviations)
        .map(|one| (one.name, one.value, one.bound))
        .collect();
    dict.set_item("deviations", deviations)?;
    dict.set_item("fault", measured.check.as_ref().err())?;
    Ok(dict)
}

fn round_dict<'py>(py: Python<'py>, round: &Round) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("runs", round.runs)?;
    dict.set_item("wall_s", round.wall_s)?;
    let busy: Vec<f64> = round.threads.iter().map(|thread| thread.busy_s).collect();
    let cpu: Vec<f64> = round.threads.iter().map(|thread| thread.cpu_s).collect();
    dict.set_item("busy_s", busy)?;
    dict.set_item("cpu_s", cpu)?;
    let counters = PyDict::new(py);
    for (at, name) in NAMES.into_iter().enumerate() {
        let counts = round.threads.iter().map(|thread| thread.counts[at]);
        if let Some(sum) = counts.sum::<Option<f64>>() {
            counters.set_item(name, sum)?;
        }
    }
    dict.set_item("counters", counters)?;
    Ok(dict)
}
