//! Loads on servers that answer from a script, over real sockets.
#![cfg(all(feature = "load", target_os = "linux"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod amga;
mod command;
mod far;
mod keys;
mod postgres;
mod reopen;
mod stub;

use headroom_catalogue::load::job::Job;
use headroom_catalogue::load::run::Ready;
use serde_json::{Value, json};

/// Run a job, with `changes` to a small closed one, and return its result.
fn run(target: &Value, changes: &Value) -> Value {
    let ready = Ready::new(job(target, changes)).unwrap();
    ready.run(&mut || true).unwrap().json()
}

fn job(target: &Value, changes: &Value) -> Job {
    Job::parse(&text(target, changes)).unwrap()
}

fn text(target: &Value, changes: &Value) -> String {
    let mut job = json!({
        "seed": 7,
        "target": target,
        "load": {"kind": "closed", "clients": 3},
        "entries": {"known": 20},
        "stop": {"operations": 60},
    });
    for (name, value) in changes.as_object().unwrap() {
        job[name] = value.clone();
    }
    job.to_string()
}

/// Return a number of the result, 0 if it is missing.
fn count(result: &Value, path: &str) -> u64 {
    result.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// Assert that all operations succeeded, each with as many message pairs.
fn assert_pairs(result: &Value, operations: u64, pairs: u64) {
    assert_eq!(result["failures"], json!([]));
    assert_eq!(result["problem"], Value::Null);
    let name = format!("/workload_counters/with_{pairs}_pairs_count");
    assert_eq!(
        count(result, &name),
        operations,
        "{}",
        result["workload_counters"]
    );
    assert_eq!(
        count(result, "/workload_counters/message_pair_count"),
        operations * pairs
    );
}
