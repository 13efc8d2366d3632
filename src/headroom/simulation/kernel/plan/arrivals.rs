//! Arrival processes other than sequences of independent gaps: bursty, changing, or recorded.
//!
//! Invariant: an arrival process runs on its own clock, from time 0, and takes its random numbers
//! from one stream, so the arrivals do not depend on what the system does with them. It keeps no
//! more than its plan and its position.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_distr::{Distribution as _, Exp1};
use serde::Deserialize;

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::model::Expression;
use crate::simulation::kernel::random::mmpp::MmppPlan;
use crate::simulation::kernel::random::quantile::Sampling;
use crate::simulation::kernel::random::rate_curve::{Position, RateCurve};
use crate::simulation::kernel::random::stream::Stream;
use crate::simulation::kernel::time::{SimTime, TICKS_PER_UNIT, whole_ticks};

/// An arrival process as stated in the model; times in time units, rates in 1/time unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Process {
    /// Poisson arrivals whose rate jumps among states.
    Mmpp {
        /// Rate of arrivals in each state.
        rates: Vec<f64>,
        /// Rate of the jumps from state (row) to state (column); the diagonal is 0.
        switch_rates: Vec<Vec<f64>>,
    },
    /// Poisson arrivals whose rate changes at given times.
    ChangingRate {
        /// Start of each piece; the first is 0.
        times: Vec<f64>,
        /// Rate in each piece; the last one holds on, or up to the period.
        rates: Vec<f64>,
        /// The time when the curve starts again.
        period: Option<f64>,
    },
    /// Recorded arrivals.
    Trace {
        /// Times of the arrivals, not falling.
        times: Vec<f64>,
        /// Attributes of each job: name to one number per arrival.
        #[serde(default)]
        attributes: BTreeMap<String, Vec<f64>>,
    },
    /// Arrivals that a job of their own computes, one after the other.
    Computed {
        /// Attributes of each job, computed in this order before the wait for it.
        #[serde(default)]
        sets: Vec<Carried>,
        /// The arrivals end when this is 0.
        goes_on: Option<Expression>,
        /// Time until the job arrives.
        wait: Expression,
    },
}

/// An attribute that an arriving job carries.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    /// Name of the attribute.
    pub attribute: String,
    /// Its value.
    pub value: Expression,
}

/// An arrival process as compiled; a clone shares its tables.
#[derive(Clone, Debug)]
pub struct ArrivalPlan {
    shape: Shape,
    sampling: Sampling,
}

#[derive(Clone, Debug)]
enum Shape {
    Mmpp(Arc<MmppPlan>),
    ChangingRate(Arc<RateCurve>),
    Trace(Arc<Trace>),
}

#[derive(Debug)]
struct Trace {
    times: Box<[u64]>,
    names: Box<[String]>,
    /// Row after row, a column for each name.
    attributes: Box<[f64]>,
}

impl Process {
    /// Compile for a clock of `scale` ticks in a time unit.
    ///
    /// # Errors
    ///
    /// Fails where the process contradicts itself or never brings an arrival.
    pub fn compile(&self, scale: f64) -> Result<ArrivalPlan, SimulationError> {
        self.compile_as(scale, Sampling::Fast)
    }

    /// Compile for a clock of `scale` ticks in a time unit, drawing as `sampling` says.
    ///
    /// # Errors
    ///
    /// Fails where the process contradicts itself or never brings an arrival.
    pub fn compile_as(
        &self,
        scale: f64,
        sampling: Sampling,
    ) -> Result<ArrivalPlan, SimulationError> {
        let (name, shape) = match self {
            Self::Mmpp {
                rates,
                switch_rates,
            } => (
                "mmpp",
                MmppPlan::new(rates, switch_rates, scale).map(|plan| Shape::Mmpp(plan.into())),
            ),
            Self::ChangingRate {
                times,
                rates,
                period,
            } => (
                "changing_rate",
                RateCurve::new(times, rates, *period, scale)
                    .map(|curve| Shape::ChangingRate(curve.into())),
            ),
            Self::Trace { times, attributes } => (
                "trace",
                Trace::new(times, attributes, scale).map(|trace| Shape::Trace(trace.into())),
            ),
            Self::Computed { .. } => ("computed", Err("only a run computes them".to_owned())),
        };
        match shape {
            Ok(shape) => Ok(ArrivalPlan { shape, sampling }),
            Err(reason) => Err(SimulationError::Invalid(format!("{name}: {reason}"))),
        }
    }
}

impl ArrivalPlan {
    /// Return the names of the attributes that a trace brings, in the order of its columns.
    pub fn attribute_names(&self) -> &[String] {
        match &self.shape {
            Shape::Trace(trace) => &trace.names,
            Shape::Mmpp(_) | Shape::ChangingRate(_) => &[],
        }
    }
}

impl Trace {
    fn new(
        times: &[f64],
        attributes: &BTreeMap<String, Vec<f64>>,
        scale: f64,
    ) -> Result<Self, String> {
        if times.is_empty() {
            return Err("there is no arrival".to_owned());
        }
        if !times.iter().all(|time| time.is_finite() && *time >= 0.0) {
            return Err("a time is negative or not a number".to_owned());
        }
        if !times.is_sorted() {
            return Err("the times are not in order".to_owned());
        }
        for (name, values) in attributes {
            if values.len() != times.len() || !values.iter().all(|value| value.is_finite()) {
                return Err(format!(
                    "attribute '{name}' needs a number for each arrival"
                ));
            }
        }
        let rows = 0..times.len();
        let row = |index: usize| attributes.values().map(move |values| values[index]);
        Ok(Self {
            times: times.iter().map(|time| whole_ticks(time * scale)).collect(),
            names: attributes.keys().cloned().collect(),
            attributes: rows.flat_map(row).collect(),
        })
    }

    fn row(&self, index: usize) -> &[f64] {
        let width = self.names.len();
        &self.attributes[index * width..(index + 1) * width]
    }
}

/// An arrival process in a run.
#[derive(Clone, Debug)]
pub struct Arrivals {
    source: Source,
    stream: Stream,
    sampling: Sampling,
}

#[derive(Clone, Debug)]
enum Source {
    /// State and time of the last arrival.
    Mmpp(Arc<MmppPlan>, u32, SimTime),
    ChangingRate(Arc<RateCurve>, Position),
    /// Place of the next arrival.
    Trace(Arc<Trace>, usize),
}

impl Arrivals {
    /// Start the process of `plan` at time 0, drawing from `stream`.
    pub fn new(plan: &ArrivalPlan, mut stream: Stream) -> Self {
        let source = match &plan.shape {
            Shape::Mmpp(mmpp) => {
                Source::Mmpp(Arc::clone(mmpp), mmpp.start(&mut stream), SimTime::ZERO)
            }
            Shape::ChangingRate(curve) => {
                Source::ChangingRate(Arc::clone(curve), Position::default())
            }
            Shape::Trace(trace) => Source::Trace(Arc::clone(trace), 0),
        };
        Self {
            source,
            stream,
            sampling: plan.sampling,
        }
    }

    /// Return the time of the next arrival; earlier arrivals are skipped.
    ///
    /// None if nothing arrives any more: a trace has ended, or all later rates are 0. A time that
    /// cannot be represented is [`SimTime::MAX`].
    #[inline]
    pub fn next(&mut self, now: SimTime) -> Option<SimTime> {
        loop {
            let time = self.step()?;
            if time >= now {
                return Some(time);
            }
        }
    }

    /// Return the attributes of the last returned arrival, in the order of the plan's
    /// `attribute_names`; nothing before the first one.
    pub fn attributes(&self) -> &[f64] {
        match &self.source {
            Source::Trace(trace, next) if *next > 0 => trace.row(next - 1),
            _ => &[],
        }
    }

    fn step(&mut self) -> Option<SimTime> {
        let sampling = self.sampling;
        let unit = |stream: &mut Stream| unit_exponential(stream, sampling);
        match &mut self.source {
            Source::Mmpp(plan, state, last) => {
                let gap = plan.gap(state, &mut self.stream, unit);
                *last = last.after(whole_ticks(gap)).unwrap_or(SimTime::MAX);
                Some(*last)
            }
            Source::ChangingRate(curve, position) => curve
                .advance(position, unit(&mut self.stream))
                .map(SimTime::from_ticks),
            Source::Trace(trace, next) => {
                let time = trace.times.get(*next)?;
                *next += 1;
                Some(SimTime::from_ticks(*time))
            }
        }
    }
}

#[inline]
fn unit_exponential(stream: &mut Stream, sampling: Sampling) -> f64 {
    match sampling {
        Sampling::Fast => Exp1.sample(stream),
        Sampling::Inversion | Sampling::Antithetic => -libm::log(sampling.tails(stream).1),
    }
}

/// Return the first `count` arrivals (time units) of the process in `json`, for looking at it;
/// fewer if it ends before.
///
/// # Errors
///
/// Fails if the data are not a valid process.
pub fn draw(json: &[u8], seed: u64, key: u64, count: usize) -> Result<Vec<f64>, SimulationError> {
    let process: Process = serde_json::from_slice(json)?;
    let plan = process.compile(TICKS_PER_UNIT)?;
    let mut arrivals = Arrivals::new(
        &plan,
        crate::simulation::kernel::random::stream::open(seed, key),
    );
    let next = |_| arrivals.next(SimTime::ZERO);
    let times = (0..count).map_while(next);
    let times = times.take_while(|time| *time < SimTime::MAX);
    Ok(times
        .map(|time| time.ticks() as f64 / TICKS_PER_UNIT)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::kernel::random::stream;

    fn arrivals(json: &str, seed: u64) -> Arrivals {
        let process: Process = serde_json::from_str(json).expect("a process");
        let plan = process.compile(1e9).expect("a plan");
        Arrivals::new(&plan, stream::open(seed, 1))
    }

    fn times(json: &str, count: usize) -> Vec<f64> {
        draw(json.as_bytes(), 1, 1, count).expect("arrivals")
    }

    const BURSTY: &str = r#"{"kind":"mmpp","rates":[20,1],"switch_rates":[[0,0.5],[0.125,0]]}"#;

    /// Oracle: rate 20 x 0.2 + 1 x 0.8 = 4.8, and by the cookbook's formula the asymptotic index
    /// of dispersion 1 + 2 (20 - 1)^2 x 0.5 x 0.125 / (0.625^2 x (20 x 0.125 + 1 x 0.5)) = 39.5.
    /// The bounds are 4 standard errors of 2000 windows of 200 time units.
    #[test]
    fn a_bursty_process_has_the_rate_and_the_dispersion_of_the_formula() {
        let mut process = arrivals(BURSTY, 1);
        let mut counts = vec![0.0_f64; 2000];
        let end = 2000 * 200_000_000_000_u64;
        while let Some(time) = process
            .next(SimTime::ZERO)
            .filter(|time| time.ticks() < end)
        {
            let window = time.ticks() / 200_000_000_000;
            counts[usize::try_from(window).expect("small")] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 2000.0;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1999.0;
        let dispersion: f64 = 1.0 + 2.0 * 361.0 * 0.0625 / (0.390_625 * 3.0);
        assert!((mean / 960.0 - 1.0).abs() < 4.0 * (dispersion / 960.0 / 2000.0).sqrt());
        assert!((variance / mean / dispersion - 1.0).abs() < 4.0 * (2.0 / 2000.0_f64).sqrt());
    }

    /// Oracle: with one rate the gaps are exponential; Kolmogorov's bound at 0.1% is 1.95.
    #[test]
    fn a_rate_that_does_not_change_is_a_poisson_process() {
        for json in [
            r#"{"kind":"mmpp","rates":[2],"switch_rates":[[0]]}"#,
            r#"{"kind":"mmpp","rates":[2,2],"switch_rates":[[0,5],[1,0]]}"#,
            r#"{"kind":"changing_rate","times":[0],"rates":[2]}"#,
            r#"{"kind":"changing_rate","times":[0,0.3],"rates":[2,2],"period":0.7}"#,
        ] {
            let times = times(json, 20_000);
            let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_by(f64::total_cmp);
            let count = gaps.len() as f64;
            let distance = gaps.iter().enumerate().map(|(index, gap)| {
                let share = 1.0 - libm::exp(-2.0 * gap);
                let (below, above) = (index as f64 / count, (index as f64 + 1.0) / count);
                (share - below).abs().max((share - above).abs())
            });
            let distance = distance.fold(0.0, f64::max) * count.sqrt();
            assert!(distance < 1.95, "{json}: {distance}");
        }
    }

    /// Oracle: counts of pieces are Poisson: 5 standard deviations of the expected number.
    #[test]
    fn the_pieces_of_a_changing_rate_get_their_arrivals() {
        let json = r#"{"kind":"changing_rate","times":[0,1,2],"rates":[5,0,40],"period":4}"#;
        let mut counts = [0.0; 3];
        for time in times(json, 85_000) {
            let phase = libm::fmod(time, 4.0);
            counts[if phase < 1.0 {
                0
            } else if phase < 2.0 {
                1
            } else {
                2
            }] += 1.0;
        }
        assert!((counts[0] - 5_000.0_f64).abs() < 5.0 * 5_000.0_f64.sqrt());
        assert!(counts[1] < 0.5);
        assert!((counts[2] - 80_000.0_f64).abs() < 5.0 * 5_000.0_f64.sqrt());
    }

    #[test]
    fn a_trace_comes_back_as_recorded_and_ends() {
        let json = r#"{"kind":"trace","times":[0,0,1.5,2],
                      "attributes":{"size":[1,2,3,4],"kind":[9,8,7,6]}}"#;
        let process: Process = serde_json::from_str(json).expect("a process");
        let plan = process.compile(1e9).expect("a plan");
        assert_eq!(plan.attribute_names(), ["kind", "size"]);
        let mut trace = Arrivals::new(&plan, stream::open(1, 1));
        assert!(trace.attributes().is_empty());
        let mut seen = Vec::new();
        let mut now = SimTime::ZERO;
        while let Some(time) = trace.next(now) {
            now = time;
            seen.push((time.ticks(), trace.attributes().to_vec()));
        }
        let expected = [
            (0, vec![9.0, 1.0]),
            (0, vec![8.0, 2.0]),
            (1_500_000_000, vec![7.0, 3.0]),
            (2_000_000_000, vec![6.0, 4.0]),
        ];
        assert_eq!(seen, expected);
        assert_eq!(trace.next(now), None);
    }

    #[test]
    fn arrivals_before_now_are_passed_over() {
        let json = r#"{"kind":"trace","times":[0,1,2,3]}"#;
        let now = SimTime::from_ticks(1_500_000_000);
        let next = arrivals(json, 1).next(now).expect("an arrival");
        assert_eq!(next.ticks(), 2_000_000_000);
    }

    #[test]
    fn the_same_seed_brings_the_same_arrivals_bit_for_bit() {
        let bits = |seed| {
            let mut process = arrivals(BURSTY, seed);
            let times = (0..1000).map(|_| process.next(SimTime::ZERO));
            times.collect::<Vec<_>>()
        };
        assert_eq!(bits(3), bits(3));
        assert_ne!(bits(3), bits(4));
    }

    #[test]
    fn recordings_that_go_back_or_lack_a_number_are_refused() {
        for (json, reason) in [
            (r#"{"kind":"trace","times":[]}"#, "no arrival"),
            (r#"{"kind":"trace","times":[2,1]}"#, "not in order"),
            (r#"{"kind":"trace","times":[-1,1]}"#, "negative"),
            (
                r#"{"kind":"trace","times":[1],"attributes":{"size":[]}}"#,
                "'size'",
            ),
            (
                r#"{"kind":"mmpp","rates":[0],"switch_rates":[[0]]}"#,
                "nothing ever arrives",
            ),
        ] {
            let process: Process = serde_json::from_str(json).expect("a process");
            let error = process.compile(1e9).expect_err(reason).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
