//! Why a command is refused: AMGA's code and a sentence for the user.

use std::fmt;

/// A code of AMGA. The numbers are those that its Python client knows; `docs/guides` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// No such entry or directory, or not a directory.
    NotFound,
    /// The server cannot serve now: its database is away, or a limit is reached. Inferred.
    Unavailable,
    /// No such command, or its arguments are wrong.
    IllegalCommand,
    /// The user may not do this.
    PermissionDenied,
    /// The login is refused. Inferred.
    LoginRefused,
    /// A query or a value that cannot be understood.
    IllegalQuery,
    /// A transaction that is not open, was lost, or conflicts with another one.
    Transaction,
    /// No such attribute.
    NoSuchAttribute,
    /// The directory holds something.
    NotEmpty,
    /// The client cancelled the command. Inferred.
    Cancelled,
    /// An entry, an attribute or a sequence of this name exists.
    Exists,
    /// A directory of this name exists.
    DirectoryExists,
    /// A sequence that cannot do this.
    Sequence,
    /// A constraint of the directory is violated. Inferred.
    Constraint,
    /// A user, a group or a site that does not exist. Inferred.
    NoSuchName,
}

impl Code {
    /// Return the number on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::NotFound => 1,
            Self::Unavailable => 2,
            Self::IllegalCommand => 3,
            Self::PermissionDenied => 4,
            Self::LoginRefused => 5,
            Self::IllegalQuery => 8,
            Self::Transaction => 9,
            Self::NoSuchAttribute => 10,
            Self::NotEmpty => 11,
            Self::Cancelled => 12,
            Self::Exists => 15,
            Self::DirectoryExists => 16,
            Self::Sequence => 17,
            Self::Constraint => 18,
            Self::NoSuchName => 19,
        }
    }
}

/// A refused command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The code on the wire.
    pub code: Code,
    /// The fault and, if it helps, a remedy: one line, no full stop.
    pub message: String,
}

impl Refusal {
    /// Return a refusal.
    pub fn new(code: Code, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { code, message }
    }
}

/// A result of the service.
pub type Answer<T> = Result<T, Refusal>;
