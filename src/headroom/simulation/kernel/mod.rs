//! The simulation kernel: an event loop over stations, pools and programs.
//!
//! A model is data ([`model`](plan::model)); it is compiled to flat tables
//! ([`compile`](plan::compile), [`program`](plan::program)) and run ([`engine`](run::engine)). A
//! run is a function of (model, seed): time is an integer ([`time`]), each source of randomness has
//! its own stream ([`stream`](random::stream)), and nothing here reads a clock or depends on a
//! hash. Statistics are exact integers in bounded memory ([`stations`](places::stations),
//! [`pools`](places::pools), [`tally`](places::tally), [`classes`](statistics::classes),
//! [`snapshots`](statistics::snapshots)), and the conservation laws are asserted at the end of
//! every run ([`invariants`](run::invariants)). See `docs/background/simulation-kernel.md` for
//! details.

pub mod error;
pub mod places;
pub mod plan;
pub mod random;
pub mod run;
pub mod statistics;
pub mod time;

pub use error::SimulationError;
pub use plan::model::Stop;
pub use run::result::Outcome;

/// The options of one run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Seed of all random streams.
    pub seed: u64,
    /// When the run ends, instead of the model's own limits, if any is set.
    pub stop: Stop,
    /// Simulated time (time units) between two samples of the statistics.
    pub sample_every: Option<f64>,
    /// Simulated times (time units, rising) at which intervals end that have statistics of their own.
    pub interval_ends: Vec<f64>,
    /// Waits to keep by size.
    pub waits: Vec<statistics::waits::WaitsOf>,
    /// Events to keep in the trace.
    pub trace_limit: usize,
    /// The method of turning random numbers into variates.
    pub sampling: random::distribution::Sampling,
}

/// Run the model in `json` once; `is_wanted` is asked now and then whether to continue.
///
/// `registry` makes the mechanisms that the model names; [`plan::mechanism::none`] if it has none.
///
/// # Errors
///
/// Fails if the data are not a valid model, or if the run cannot be finished.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the options of one run, made by its caller"
)]
pub fn simulate(
    json: &[u8],
    options: RunOptions,
    registry: plan::mechanism::Registry,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Outcome, SimulationError> {
    let model: plan::model::Model = serde_json::from_slice(json)?;
    let mechanisms = plan::calls::mechanisms(&model, options.seed, registry)?;
    let mut plan = plan::compile::compile(&model, options.stop, options.sampling, &mechanisms)?;
    let waits = statistics::waits::Waits::new(&options.waits, &mut plan);
    let wishes = run::engine::Wishes {
        waits,
        sample_ticks: options
            .sample_every
            .map(|interval| time::whole_ticks(interval * time::TICKS_PER_UNIT)),
        interval_ends: options
            .interval_ends
            .iter()
            .map(|end| {
                time::SimTime::from_ticks(time::whole_ticks(libm::round(
                    end * time::TICKS_PER_UNIT,
                )))
            })
            .collect(),
        trace_limit: options.trace_limit,
    };
    run::engine::run(&plan, options.seed, wishes, mechanisms, is_wanted)
}

/// Draw `count` values from the distribution in `json` with the stream `key` of a run with `seed`.
///
/// The values are in the distribution's own unit, infinite if too large for the clock; fewer come
/// back if it ends before. For looking at distributions; a run draws by itself.
///
/// # Errors
///
/// Fails if the data are not a valid distribution.
pub fn draw(
    json: &[u8],
    seed: u64,
    key: u64,
    count: usize,
    sampling: random::distribution::Sampling,
) -> Result<Vec<f64>, SimulationError> {
    let law: random::distribution::Distribution = serde_json::from_slice(json)?;
    let mut sampler = law.compile_as(time::TICKS_PER_UNIT, sampling)?;
    let mut stream = random::stream::open(seed, key);
    let values = (0..count).map_while(|_| match sampler.draw(&mut stream) {
        random::distribution::Sampler::NO_VALUE if sampler.is_exhausted() => None,
        time::BEYOND => Some(f64::INFINITY),
        ticks => Some(ticks as f64 / time::TICKS_PER_UNIT),
    });
    Ok(values.collect())
}
