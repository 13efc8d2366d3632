//! The mechanism `storage.requests`: models and measurements draw from the same source.
//!
//! Parameters: `workload` (the table that a job of the measuring engine has), `target_bytes` (size
//! of the simulated target, B) and optionally `seed`, if it must not follow the seed of the run.
//!
//! | function | returns |
//! | --- | --- |
//! | `next(stream)` | 1 if there was a further request, which the other functions describe; else 0, as are the others |
//! | `offset(stream)` | first byte of the last request drawn (B) |
//! | `length(stream)` | its length (B) |
//! | `is_read(stream)`, `is_write(stream)`, `is_trim(stream)`, `is_sync(stream)` | 1 or 0 |
//! | `due(stream)` | when it is due (s); now, if its stream is closed |
//! | `wait(stream)` | from now until it is due (s); 0 if that is past or its stream is closed |
//! | `allowance(stream)` | from its due time until it would be late (s); infinite without a limit |
//! | `streams()` | how many streams there are |
//! | `seat(stream)` | the stream of a job: `stream`, or, below 0, the next one with a place left |
//! | `depth(stream)` | requests that the stream may have outstanding; infinite without a limit |
//!
//! Both columns see the same requests if their sources have the same workload, size and seed.
//! Without `seed` the source takes the first number of the mechanism's own random stream as its
//! seed, which is [`source_seed`] of the run's seed and the key of that stream. A measurement with
//! the seed r must give its engine `source_seed(r, key)` with the key of the name `mechanism
//! requests`; then a model with the seed r, whose mechanism is called `requests`, gets the same.
//!
//! With `moves_data` requests that move none are left out; with `by_kind` the open streams are given
//! as two, stream 0 with all reads and stream 1 with all writes (`select`).
//!
//! Invariant: results depend only on the parameters, the seed and the calls of `next`.

use rand::Rng as _;
use serde::Deserialize;
use serde_json::Value;

use super::select::{ByKind, Moving};
use super::table::Table;
use crate::recording::load::due::NS_PER_S;
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism, Unit};
use crate::simulation::kernel::random::stream::{self, Stream as Generator};
use crate::systems::storage::workloads::request::{Kind, Request, Source};

/// Return the seed of the source in a run with the seed `run`, whose mechanism has the stream `key`.
pub fn source_seed(run: u64, key: u64) -> u64 {
    stream::open(run, key).next_u64()
}

/// The parameters of the mechanism.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    workload: Value,
    target_bytes: u64,
    seed: Option<u64>,
    #[serde(default)]
    moves_data: bool,
    #[serde(default)]
    by_kind: bool,
}

/// A source of requests, as models use it.
pub struct RequestSource {
    source: Box<dyn Source>,
    last: Vec<Option<Request>>,
    /// Whether a stream had no more requests when it was read.
    has_ended: Vec<bool>,
    /// Jobs that have a place in each stream.
    seated: Vec<u32>,
}

impl RequestSource {
    /// Make the mechanism from its parameters.
    ///
    /// # Errors
    ///
    /// The error says which parameter is wrong, with a hint.
    pub fn new(parameters: &Value, mut stream: Generator) -> Result<Self, String> {
        let told = |error: super::WorkloadError| format!("{error}; {}", error.cure);
        let table = Table::new("parameters", parameters).map_err(told)?;
        let given: Parameters = table.read().map_err(told)?;
        let seed = given.seed.unwrap_or_else(|| stream.next_u64());
        let mut source = super::source(&given.workload, seed, given.target_bytes).map_err(told)?;
        if given.moves_data || given.by_kind {
            source = Box::new(Moving(source));
        }
        if given.by_kind {
            source = Box::new(ByKind::new(source));
        }
        let count = source.streams().len();
        Ok(Self {
            source,
            last: vec![None; count],
            has_ended: vec![false; count],
            seated: vec![0; count],
        })
    }

    /// Return the stream of a job that has `stream`, or of one that has none yet.
    fn seat(&mut self, stream: f64) -> Result<f64, String> {
        if stream >= 0.0 {
            return Ok(stream);
        }
        let streams = self.source.streams().iter();
        let mut places = streams
            .zip(&self.seated)
            .map(|(one, &taken)| taken < one.depth);
        let free = places.position(|is_free| is_free);
        let found = free.ok_or("no stream has a place left for a further job")?;
        self.seated[found] += 1;
        Ok(found as f64)
    }

    fn next(&mut self, stream: usize) -> Result<bool, String> {
        let request = self.source.next(stream);
        if let (None, Some(fault)) = (request, self.source.fault()) {
            return Err(format!("{fault}; {}", fault.cure));
        }
        self.last[stream] = request;
        self.has_ended[stream] = request.is_none();
        Ok(request.is_some())
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number was found to be that of a stream"
    )]
    fn stream(&self, function: &Function, arguments: &[f64]) -> Result<usize, String> {
        let count = self.last.len();
        let asked = arguments[0];
        let is_known = asked >= 0.0 && asked < count as f64;
        is_known.then_some(asked as usize).ok_or_else(|| {
            let name = function.name;
            format!(
                "{name} was requested for stream {asked}, but streams are 0 to {}",
                count - 1
            )
        })
    }
}

const fn number(name: &'static str) -> Function {
    Function {
        name,
        arguments: &["stream"],
        unit: Unit::Number,
    }
}

const fn seconds(name: &'static str) -> Function {
    Function {
        name,
        arguments: &["stream"],
        unit: Unit::Seconds,
    }
}

const FUNCTIONS: [Function; 13] = [
    number("next"),
    number("offset"),
    number("length"),
    number("is_read"),
    number("is_write"),
    number("is_trim"),
    number("is_sync"),
    seconds("due"),
    seconds("wait"),
    seconds("allowance"),
    number("depth"),
    number("seat"),
    Function {
        name: "streams",
        arguments: &[],
        unit: Unit::Number,
    },
];

impl Mechanism for RequestSource {
    fn functions(&self) -> &'static [Function] {
        &FUNCTIONS
    }

    fn call(&mut self, function: usize, now_s: f64, arguments: &[f64]) -> Result<f64, String> {
        let function = &FUNCTIONS[function];
        if function.arguments.is_empty() {
            return Ok(self.last.len() as f64);
        }
        if function.name == "seat" {
            return self.seat(arguments[0]);
        }
        let stream = self.stream(function, arguments)?;
        match function.name {
            "next" => return Ok(truth(self.next(stream)?)),
            "depth" => return Ok(limit(self.source.streams()[stream].depth)),
            "allowance" => {
                let allowance = self.source.allowance_ns(stream);
                return Ok(allowance.map_or(f64::INFINITY, in_seconds));
            }
            _ => {}
        }
        if self.has_ended[stream] {
            return Ok(0.0);
        }
        let request = self.last[stream].ok_or_else(|| {
            let name = function.name;
            format!("{name} of stream {stream} was read before its first request: call next first")
        })?;
        Ok(about(request, function.name, now_s))
    }
}

fn about(request: Request, what: &str, now_s: f64) -> f64 {
    let due_s = request.due_ns.map_or(now_s, in_seconds);
    match what {
        "offset" => request.offset as f64,
        "length" => f64::from(request.length),
        "is_read" => truth(request.kind == Kind::Read),
        "is_write" => truth(request.kind == Kind::Write),
        "is_trim" => truth(request.kind == Kind::Trim),
        "is_sync" => truth(matches!(request.kind, Kind::Sync | Kind::DataSync)),
        "due" => due_s,
        _ => (due_s - now_s).max(0.0),
    }
}

fn in_seconds(time_ns: u64) -> f64 {
    time_ns as f64 / NS_PER_S
}

fn limit(depth: u32) -> f64 {
    match depth {
        u32::MAX => f64::INFINITY,
        depth => f64::from(depth),
    }
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: u64 = 99;

    fn ask(mechanism: &mut dyn Mechanism, name: &str, now_s: f64, arguments: &[f64]) -> f64 {
        let functions = mechanism.functions();
        let index = functions.iter().position(|one| one.name == name);
        let answer = mechanism.call(index.expect("a function"), now_s, arguments);
        answer.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Oracle: the source that a measurement with the same seed draws from.
    #[test]
    fn both_columns_see_the_same_requests() {
        let workload = json!({
            "kind": "micro", "streams": 2, "rate_per_s": 50.0, "read_share": 0.5,
            "pattern": "zipf", "block_bytes": [
                {"bytes": 512, "weight": 1.0}, {"bytes": 8192, "weight": 2.0}],
        });
        let run = 5;
        let mut measured =
            super::super::source(&workload, source_seed(run, KEY), 1 << 30).expect("right");
        let parameters = json!({"workload": workload, "target_bytes": 1 << 30});
        let stream = stream::open(run, KEY);
        let mut model = RequestSource::new(&parameters, stream).expect("right");
        assert!((ask(&mut model, "streams", 0.0, &[]) - 2.0).abs() < 1e-12);
        for turn in 0..2000_u32 {
            let stream = usize::from(turn % 3 == 0);
            let argument = [f64::from(u8::from(stream == 1))];
            let request = measured.next(stream).expect("no end");
            let mut told = |name| ask(&mut model, name, 1.0, &argument);
            assert!((told("next") - 1.0).abs() < 1e-12);
            assert!((told("offset") - request.offset as f64).abs() < 0.5);
            assert!((told("length") - f64::from(request.length)).abs() < 0.5);
            assert!((told("is_read") - truth(request.kind == Kind::Read)).abs() < 0.5);
            assert!((told("is_write") - truth(request.kind == Kind::Write)).abs() < 0.5);
            let due_s = request.due_ns.expect("an open stream") as f64 / 1e9;
            assert!((told("due") - due_s).abs() < 1e-9);
            assert!((told("wait") - (due_s - 1.0).max(0.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_seed_of_its_own_does_not_follow_the_run() {
        let parameters = json!({"workload": {"kind": "micro"}, "target_bytes": 1 << 30, "seed": 3});
        let firsts: Vec<f64> = [1, 2]
            .map(|run| {
                let stream = stream::open(run, KEY);
                let mut model = RequestSource::new(&parameters, stream).expect("right");
                ask(&mut model, "next", 0.0, &[0.0]);
                ask(&mut model, "offset", 0.0, &[0.0])
            })
            .into();
        assert!((firsts[0] - firsts[1]).abs() < 0.5);
    }

    #[test]
    fn jobs_fill_the_streams_up_to_their_depth_and_stay() {
        let workload = json!({"kind": "micro", "streams": 2, "depth": 2});
        let parameters = json!({"workload": workload, "target_bytes": 1 << 20});
        let mut model = RequestSource::new(&parameters, stream::open(1, KEY)).expect("right");
        let seats: Vec<f64> = (0..4)
            .map(|_| ask(&mut model, "seat", 0.0, &[-1.0]))
            .collect();
        assert!(
            seats
                .iter()
                .zip([0.0, 0.0, 1.0, 1.0])
                .all(|(one, other)| (one - other).abs() < 0.5)
        );
        assert!((ask(&mut model, "seat", 0.0, &[1.0]) - 1.0).abs() < 0.5);
        assert!(model.seat(-1.0).is_err());
    }

    #[test]
    fn what_cannot_be_answered_is_told() {
        let parameters = json!({"workload": {"kind": "micro"}, "target_bytes": 1 << 20});
        let mut model = RequestSource::new(&parameters, stream::open(1, KEY)).expect("right");
        let offset = 1;
        let error = model
            .call(offset, 0.0, &[0.0])
            .expect_err("nothing was drawn");
        assert!(error.contains("call next first"), "{error}");
        let error = model
            .call(offset, 0.0, &[1.0])
            .expect_err("one stream only");
        assert!(error.contains("streams are 0 to 0"), "{error}");
        let wrong = json!({"workload": {"kind": "micro", "depth": 0}, "target_bytes": 1 << 20});
        let error = RequestSource::new(&wrong, stream::open(1, KEY))
            .err()
            .expect("refused");
        assert!(error.contains("workload.depth"), "{error}");
    }
}
