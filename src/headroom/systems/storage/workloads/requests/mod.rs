//! Sources of requests, as the `workload` table of a job describes them.
//!
//! Invariant: the requests of a source are a function of (workload, seed, size of the target); a
//! stream gives the same ones whenever they are requested.

#[cfg(test)]
mod chances;
pub mod columns;
pub mod draws;
pub mod error;
pub mod mechanism;
pub mod micro;
pub mod order;
pub mod region;
pub mod scatter;
pub mod select;
pub mod spc1;
pub mod spc2;
pub mod table;
pub mod trace;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::error::WorkloadError;

use self::micro::Micro;
use self::spc1::Spc1;
use self::spc2::Spc2;
use self::table::Table;
use self::trace::Trace;
use super::request::Source;

/// Kinds of workloads.
const KINDS: &str = "micro, spc1_like, spc2_like, trace";

/// Make the source of `workload` with `seed` on a target of `bytes`.
///
/// # Errors
///
/// Fails if a key of the workload is unknown, a value is invalid, or a size does not fit the
/// target; the error names the key, what is wrong, and the cure.
pub fn source(workload: &Value, seed: u64, bytes: u64) -> Result<Box<dyn Source>, WorkloadError> {
    let mut table = Table::new("workload", workload)?;
    let kind = table.entries.remove("kind");
    match kind.as_ref().and_then(Value::as_str) {
        Some("micro") => Ok(Box::new(Micro::new(&table, seed, bytes)?)),
        Some("spc1_like") => Ok(Box::new(Spc1::new(&table, seed, bytes)?)),
        Some("spc2_like") => Ok(Box::new(Spc2::new(&table, seed, bytes)?)),
        Some("trace") => Ok(Box::new(Trace::new(&table, bytes)?)),
        _ => {
            let problem = match kind {
                Some(kind) => format!("is {kind}, which is no kind of workload"),
                None => "is missing".to_owned(),
            };
            Err(table.wrong("kind", problem, format!("choose one of {KINDS}")))
        }
    }
}
