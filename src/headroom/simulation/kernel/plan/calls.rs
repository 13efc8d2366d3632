//! Calls of mechanism functions during a run.
//!
//! Invariant: every run makes new mechanisms, so none remembers another run; each has its own
//! random stream.

use crate::simulation::kernel::error::{Place, SimulationError};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Registry, Unit};
use crate::simulation::kernel::plan::model::Model;
use crate::simulation::kernel::random::stream;
use crate::simulation::kernel::time::{SimTime, TimeUnit};

/// A function of a mechanism as an expression calls it.
#[derive(Clone, Debug)]
pub struct CallPlan {
    /// Index of the mechanism.
    pub mechanism: u32,
    /// Name of the mechanism.
    pub name: String,
    /// Index of the function in the mechanism.
    pub index: usize,
    /// The function.
    pub function: Function,
}

/// Make the mechanisms of `model` for a run with `seed`.
///
/// # Errors
///
/// Fails if a kind is not known to `registry`, or if its parameters are wrong.
pub fn mechanisms(
    model: &Model,
    seed: u64,
    registry: Registry,
) -> Result<Vec<Box<dyn Mechanism>>, SimulationError> {
    let made = model.mechanisms.iter().map(|one| {
        let stream = stream::open(seed, one.stream);
        let reason = match registry(&one.kind, &one.parameters, stream) {
            Some(Ok(mechanism)) => return Ok(mechanism),
            Some(Err(reason)) => reason,
            None => format!("no mechanism has the kind '{}'", one.kind),
        };
        let name = &one.name;
        Err(SimulationError::Invalid(format!(
            "mechanism '{name}': {reason}"
        )))
    });
    made.collect()
}

/// Return the functions of a mechanism made from `parameters` (JSON); None if no such `kind` is
/// known to `registry`.
///
/// # Errors
///
/// Returns the error in the parameters.
pub fn functions(
    kind: &str,
    parameters: &[u8],
    registry: Registry,
) -> Result<Option<&'static [Function]>, String> {
    let read = serde_json::from_slice(parameters).map_err(|error| error.to_string())?;
    let made = registry(kind, &read, stream::open(0, 0)).transpose()?;
    Ok(made.map(|mechanism| mechanism.functions()))
}

/// The mechanisms of a run, and the call that failed if one did.
pub(in crate::simulation::kernel) struct Calls<'plan> {
    plans: &'plan [CallPlan],
    mechanisms: Vec<Box<dyn Mechanism>>,
    unit: TimeUnit,
    failed: Option<Failed>,
}

struct Failed {
    call: u32,
    arguments: Vec<f64>,
    message: String,
}

impl<'plan> Calls<'plan> {
    pub(in crate::simulation::kernel) fn new(
        plans: &'plan [CallPlan],
        mechanisms: Vec<Box<dyn Mechanism>>,
        unit: TimeUnit,
    ) -> Self {
        Self {
            plans,
            mechanisms,
            unit,
            failed: None,
        }
    }

    /// Return the result of the plan's function `call`, durations in time units.
    ///
    /// Not a number if it fails; see [`Self::has_failed`] and [`Self::explain`]. No function is
    /// called after that.
    pub(in crate::simulation::kernel) fn call(
        &mut self,
        call: u32,
        now: SimTime,
        arguments: &[f64],
    ) -> f64 {
        if self.has_failed() {
            return f64::NAN;
        }
        let plan = &self.plans[call as usize];
        let now_s = self.unit.seconds(u128::from(now.ticks()));
        let answer = self.mechanisms[plan.mechanism as usize].call(plan.index, now_s, arguments);
        match (answer, plan.function.unit) {
            (Ok(value), _) if value.is_nan() => {
                self.fail(call, arguments, "it returned no number".to_owned())
            }
            (Ok(value), Unit::Seconds) => self.unit.from_seconds(value),
            (Ok(value), Unit::Number) => value,
            (Err(message), _) => self.fail(call, arguments, message),
        }
    }

    #[cold]
    fn fail(&mut self, call: u32, arguments: &[f64], message: String) -> f64 {
        self.failed = Some(Failed {
            call,
            arguments: arguments.to_vec(),
            message,
        });
        f64::NAN
    }

    /// Return whether a call has failed: the run is over then.
    #[inline]
    pub(in crate::simulation::kernel) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Return the error of the call that failed, made by `step` at `place`.
    pub(in crate::simulation::kernel) fn explain(
        &self,
        place: Place,
        step: String,
        at_s: f64,
    ) -> SimulationError {
        let failed = self.failed.as_ref().expect("a call has failed");
        let plan = &self.plans[failed.call as usize];
        let arguments: Vec<String> = failed.arguments.iter().map(f64::to_string).collect();
        SimulationError::Call {
            place,
            step,
            call: format!(
                "{}({}) of mechanism '{}'",
                plan.function.name,
                arguments.join(", "),
                plan.name
            ),
            message: failed.message.clone(),
            at_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use serde_json::json;

    use super::*;
    use crate::simulation::kernel::plan::mechanism::{Made, Parameters};
    use crate::simulation::kernel::random::stream::Stream;
    use crate::simulation::kernel::run::result::Outcome;
    use crate::simulation::kernel::{RunOptions, Stop, simulate};

    /// Counts its calls, draws, and refuses what is above its limit.
    struct Witness {
        limit: f64,
        calls: f64,
        stream: Stream,
    }

    const WITNESS: [Function; 4] = [
        function("calls", &[], Unit::Number),
        function("wait", &["seconds"], Unit::Seconds),
        function("draw", &["low", "high"], Unit::Seconds),
        function("age", &[], Unit::Seconds),
    ];

    const fn function(
        name: &'static str,
        arguments: &'static [&'static str],
        unit: Unit,
    ) -> Function {
        Function {
            name,
            arguments,
            unit,
        }
    }

    impl Mechanism for Witness {
        fn functions(&self) -> &'static [Function] {
            &WITNESS
        }

        fn call(&mut self, function: usize, now_s: f64, arguments: &[f64]) -> Result<f64, String> {
            self.calls += 1.0;
            match (function, arguments) {
                (1, &[seconds]) if seconds > self.limit => Err("too long".to_owned()),
                (1, &[seconds]) => Ok(seconds),
                (2, &[low, high]) => Ok(self.stream.random_range(low..high)),
                (3, []) => Ok(now_s),
                _ => Ok(self.calls),
            }
        }
    }

    fn registry(kind: &str, parameters: &Parameters, stream: Stream) -> Option<Made> {
        let limit = parameters["limit"].as_f64().ok_or("no limit".to_owned());
        (kind == "witness").then_some(limit.map(|limit| -> Box<dyn Mechanism> {
            Box::new(Witness {
                limit,
                calls: 0.0,
                stream,
            })
        }))
    }

    fn call(function: &str, arguments: u32) -> serde_json::Value {
        json!({"call": {"mechanism": "w", "function": function, "arguments": arguments}})
    }

    /// Run one job of which `service` is the service time (ms), again and again.
    fn run(service: &[serde_json::Value], seed: u64) -> Result<Outcome, SimulationError> {
        run_with(&json!({"limit": 1.0}), service, seed)
    }

    fn run_with(
        parameters: &Parameters,
        service: &[serde_json::Value],
        seed: u64,
    ) -> Result<Outcome, SimulationError> {
        let model = json!({
            "format": 2, "name": "calls", "time_unit": "ms", "pools": [],
            "mechanisms": [
                {"name": "w", "kind": "witness", "parameters": parameters, "stream": 7}
            ],
            "stations": [{"name": "server", "servers": 1}],
            "programs": [{"name": "work", "steps": [{
                "op": "use", "station": "server", "stream": 1,
                "service": {"kind": "expression", "code": service},
            }]}],
            "classes": [{
                "kind": "closed", "name": "jobs", "program": "work", "population": 1, "stream": 2,
            }],
            "stop": {"completions": 10},
        });
        let options = RunOptions {
            seed,
            stop: Stop::default(),
            ..RunOptions::default()
        };
        simulate(model.to_string().as_bytes(), options, registry, &mut || {
            true
        })
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "whole ticks are exact")]
    fn seconds_become_time_units_and_numbers_stay() {
        let waits = run(&[json!({"number": 0.25}), call("wait", 1)], 1).expect("it runs");
        assert_eq!(waits.simulated_s, 10.0 * 0.25);
        let calls = run(&[call("calls", 0)], 1).expect("it runs");
        assert_eq!(calls.simulated_s, f64::from((1..=10).sum::<u32>()) / 1000.0);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "whole ticks are exact")]
    fn a_service_time_is_asked_for_when_the_service_begins() {
        // Each service lasts as long as all before it, and a millisecond more.
        let code = [
            call("age", 0),
            json!({"number": 1}),
            json!({"apply": "add"}),
        ];
        let doubled = run(&code, 1).expect("it runs");
        assert_eq!(doubled.simulated_s, (1024.0 - 1.0) / 1000.0);
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "equal bits are the promise")]
    fn each_run_makes_its_mechanisms_anew_with_a_stream_of_its_own() {
        let code = [
            json!({"number": 0.1}),
            json!({"number": 0.9}),
            call("draw", 2),
        ];
        let [one, again, other] = [3, 3, 4].map(|seed| run(&code, seed).expect("it runs"));
        assert_eq!(one.simulated_s.to_bits(), again.simulated_s.to_bits());
        assert_ne!(one.simulated_s, other.simulated_s);
    }

    #[test]
    fn an_error_of_a_call_ends_the_run_and_says_where() {
        // The answer of the call would not even be used.
        let code = [
            json!({"number": 1.5}),
            call("wait", 1),
            json!({"number": 0}),
            json!({"apply": "minimum"}),
        ];
        let error = run(&code, 1).expect_err("1.5 s is too long");
        assert_eq!(error.place().map(|place| place.name.as_str()), Some("work"));
        assert_eq!(
            error.to_string(),
            "in program 'work', the service time at station 'server' at 0 s: wait(1.5) of \
             mechanism 'w' failed: too long"
        );
        let twice = [
            json!({"number": 1.5}),
            call("wait", 1),
            json!({"number": 2.5}),
            call("wait", 1),
            json!({"apply": "add"}),
        ];
        let error = run(&twice, 1).expect_err("the first of them is too long already");
        assert!(error.to_string().contains("wait(1.5)"), "{error}");
        let nan = [
            json!({"number": 0}),
            json!({"number": 0}),
            json!({"apply": "divide"}),
        ];
        let code = [&nan[..], &[call("wait", 1)]].concat();
        let error = run(&code, 1).expect_err("no number");
        assert!(error.to_string().ends_with("failed: it returned no number"));
    }

    #[test]
    fn what_a_mechanism_is_not_is_refused() {
        let why = |outcome: Result<Outcome, SimulationError>| {
            outcome.expect_err("it is refused").to_string()
        };
        assert!(why(run(&[call("sing", 0)], 1)).contains("has no function 'sing'"));
        assert!(why(run(&[call("wait", 0)], 1)).contains("wait(seconds) of mechanism 'w'"));
        assert!(why(run_with(&json!({}), &[call("age", 0)], 1)).contains("no limit"));
        let unknown = functions("warden", b"{}", registry).expect("it is read");
        assert_eq!(unknown, None);
    }
}
