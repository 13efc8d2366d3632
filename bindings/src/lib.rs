//! The extension module `headroom._core`: conversion only, no branch on domain values.
//!
//! Arrays cross as bytes that `NumPy` wraps without a copy: read-only, and without a crate whose
//! dependencies would turn on `num-traits/std` (see the core's `Cargo.toml`).

use pyo3::prelude::*;

/// Compiled core of Headroom.
#[pymodule]
mod _core {
    use headroom::simulation::result::{HistogramTable, Outcome, SeriesTable, Table};
    use headroom::simulation::{self as kernel, Stop};
    use pyo3::create_exception;
    use pyo3::exceptions::PyException;
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict, PyList};

    create_exception!(
        headroom._core,
        KernelError,
        PyException,
        "A model that cannot be run, or a run that had to stop: message and cure."
    );

    /// Export what the build was made of.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("KernelError", module.py().get_type::<KernelError>())?;
        let launcher = PyBytes::new(module.py(), headroom::systems::command::LAUNCHER);
        module.add("LAUNCHER", launcher)?;
        module.add(
            "BUILD_PROFILE",
            if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
        )
    }

    /// Run a model once; see `headroom.simulation.simulate`.
    #[allow(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is not general enough over the lifetime of the token"
    )]
    #[pyfunction]
    #[pyo3(signature = (*, model, seed, completions = None, time = None))]
    fn simulate<'py>(
        py: Python<'py>,
        model: &[u8],
        seed: u64,
        completions: Option<u64>,
        time: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut signal: Option<PyErr> = None;
        let mut is_wanted = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        let stop = Stop { completions, time };
        let outcome = py.detach(|| kernel::simulate(model, seed, stop, &mut is_wanted));
        match (signal, outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => outcome_dict(py, &outcome.map_err(|error| raise(&error))?),
        }
    }

    /// Draw values of a distribution; see `headroom.simulation.Distribution.draw`.
    #[pyfunction]
    #[pyo3(signature = (*, distribution, seed, key, count, sampling = "fast"))]
    fn draw<'py>(
        py: Python<'py>,
        distribution: &[u8],
        seed: u64,
        key: u64,
        count: usize,
        sampling: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sampling = sampling.parse().map_err(|error| raise(&error))?;
        let values = py
            .detach(|| kernel::draw(distribution, seed, key, count, sampling))
            .map_err(|error| raise(&error))?;
        floats(py, &values)
    }

    /// Draw arrival times; see `headroom.simulation.ArrivalProcess.draw`.
    #[pyfunction]
    #[pyo3(signature = (*, process, seed, key, count))]
    fn draw_arrivals<'py>(
        py: Python<'py>,
        process: &[u8],
        seed: u64,
        key: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let times = py
            .detach(|| kernel::arrivals::draw(process, seed, key, count))
            .map_err(|error| raise(&error))?;
        floats(py, &times)
    }

    fn raise(error: &kernel::SimulationError) -> PyErr {
        KernelError::new_err((error.to_string(), error.cure()))
    }

    fn outcome_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("snapshot_times_s", floats(py, &outcome.snapshot_times_s)?)?;
        let snapshot_count = outcome.snapshot_times_s.len();
        dict.set_item(
            "stations",
            table_dict(py, &outcome.stations, snapshot_count)?,
        )?;
        dict.set_item("pools", table_dict(py, &outcome.pools, snapshot_count)?)?;
        dict.set_item("classes", table_dict(py, &outcome.classes, snapshot_count)?)?;
        let series = outcome.series.iter().map(|series| series_dict(py, series));
        dict.set_item(
            "series",
            PyList::new(py, series.collect::<PyResult<Vec<_>>>()?)?,
        )?;
        let histograms = outcome
            .histograms
            .iter()
            .map(|histogram| histogram_dict(py, histogram));
        dict.set_item(
            "histograms",
            PyList::new(py, histograms.collect::<PyResult<Vec<_>>>()?)?,
        )?;
        dict.set_item("event_count", outcome.event_count)?;
        dict.set_item("visit_count", outcome.visit_count)?;
        dict.set_item("simulated_s", outcome.simulated_s)?;
        Ok(dict)
    }

    fn table_dict<'py>(
        py: Python<'py>,
        table: &Table,
        snapshot_count: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let shape = (snapshot_count, table.names.len());
        let columns = PyDict::new(py);
        for (name, values) in &table.columns {
            columns.set_item(name, floats(py, values)?.call_method1("reshape", (shape,))?)?;
        }
        let maxima = PyDict::new(py);
        for (name, values) in &table.maxima {
            maxima.set_item(name, floats(py, values)?)?;
        }
        let dict = PyDict::new(py);
        dict.set_item("names", &table.names)?;
        dict.set_item("capacity", floats(py, &table.capacity)?)?;
        dict.set_item("columns", columns)?;
        dict.set_item("maxima", maxima)?;
        Ok(dict)
    }

    fn series_dict<'py>(py: Python<'py>, series: &SeriesTable) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("values", floats(py, &series.values)?)?;
        dict.set_item("batch_size", series.batch_size)?;
        dict.set_item("end_times_s", floats(py, &series.end_times_s)?)?;
        Ok(dict)
    }

    fn histogram_dict<'py>(
        py: Python<'py>,
        histogram: &HistogramTable,
    ) -> PyResult<Bound<'py, PyDict>> {
        let shape = (histogram.segment_end_times_s.len(), histogram.bin_low.len());
        let counts = integers(py, &histogram.counts)?.call_method1("reshape", (shape,))?;
        let dict = PyDict::new(py);
        dict.set_item("bin_low", floats(py, &histogram.bin_low)?)?;
        dict.set_item("bin_high", floats(py, &histogram.bin_high)?)?;
        dict.set_item("counts", counts)?;
        dict.set_item(
            "segment_end_times_s",
            floats(py, &histogram.segment_end_times_s)?,
        )?;
        Ok(dict)
    }

    fn floats<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyAny>> {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        array(py, &bytes, "f8")
    }

    /// Counts are below 2^63, so they read the same as signed numbers.
    fn integers<'py>(py: Python<'py>, values: &[u64]) -> PyResult<Bound<'py, PyAny>> {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        array(py, &bytes, "i8")
    }

    fn array<'py>(py: Python<'py>, bytes: &[u8], kind: &str) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?
            .call_method1("frombuffer", (PyBytes::new(py, bytes), kind))
    }
}
