//! Why a load cannot be carried out at all.

use std::io;

/// Why a load cannot be carried out at all; failed operations are part of its result.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The job is wrong.
    #[error("{0}")]
    Job(String),
    /// A file cannot be used.
    #[error("`{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// The fault.
        reason: String,
    },
    /// A connection could not be opened before the load began.
    #[error("client {client} of {count} could not connect before the load: {reason}")]
    Opening {
        /// Number of the client, from 1.
        client: usize,
        /// Clients of the process.
        count: usize,
        /// The fault.
        reason: String,
    },
    /// The system refused.
    #[error("{action}: {cause}")]
    System {
        /// The attempted action.
        action: &'static str,
        /// The fault.
        cause: io::Error,
    },
}

impl LoadError {
    /// Return the error of a wrong job.
    pub fn job(message: impl Into<String>) -> Self {
        Self::Job(message.into())
    }

    /// Return a function that makes the error of an `action` that the system refused.
    pub fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::System { action, cause }
    }
}
