//! The extension module `headroom._core`: conversion only, no branch on domain values.
//!
//! The functions of a layer are in the folder of the layer; `layers` hands them on.

use pyo3::prelude::*;

/// Compiled core of Headroom.
#[pymodule]
mod _core {
    use headroom::python::{bins_dict, floats, integers};
    use headroom::simulation::kernel::plan::mechanism::{Made, Parameters, Unit};
    use headroom::simulation::kernel::random::stream::Stream;
    use headroom::simulation::kernel::run::result::{
        HistogramTable, IntervalTables, OccupancyTable, Outcome, TableSet, Trace,
    };
    use headroom::simulation::kernel::statistics::waits::WaitsOf;
    use headroom::simulation::kernel::{self, RunOptions, Stop};
    use headroom::simulation::python::{histogram_dict, series_dict, table_dict};
    use headroom::systems;
    use pyo3::create_exception;
    use pyo3::exceptions::{PyException, PyValueError};
    use pyo3::prelude::*;
    use pyo3::types::{PyDict, PyTuple};

    create_exception!(
        headroom._core,
        KernelError,
        PyException,
        "A model that cannot be run, or a run that had to stop: message, cure, and name of the program \
         or class, step and whether it is a class, or None."
    );

    /// Export what the build was made of.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("KernelError", module.py().get_type::<KernelError>())?;
        let layers = systems::python_layers(module.py())?;
        let recording = PyModule::new(module.py(), "recording")?;
        headroom::recording::launching::register(&recording)?;
        layers.set_item("recording", recording)?;
        #[cfg(target_os = "linux")]
        {
            let memory = PyModule::new(module.py(), "memory")?;
            headroom::memory::register(&memory)?;
            layers.set_item("memory", memory)?;
        }
        module.add("layers", layers)?;
        let kinds = PyTuple::new(
            module.py(),
            [
                &kernel::plan::mechanisms::KINDS[..],
                &systems::mechanism_kinds(),
            ]
            .concat(),
        )?;
        module.add("MECHANISM_KINDS", kinds)?;
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
    #[allow(clippy::too_many_arguments, reason = "keywords on the side of Python")]
    #[pyfunction]
    #[pyo3(signature = (
        *, model, seed, completions = None, time = None, sample_every = None,
        interval_ends = Vec::new(), waits = Vec::new(), trace_limit = 0, sampling = "fast"
    ))]
    fn simulate<'py>(
        py: Python<'py>,
        model: &[u8],
        seed: u64,
        completions: Option<u64>,
        time: Option<f64>,
        sample_every: Option<f64>,
        interval_ends: Vec<f64>,
        waits: Vec<(bool, String, Option<String>)>,
        trace_limit: usize,
        sampling: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut signal: Option<PyErr> = None;
        let mut is_wanted = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        let options = RunOptions {
            seed,
            stop: Stop { completions, time },
            sample_every,
            interval_ends,
            waits: waits
                .into_iter()
                .map(|(is_pool, row, class)| WaitsOf {
                    is_pool,
                    row,
                    class,
                })
                .collect(),
            trace_limit,
            sampling: sampling.parse().map_err(|error| raise(&error))?,
        };
        let outcome = py.detach(|| kernel::simulate(model, options, registry, &mut is_wanted));
        match (signal, outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => outcome_dict(py, outcome.map_err(|error| raise(&error))?),
        }
    }

    /// Make a mechanism of any part of Headroom.
    fn registry(kind: &str, parameters: &Parameters, stream: Stream) -> Option<Made> {
        kernel::plan::mechanisms::mechanism(kind, parameters, stream.clone())
            .or_else(|| systems::mechanism(kind, parameters, stream))
    }

    /// A function of a mechanism: its name, its arguments, and whether it returns seconds.
    type FunctionRow = (&'static str, Vec<&'static str>, bool);

    /// Return the functions of a mechanism, each with its arguments and whether it returns seconds;
    /// None if the kind is unknown. Raises `ValueError` for wrong parameters.
    #[pyfunction]
    #[pyo3(signature = (*, kind, parameters))]
    fn mechanism_functions(kind: &str, parameters: &[u8]) -> PyResult<Option<Vec<FunctionRow>>> {
        let functions = kernel::plan::calls::functions(kind, parameters, registry);
        functions.map_err(PyValueError::new_err).map(|found| {
            found.map(|functions| {
                let described = functions
                    .iter()
                    .map(|one| (one.name, one.arguments.to_vec(), one.unit == Unit::Seconds));
                described.collect()
            })
        })
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
            .detach(|| kernel::plan::arrivals::draw(process, seed, key, count))
            .map_err(|error| raise(&error))?;
        floats(py, &times)
    }

    fn raise(error: &kernel::SimulationError) -> PyErr {
        let place = error
            .place()
            .map(|one| (one.name.clone(), one.step, one.is_class));
        KernelError::new_err((error.to_string(), error.cure(), place))
    }

    fn outcome_dict(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("snapshots", table_set_dict(py, outcome.snapshots)?)?;
        if let Some(samples) = outcome.samples {
            dict.set_item("samples", table_set_dict(py, samples)?)?;
        }
        if let Some(intervals) = outcome.intervals {
            dict.set_item("intervals", intervals_dict(py, intervals)?)?;
        }
        if let Some(trace) = &outcome.trace {
            dict.set_item("trace", trace_dict(py, trace)?)?;
        }
        let series = outcome.series.iter().map(|series| series_dict(py, series));
        dict.set_item("series", series.collect::<PyResult<Vec<_>>>()?)?;
        dict.set_item("histograms", histograms(py, &outcome.histograms)?)?;
        let occupancies = outcome
            .occupancies
            .iter()
            .map(|one| occupancy_dict(py, one));
        dict.set_item("occupancies", occupancies.collect::<PyResult<Vec<_>>>()?)?;
        dict.set_item("event_count", outcome.event_count)?;
        dict.set_item("visit_count", outcome.visit_count)?;
        dict.set_item("simulated_s", outcome.simulated_s)?;
        Ok(dict)
    }

    fn table_set_dict(py: Python<'_>, set: TableSet) -> PyResult<Bound<'_, PyDict>> {
        let row_count = set.times_s.len();
        let dict = PyDict::new(py);
        dict.set_item("times_s", floats(py, &set.times_s)?)?;
        dict.set_item("stations", table_dict(py, set.stations, row_count)?)?;
        dict.set_item("pools", table_dict(py, set.pools, row_count)?)?;
        dict.set_item("classes", table_dict(py, set.classes, row_count)?)?;
        dict.set_item("visits", table_dict(py, set.visits, row_count)?)?;
        dict.set_item("requests", table_dict(py, set.requests, row_count)?)?;
        Ok(dict)
    }

    fn intervals_dict(py: Python<'_>, intervals: IntervalTables) -> PyResult<Bound<'_, PyDict>> {
        let row_count = intervals.tables.times_s.len();
        let counts = [
            intervals.tables.stations.names.len(),
            intervals.tables.pools.names.len(),
        ];
        let dict = table_set_dict(py, intervals.tables)?;
        dict.set_item("histograms", histograms(py, &intervals.histograms)?)?;
        let by_row = |values: &[f64], columns: usize| {
            floats(py, values)?.call_method1("reshape", ((row_count, columns),))
        };
        dict.set_item(
            "station_queue_max",
            by_row(&intervals.station_queue_max, counts[0])?,
        )?;
        dict.set_item(
            "pool_queue_max",
            by_row(&intervals.pool_queue_max, counts[1])?,
        )?;
        Ok(dict)
    }

    fn trace_dict<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("time_s", floats(py, &trace.time_s)?)?;
        dict.set_item("kind", integers(py, &trace.kind)?)?;
        dict.set_item("job", integers(py, &trace.job)?)?;
        dict.set_item("klass", integers(py, &trace.class)?)?;
        dict.set_item("resource", integers(py, &trace.resource)?)?;
        dict.set_item("is_truncated", trace.is_truncated)?;
        Ok(dict)
    }

    fn occupancy_dict<'py>(
        py: Python<'py>,
        occupancy: &OccupancyTable,
    ) -> PyResult<Bound<'py, PyDict>> {
        bins_dict(
            py,
            &occupancy.bin_low,
            &occupancy.bin_high,
            &occupancy.counts,
            &occupancy.segment_end_times_s,
        )
    }

    fn histograms<'py>(
        py: Python<'py>,
        tables: &[HistogramTable],
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        tables.iter().map(|one| histogram_dict(py, one)).collect()
    }
}
