//! The first requests of a workload as columns, for inspection.

use serde_json::Value;

use super::error::WorkloadError;
use super::{order, source};
use crate::recording::load::due::NS_PER_S;
use crate::systems::storage::workloads::request::{Kind, Stream};

/// Requests in the order in which an engine that is never held up would issue them.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The kind of each; see [`code`].
    pub kind: Vec<u64>,
    /// First byte (B).
    pub offset: Vec<u64>,
    /// Length (B).
    pub length: Vec<u64>,
    /// When it is due (s); not a number if its stream is closed.
    pub due_s: Vec<f64>,
    /// Index of its stream.
    pub stream: Vec<u64>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// How long after its due time (s) a request of each stream must be complete; infinite
    /// without a limit.
    pub allowance_s: Vec<f64>,
    /// The source's counts of the requests, by name.
    pub counters: Vec<(&'static str, u64)>,
}

/// Return the number of a kind: 0 read, 1 write, 2 sync, 3 sync of data, 4 trim.
pub const fn code(kind: Kind) -> u64 {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Sync => 2,
        Kind::DataSync => 3,
        Kind::Trim => 4,
    }
}

/// Return the first `count` requests of a workload (JSON) on a target of `bytes`.
///
/// # Errors
///
/// Fails if the workload or its input is wrong.
pub fn columns(
    workload: &[u8],
    seed: u64,
    bytes: u64,
    count: usize,
) -> Result<Columns, WorkloadError> {
    let workload = parsed(workload)?;
    let mut source = source(&workload, seed, bytes)?;
    let mut columns = Columns::default();
    for (stream, request) in order::merged(&mut *source, count) {
        columns.kind.push(code(request.kind));
        columns.offset.push(request.offset);
        columns.length.push(u64::from(request.length));
        let due_s = request.due_ns.map(|due_ns| due_ns as f64 / NS_PER_S);
        columns.due_s.push(due_s.unwrap_or(f64::NAN));
        columns.stream.push(stream as u64);
    }
    if let Some(fault) = source.fault() {
        return Err(fault.clone());
    }
    columns.streams = source.streams().to_vec();
    columns.counters = source.counters();
    let streams = 0..columns.streams.len();
    let allowance = |stream| source.allowance_ns(stream);
    columns.allowance_s = streams
        .map(|stream| allowance(stream).map_or(f64::INFINITY, |limit| limit as f64 / NS_PER_S))
        .collect();
    Ok(columns)
}

/// Read a workload as JSON.
///
/// # Errors
///
/// Fails if it is none.
pub fn parsed(workload: &[u8]) -> Result<Value, WorkloadError> {
    serde_json::from_slice(workload).map_err(|error| {
        let problem = format!("is not valid JSON: {error}");
        WorkloadError::new("workload", problem, "give a table of keys and values")
    })
}
