//! Tests of the properties that all sources guarantee.

mod micro;
mod spc2;

use serde_json::Value;

use super::{WorkloadError, source};
use crate::systems::storage::workloads::request::{Request, Source};

/// Make a source that is meant to be right.
pub fn made(workload: &Value, seed: u64, bytes: u64) -> Box<dyn Source> {
    source(workload, seed, bytes).unwrap_or_else(|error| panic!("{workload}: {error}"))
}

/// Return why a workload is refused.
pub fn refused(workload: &Value, bytes: u64) -> WorkloadError {
    match source(workload, 1, bytes) {
        Ok(_) => panic!("{workload} should be refused"),
        Err(error) => error,
    }
}

/// Draw `count` requests of one stream.
pub fn drawn(source: &mut dyn Source, stream: usize, count: usize) -> Vec<Request> {
    (0..count).map_while(|_| source.next(stream)).collect()
}
