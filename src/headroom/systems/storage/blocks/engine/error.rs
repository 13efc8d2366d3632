//! Errors that prevent a run.
//!
//! Failures of single requests are not errors of the run: they are counted in the outcome.

use std::io;

use crate::systems::storage::workloads::requests::WorkloadError;

/// A job that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The job does not match the module's documentation.
    #[error("the job cannot be read: {0}")]
    Job(#[from] serde_json::Error),
    /// The workload of the job cannot be carried out.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The job contradicts itself or needs something unavailable.
    #[error("{what}")]
    Refused {
        /// The problem.
        what: String,
        /// What to change.
        cure: &'static str,
    },
    /// The system refused what the run needs.
    #[error("{step} failed: {cause}")]
    System {
        /// The attempted step.
        step: &'static str,
        /// The answer of the system.
        cause: io::Error,
        /// What to change.
        cure: &'static str,
    },
}

impl EngineError {
    /// Return a hint for the user.
    pub fn cure(&self) -> &str {
        match self {
            Self::Workload(error) => &error.cure,
            Self::Job(_) => "write the job as the documentation of the engine says",
            Self::Refused { cure, .. } | Self::System { cure, .. } => cure,
        }
    }

    /// Return the error that `step` met just now.
    pub(in crate::systems::storage) fn system(
        step: &'static str,
        cause: io::Error,
        cure: &'static str,
    ) -> Self {
        Self::System { step, cause, cure }
    }

    /// Return a refusal.
    pub(in crate::systems::storage) fn refused(
        what: impl Into<String>,
        cure: &'static str,
    ) -> Self {
        let what = what.into();
        Self::Refused { what, cure }
    }
}
