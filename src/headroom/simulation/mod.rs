//! The simulation kernel: an event loop over stations, pools and programs.
//!
//! A model is data ([`model`]); it is compiled to flat tables ([`mod@compile`], [`program`]) and run
//! ([`engine`]). A run is a function of (model, seed): time is an integer ([`time`]), each source
//! of randomness has its own stream ([`stream`]), and nothing here reads a clock or depends on a
//! hash. Statistics are exact integers in bounded memory ([`stations`], [`pools`], [`tally`],
//! [`classes`], [`snapshots`]), and the conservation laws are asserted at the end of every run
//! ([`invariants`]). `docs/background/simulation-kernel.md` tells the whole story.

pub mod alias;
mod amounts;
pub mod arrivals;
mod blocks;
mod cache;
pub mod calls;
mod changes;
pub mod choice;
pub mod classes;
pub mod compile;
pub mod deadlock;
pub mod distribution;
pub mod engine;
pub mod error;
pub mod event_queue;
pub mod expression;
mod frames;
mod giving_up;
pub mod histogram;
pub mod holdings;
pub mod intervals;
pub mod invariants;
pub mod jobs;
mod leaving;
pub mod line;
pub mod mechanism;
pub mod mechanisms;
pub mod mmpp;
pub mod model;
pub mod occupancy;
pub mod pools;
pub mod position_line;
pub mod program;
pub mod quantile;
pub mod rate_curve;

pub mod recorder;
pub mod result;
pub mod rows;
pub mod sampler;
pub mod series;
mod service;
pub mod sharing;
pub mod snapshots;
pub mod special;
pub mod stack_depth;
mod station_plans;
pub mod stations;
pub mod stream;
pub mod tally;
pub mod time;
mod walk;
pub mod zipf;

#[cfg(test)]
mod random_models;

pub use error::SimulationError;
pub use model::Stop;
pub use result::Outcome;

/// How one run goes.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Seed of all random streams.
    pub seed: u64,
    /// When the run ends, instead of the model's own limits where any is set.
    pub stop: Stop,
    /// Simulated time (time units) between two samples of the statistics.
    pub sample_every: Option<f64>,
    /// Simulated times (time units, rising) at which intervals end that have statistics of their own.
    pub interval_ends: Vec<f64>,
    /// Events to keep in the trace.
    pub trace_limit: usize,
    /// How variates are made of random numbers.
    pub sampling: distribution::Sampling,
}

/// Run the model in `json` once; `is_wanted` is asked now and then whether to go on.
///
/// `registry` makes the mechanisms that the model names; [`mechanism::none`] where it has none.
///
/// # Errors
///
/// Fails where the data are no valid model and where the run cannot be finished.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the wishes of one run, made where it is asked for"
)]
pub fn simulate(
    json: &[u8],
    options: RunOptions,
    registry: mechanism::Registry,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Outcome, SimulationError> {
    let model: model::Model = serde_json::from_slice(json)?;
    let mechanisms = calls::mechanisms(&model, options.seed, registry)?;
    let plan = compile::compile(&model, options.stop, options.sampling, &mechanisms)?;
    let wishes = engine::Wishes {
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
    engine::run(&plan, options.seed, wishes, mechanisms, is_wanted)
}

/// Draw `count` values from the distribution in `json` with the stream `key` of a run with `seed`.
///
/// The values are in the distribution's own unit; fewer come back where it ends before. For
/// looking at distributions; a run draws by itself.
///
/// # Errors
///
/// Fails where the data are no valid distribution.
pub fn draw(
    json: &[u8],
    seed: u64,
    key: u64,
    count: usize,
    sampling: distribution::Sampling,
) -> Result<Vec<f64>, SimulationError> {
    let law: distribution::Distribution = serde_json::from_slice(json)?;
    let mut sampler = law.compile_as(time::TICKS_PER_UNIT, sampling)?;
    let mut stream = stream::open(seed, key);
    let values = (0..count).map_while(|_| match sampler.draw(&mut stream) {
        distribution::Sampler::NO_VALUE if sampler.is_exhausted() => None,
        ticks => Some(ticks as f64 / time::TICKS_PER_UNIT),
    });
    Ok(values.collect())
}
