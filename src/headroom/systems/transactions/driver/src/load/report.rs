//! The result of a run: JSON for Headroom, and a few lines for a reader.

use std::fmt::Write as _;

use headroom::recording::clock::Usage;
use headroom::recording::load::json;
use headroom::recording::load::outcome::{ClassTotal, FailureTotal, Outcome};
use serde_json::{Map, Value, json};

use super::source::Operation;
use crate::error::{Cause, Failure};
use crate::transactions::Counts;

/// Version of the JSON.
const FORMAT: u32 = 1;

/// All of a run.
pub struct Report {
    /// Tables of the shared driver.
    pub outcome: Outcome<Operation>,
    /// Resources that this process used.
    pub usage: Usage,
    /// What the transactions did.
    pub counts: Counts,
    /// First failures.
    pub failures: Vec<Failure>,
    /// Sessions.
    pub connections: u32,
}

impl Report {
    /// Return the JSON of the run. The shared parts are described in `recording/load/json.rs`.
    pub fn json(&self) -> Value {
        let mut all = json::outcome(&self.outcome);
        let counts: Map<String, Value> = self
            .counts
            .named()
            .into_iter()
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect();
        let failures: Vec<Value> = self
            .outcome
            .failures
            .iter()
            .map(|one| self.failure(one))
            .collect();
        for (name, value) in [
            ("format", json!(FORMAT)),
            ("continued_count", json!(0)),
            ("counters", Value::Object(json::usage(&self.usage))),
            ("workload_counters", Value::Object(counts)),
            ("failures", json!(failures)),
            ("facts", json!({"threads": self.connections.to_string()})),
        ] {
            all.insert(name.to_owned(), value);
        }
        Value::Object(all)
    }

    /// Return a few lines for a reader.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for class in &self.outcome.classes {
            if class.completion_count + class.failure_count > 0 {
                let _ = writeln!(text, "{}", self.class_line(class));
            }
        }
        for failure in &self.failures {
            let _ = writeln!(text, "{}: {failure}", failure.cause.name());
        }
        let classes = self.outcome.classes.iter();
        let ended: u64 = classes
            .map(|one| one.completion_count + one.failure_count)
            .sum();
        let cpu_s = (self.usage.user_s + self.usage.system_s) / ended.max(1) as f64;
        let _ = writeln!(
            text,
            "this driver: {:.1} us of processor time per transaction, {} tried again",
            cpu_s * 1e6,
            self.counts.retries
        );
        text
    }

    fn class_line(&self, class: &ClassTotal) -> String {
        let count = class.completion_count as f64;
        format!(
            "{}: {count} completed ({:.1}/s), {} failed, {:.3} ms at most",
            class.name,
            count / self.outcome.load_s,
            class.failure_count,
            1e3 * class.response_s.1
        )
    }

    fn failure(&self, total: &FailureTotal<Operation>) -> Value {
        let cause = Cause::ALL
            .iter()
            .find(|cause| cause.number() == total.failure.errno);
        let said = self.failures.iter().find(|one| Some(&one.cause) == cause);
        json!({
            "class": total.class,
            "code": cause.map_or("unknown", |cause| cause.name()),
            "count": total.failure.count,
            "message": said.map(ToString::to_string),
            "first_s": total.failure.first_ns as f64 / 1e9,
        })
    }
}
