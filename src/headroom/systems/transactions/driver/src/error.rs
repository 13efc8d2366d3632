//! What can go wrong, and what a terminal does about it.

use std::fmt;

/// Why a command ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The job is wrong.
    #[error("{0}")]
    Job(String),
    /// A file cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// Its path.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The database refuses, or is not what it should be.
    #[error("{0}")]
    Database(String),
    /// The database said no.
    #[error("{what}: {failure}")]
    Failed {
        /// What was done.
        what: String,
        /// What was said.
        failure: Failure,
    },
}

impl DriverError {
    /// Return the error of a failure while something was done.
    pub fn of(what: impl Into<String>) -> impl FnOnce(Failure) -> Self {
        let what = what.into();
        move |failure| Self::Failed { what, failure }
    }

    /// Return that of a file.
    pub fn file(path: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::File {
            path: path.to_string(),
            reason: error.to_string(),
        }
    }
}

/// What became of a statement that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Two transactions were in each other's way; the transaction may be tried again.
    Conflict,
    /// The connection is gone.
    Lost,
    /// Anything else that the database says.
    Refused,
    /// The answer is wrong.
    Wrong,
}

impl Cause {
    /// All causes, in order; the number of a failure is its place here, from 1.
    pub const ALL: [Self; 4] = [Self::Conflict, Self::Lost, Self::Refused, Self::Wrong];

    /// Return its number.
    pub const fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Return its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Lost => "connection lost",
            Self::Refused => "refused",
            Self::Wrong => "wrong answer",
        }
    }
}

/// A failure, with what the database said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its cause.
    pub cause: Cause,
    /// What was said.
    pub said: String,
}

impl Failure {
    /// Return the failure of an answer that is wrong.
    pub fn wrong(said: impl Into<String>) -> Self {
        Self {
            cause: Cause::Wrong,
            said: said.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.said)
    }
}
