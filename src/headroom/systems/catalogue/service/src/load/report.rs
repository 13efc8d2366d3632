//! The result of a run: JSON for Headroom, and a few lines for a reader.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;

use headroom::recording::clock::Usage;
use headroom::recording::load::json;
use headroom::recording::load::outcome::{self, ClassTotal, FailureTotal};
use serde_json::{Map, Value, json};

use super::client::Notes;
use super::failure;
use super::meter::Meter;
use super::source::Operation;

/// Version of the JSON.
const FORMAT: u32 = 1;

/// All of a run.
pub struct Report {
    /// Tables of the shared driver.
    pub outcome: outcome::Outcome<Operation>,
    /// Resources that this process used, from the begin of the load to the last end.
    pub usage: Usage,
    /// Successes and failures by kind.
    pub notes: Notes,
    /// Counts of all clients.
    pub meters: Vec<Rc<Meter>>,
    /// Times that the process waited for events.
    pub wait_count: u64,
}

impl Report {
    /// Return the JSON of the run. The shared parts are described in `recording/load/json.rs`.
    pub fn json(&self) -> Value {
        let mut all = json::outcome(&self.outcome);
        let mut counters = json::usage(&self.usage);
        counters.insert("wait_call_count".to_owned(), json!(self.wait_count));
        let failures = self.outcome.failures.iter();
        let failures: Vec<Value> = failures.map(|one| self.failure(one)).collect();
        for (name, value) in [
            ("format", json!(FORMAT)),
            ("continued_count", json!(0)),
            ("counters", Value::Object(counters)),
            ("workload_counters", Value::Object(self.counts())),
            ("failures", json!(failures)),
            ("facts", json!({"threads": "1"})),
        ] {
            all.insert(name.to_owned(), value);
        }
        Value::Object(all)
    }

    /// Return a few lines for a reader.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for class in &self.outcome.classes {
            let _ = writeln!(text, "{}", self.class_line(class));
        }
        for (pairs, count) in &self.notes.by_pairs {
            let _ = writeln!(text, "{count} operations with {pairs} message pairs");
        }
        for failure in self.notes.failures.values() {
            let _ = writeln!(text, "failure: {failure}");
        }
        let _ = writeln!(
            text,
            "this tool: {:.1} us of processor time per operation",
            self.cpu_s_per_operation() * 1e6
        );
        if let Some(problem) = &self.outcome.problem {
            let _ = writeln!(text, "not sound: {problem}");
        }
        text
    }

    fn class_line(&self, class: &ClassTotal) -> String {
        let count = class.completion_count as f64;
        let line = format!(
            "{}: {count} completed ({:.1}/s), {} failed",
            class.name,
            count / self.outcome.load_s,
            class.failure_count
        );
        if class.completion_count == 0 {
            return line;
        }
        let mean_ms = 1e3 * self.response_s_sum(&class.name) / count;
        let max_ms = 1e3 * class.response_s.1;
        format!("{line}; response {mean_ms:.3} ms mean, {max_ms:.3} ms max")
    }

    /// Return the processor time (s) that this process needed for an operation.
    fn cpu_s_per_operation(&self) -> f64 {
        let classes = self.outcome.classes.iter();
        let ended: u64 = classes
            .map(|class| class.completion_count + class.failure_count)
            .sum();
        (self.usage.user_s + self.usage.system_s) / ended.max(1) as f64
    }

    fn response_s_sum(&self, class: &str) -> f64 {
        let tables = self.outcome.response.iter();
        tables
            .filter(|one| one.class == class)
            .flat_map(|one| &one.values.totals[0])
            .sum()
    }

    /// Return counts that add up over processes.
    fn counts(&self) -> Map<String, Value> {
        let sum = |count: fn(&Meter) -> &Cell<u64>| -> u64 {
            self.meters.iter().map(|meter| count(meter).get()).sum()
        };
        let named = [
            ("message_pair_count", sum(|meter| &meter.message_pairs)),
            ("sent_bytes", sum(|meter| &meter.sent_bytes)),
            ("received_bytes", sum(|meter| &meter.received_bytes)),
            ("connection_count", sum(|meter| &meter.connections)),
            ("full_handshake_count", sum(|meter| &meter.full_handshakes)),
            (
                "resumed_handshake_count",
                sum(|meter| &meter.resumed_handshakes),
            ),
            (
                "resumed_session_count",
                sum(|meter| &meter.resumed_sessions),
            ),
        ];
        let named = named
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count));
        let by_pairs = self.notes.by_pairs.iter();
        let by_pairs = by_pairs.map(|(pairs, count)| (format!("with_{pairs}_pairs_count"), *count));
        named
            .chain(by_pairs)
            .map(|(name, count)| (name, json!(count)))
            .collect()
    }

    fn failure(&self, total: &FailureTotal<Operation>) -> Value {
        let first = self.notes.failures.get(&total.failure.errno);
        json!({
            "class": total.class,
            "code": failure::name(total.failure.errno),
            "count": total.failure.count,
            "message": first.map(ToString::to_string),
            "first_s": total.failure.first_ns as f64 / 1e9,
        })
    }
}
