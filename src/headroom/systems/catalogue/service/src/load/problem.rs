//! Why a run is not sound, in a sentence for the user.

use headroom::recording::load::{Load, StopReason};

use super::client::Notes;
use super::source::{Kind, Operation, Operations};

/// Return the message, or nothing if all went well.
pub fn problem(load: &Load<Operations>, notes: &Notes, end_ns: u64) -> Option<String> {
    if let Some(text) = unanswered(load, end_ns) {
        return Some(text);
    }
    match load.stopped()?.0 {
        StopReason::TargetFailed => {
            let last = load.failures().all().last()?;
            let failure = notes.failures.get(&last.errno)?;
            Some(format!(
                "{} operations in a row failed; the last kind of failure: {failure}",
                load.failures().in_a_row()
            ))
        }
        StopReason::Overload => Some(format!(
            "the target cannot keep up with the load: {} operations were due but had not started",
            load.waiting_count()
        )),
        _ => None,
    }
}

fn unanswered(load: &Load<Operations>, end_ns: u64) -> Option<String> {
    let (oldest, begun_ns) = load.oldest_outstanding()?;
    let waited_s = end_ns.saturating_sub(begun_ns) as f64 / 1e9;
    Some(format!(
        "{} operations had no answer when the run ended, the oldest ({}) after {waited_s:.1} s",
        load.outstanding_count(),
        name(oldest),
    ))
}

fn name(operation: &Operation) -> &'static str {
    match operation.kind {
        Kind::Insert | Kind::Fill => "an insertion",
        Kind::Query => "a query",
    }
}
