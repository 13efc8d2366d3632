//! Functions for Python; `native.pyi` has their types.

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cells::{Cell, Insertion, Loaded};
use super::measured::{self, Rounds};
use super::modelled::{self, Simulated};
use super::store::StoreError;
use super::store::index::Index;
use super::store::spec::Spec;
use super::upkeep;
use crate::memory;
use crate::memory::caches::machine::MachineSpec;
use crate::python::floats;

/// Add the functions to the module.
///
/// # Errors
///
/// Fails if Python raises an error.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()?;
    module.add("MEASURED_CODE", env!("HEADROOM_RECORDS_MEASURED"))?;
    module.add("MODELLED_CODE", env!("HEADROOM_RECORDS_MODELLED"))?;
    module.add_function(wrap_pyfunction!(footprint, module)?)
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableSpec {
    table: Spec,
    insertion: Insertion,
    index_is_grown: bool,
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> PyResult<T> {
    serde_json::from_slice(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn raised(error: StoreError) -> PyErr {
    match error {
        StoreError::NoMemory(why) => PyMemoryError::new_err(why),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Return the memory that a table takes, without making it.
#[pyfunction]
fn footprint<'py>(py: Python<'py>, spec: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let TableSpec { table: spec, .. } = parsed(spec)?;
    spec.check().map_err(raised)?;
    let dict = PyDict::new(py);
    dict.set_item("records_per_node", spec.records_per_node())?;
    dict.set_item("area_bytes", spec.node_area_bytes())?;
    // Half of what is reserved for the index is what it takes at most without removals.
    let index = Index::most_bytes(spec.index_bytes, spec.most_entries()) / 2;
    dict.set_item("index_bytes", index)?;
    dict.set_item("node_bytes", spec.most_nodes() * spec.node_bytes)?;
    Ok(dict)
}

/// A table with records.
#[pyclass(module = "headroom._core")]
struct Table {
    loaded: Loaded,
}

#[pymethods]
impl Table {
    #[new]
    fn new(py: Python<'_>, spec: &[u8]) -> PyResult<Self> {
        let asked: TableSpec = parsed(spec)?;
        let make = || Loaded::new(asked.table, asked.insertion, asked.index_is_grown);
        let loaded = py.detach(make).map_err(raised)?;
        Ok(Self { loaded })
    }

    /// Return facts about the table.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = &self.loaded.table;
        let dict = PyDict::new(py);
        dict.set_item("records", table.len())?;
        dict.set_item("nodes", table.directory().len())?;
        dict.set_item("index_height", table.index().height())?;
        dict.set_item("index_bytes", table.index().used_bytes())?;
        dict.set_item("huge_bytes", table.huge_bytes())?;
        Ok(dict)
    }

    /// Check all invariants.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.loaded.table.check())
            .map_err(PyValueError::new_err)
    }

    #[pyo3(signature = (*, cell, rounds, round_s, most_s, warm_up, is_cold, seed))]
    #[allow(clippy::too_many_arguments, reason = "keywords on the side of Python")]
    fn measure<'py>(
        &mut self,
        py: Python<'py>,
        cell: &[u8],
        rounds: usize,
        round_s: f64,
        most_s: f64,
        warm_up: usize,
        is_cold: bool,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let cell: Cell = parsed(cell)?;
        let rounds = Rounds {
            count: rounds,
            least_s: round_s,
            most_s,
            warm_up,
            is_cold,
        };
        let found = py
            .detach(|| measured::measure(&mut self.loaded, cell, rounds, seed))
            .map_err(raised)?;
        let dict = PyDict::new(py);
        dict.set_item("cpu_s", floats(py, &found.cpu_s)?)?;
        dict.set_item("wall_s", floats(py, &found.wall_s)?)?;
        dict.set_item("visits", found.visits)?;
        dict.set_item("runs", found.runs)?;
        let counters = memory::readings(py, found.counters)?;
        dict.set_item("counters", counters)?;
        Ok(dict)
    }

    #[pyo3(signature = (*, cell, machine, warm_up, seed))]
    fn simulate<'py>(
        &mut self,
        py: Python<'py>,
        cell: &[u8],
        machine: &[u8],
        warm_up: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let cell: Cell = parsed(cell)?;
        let machine: MachineSpec = parsed(machine)?;
        let mut simulated = Simulated::new(machine).map_err(PyValueError::new_err)?;
        let visits = py
            .detach(|| modelled::simulate(&mut self.loaded, cell, &mut simulated, warm_up, seed))
            .map_err(raised)?;
        let dict = memory::counts(py, &simulated.machine)?;
        dict.set_item("visits", visits)?;
        dict.set_item("lone", simulated.lone.clone())?;
        dict.set_item("second", simulated.second.clone())?;
        dict.set_item("streamed", simulated.streamed.clone())?;
        let names = [
            "comparisons",
            "index_nodes",
            "record_nodes",
            "records",
            "copied_bytes",
        ];
        for (name, count) in names.iter().zip(simulated.work) {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    #[pyo3(signature = (*, upkeep, updates, seed))]
    fn keep_up<'py>(
        &mut self,
        py: Python<'py>,
        upkeep: &[u8],
        updates: u64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let upkeep = parsed(upkeep)?;
        let kept = py
            .detach(|| upkeep::measure(&mut self.loaded, upkeep, updates, seed))
            .map_err(PyOSError::new_err)?;
        let dict = PyDict::new(py);
        dict.set_item("wall_s", kept.wall_s)?;
        dict.set_item("updates", kept.updates)?;
        dict.set_item("bytes", kept.bytes)?;
        Ok(dict)
    }
}
