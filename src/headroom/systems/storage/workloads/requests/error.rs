//! Errors of a workload, worded for the person who wrote it.

use thiserror::Error;

/// A workload that cannot be carried out, or a trace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct WorkloadError {
    /// Which key of the job is wrong, for example `workload.streams[1].depth`.
    pub key: String,
    /// The problem with it.
    pub problem: String,
    /// What to write instead.
    pub cure: String,
}

impl WorkloadError {
    /// Say that `key` has a `problem`, and the `cure`.
    pub fn new(
        key: impl Into<String>,
        problem: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self {
            key: key.into(),
            problem: problem.into(),
            cure: cure.into(),
        }
    }
}
