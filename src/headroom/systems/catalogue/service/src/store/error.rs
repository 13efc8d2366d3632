//! Why a database did not do its work, alike for all databases.

use crate::refusal::{Code, Refusal};

/// An error of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Other transactions were in the way, each time it was tried.
    #[error("other transactions were in the way; try again")]
    Conflict,
    /// A unique rule is violated.
    #[error("a value of a unique attribute exists")]
    Exists,
    /// A row that another row needs is missing.
    #[error("a row that another row needs is missing")]
    Missing,
    /// A value that no column can hold, or an operation without a result.
    #[error("a value cannot be computed or stored: {0}")]
    Unfit(String),
    /// No connection, or a limit of time was reached. Nothing was changed.
    #[error("the database is not available: {0}")]
    Away(String),
    /// The connection was lost during a commit: it may have taken place or not.
    #[error("the connection to the database was lost; the change may or may not have been made")]
    Lost,
    /// A fault of the program or of the database.
    #[error("the database refused a statement: {0}")]
    Fault(String),
}

impl From<StoreError> for Refusal {
    /// Return the refusal. Texts of a database stay in the log: they may show its layout.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict | StoreError::Lost => Self::new(Code::Transaction, error),
            StoreError::Exists => Self::new(Code::Exists, error),
            StoreError::Missing => Self::new(Code::NotFound, error),
            StoreError::Unfit(reason) => Self::new(Code::IllegalQuery, reason),
            StoreError::Away(reason) => {
                tracing::warn!(%reason, "the database is not available");
                Self::new(Code::Unavailable, "the database is not available")
            }
            StoreError::Fault(reason) => {
                tracing::error!(%reason, "the database refused a statement");
                Self::new(Code::Unavailable, "the database cannot do this now")
            }
        }
    }
}

/// A failed operation on a connection.
#[derive(Debug)]
pub(super) struct Failure {
    /// The error for the caller.
    pub error: StoreError,
    /// Whether the connection is of no use any more.
    pub is_broken: bool,
    /// Whether nothing was changed and another attempt may succeed.
    pub is_passing: bool,
}

impl Failure {
    /// The statement failed, the connection can be used.
    pub fn of(error: StoreError) -> Self {
        Self {
            is_passing: error == StoreError::Conflict,
            is_broken: false,
            error,
        }
    }

    /// The connection was lost.
    pub fn broken(reason: impl std::fmt::Display) -> Self {
        Self {
            error: StoreError::Away(reason.to_string()),
            is_broken: true,
            is_passing: true,
        }
    }

    /// The database does not answer: another attempt would wait as long.
    pub fn silent() -> Self {
        Self {
            is_passing: false,
            ..Self::broken("it does not answer")
        }
    }

    /// Return the failure of something that may have taken effect: a lost connection does not tell.
    pub fn of_change(self) -> Self {
        if !self.is_broken {
            return self;
        }
        Self {
            error: StoreError::Lost,
            is_broken: true,
            is_passing: false,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_what_happened_but_no_text_of_the_database() {
        let refusal = Refusal::from(StoreError::Fault("relation \"entry\" …".to_owned()));
        assert_eq!(refusal.code, Code::Unavailable);
        assert!(!refusal.message.contains("entry"));
        assert_eq!(Refusal::from(StoreError::Lost).code, Code::Transaction);
        assert_eq!(Refusal::from(StoreError::Exists).code, Code::Exists);
    }

    #[test]
    fn a_change_on_a_lost_connection_is_not_repeated() {
        let failure = Failure::broken("reset by peer");
        assert!(failure.is_passing);
        let failure = failure.of_change();
        assert_eq!(failure.error, StoreError::Lost);
        assert!(!failure.is_passing);
        assert!(Failure::of(StoreError::Conflict).of_change().is_passing);
    }
}
