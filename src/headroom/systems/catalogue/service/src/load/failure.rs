//! Why an operation failed: a number for the shared load driver, and a name for its result.

use std::io;

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The catalogue refused a command.
    #[error("refused with code {code}: {message}")]
    Refused {
        /// The code on the wire.
        code: u16,
        /// The catalogue's sentence.
        message: String,
    },
    /// The database refused a statement.
    #[error("SQLSTATE {state}: {message}")]
    Statement {
        /// Five characters.
        state: String,
        /// The database's sentence.
        message: String,
    },
    /// The system refused: a connection was refused, reset, or found no port.
    #[error("{message}")]
    System {
        /// Error number.
        errno: i32,
        /// The system's sentence.
        message: String,
    },
    /// No handshake.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server closed the connection before it had answered.
    #[error("the server closed the connection")]
    Closed,
    /// The reply does not follow the protocol.
    #[error("not a reply: {0}")]
    NotAReply(String),
    /// The reply lacks the GUID of the entry.
    #[error("the reply lacks the GUID of the entry")]
    WrongAnswer,
}

/// First numbers of the kinds: they must not meet error numbers by which the driver knows that a
/// device has gone.
const REFUSED: i32 = 1_000;
const SYSTEM: i32 = 100_000;
const TLS: i32 = 200_000;
const CLOSED: i32 = 200_001;
const NOT_A_REPLY: i32 = 200_002;
const WRONG_ANSWER: i32 = 200_003;
const STATEMENT: i32 = 1_000_000_000;
const BASE: u32 = 36;

impl Failure {
    /// Return the number, above 0.
    pub fn number(&self) -> i32 {
        match self {
            Self::Refused { code, .. } => REFUSED + i32::from(*code),
            Self::System { errno, .. } => SYSTEM + errno,
            Self::Tls(_) => TLS,
            Self::Closed => CLOSED,
            Self::NotAReply(_) => NOT_A_REPLY,
            Self::WrongAnswer => WRONG_ANSWER,
            Self::Statement { state, .. } => {
                let digits = state.chars().take(5).filter_map(|one| one.to_digit(BASE));
                let value = digits.fold(0, |sum, digit| sum * BASE + digit);
                STATEMENT + i32::try_from(value).unwrap_or(0)
            }
        }
    }

    /// Return whether the connection cannot be used any longer.
    pub const fn is_fatal(&self) -> bool {
        !matches!(
            self,
            Self::Refused { .. } | Self::Statement { .. } | Self::WrongAnswer
        )
    }

    /// Return whether nothing was changed, for sure.
    pub fn is_certain(&self) -> bool {
        match self {
            Self::Refused { message, .. } => !message.contains("may or may not"),
            _ => !self.is_fatal(),
        }
    }

    /// Return the failure of a call.
    pub fn of_call(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Closed;
        }
        Self::System {
            errno: error.raw_os_error().unwrap_or(0),
            message: error.to_string(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::of_call(&error)
    }
}

/// Return the name of a number in results: `refused_15`, `sqlstate_40001`, `system_111`.
pub fn name(number: i32) -> String {
    match number {
        TLS => "tls".to_owned(),
        CLOSED => "closed".to_owned(),
        NOT_A_REPLY => "not_a_reply".to_owned(),
        WRONG_ANSWER => "wrong_answer".to_owned(),
        STATEMENT.. => format!("sqlstate_{}", state(number - STATEMENT)),
        SYSTEM.. => format!("system_{}", number - SYSTEM),
        _ => format!("refused_{}", number - REFUSED),
    }
}

fn state(value: i32) -> String {
    let mut value = value.unsigned_abs();
    let mut characters = ['0'; 5];
    for character in characters.iter_mut().rev() {
        *character = char::from_digit(value % BASE, BASE).unwrap_or('0');
        value /= BASE;
    }
    characters.iter().collect::<String>().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_a_number_and_its_name() {
        let statement = |state: &str| Failure::Statement {
            state: state.to_owned(),
            message: String::new(),
        };
        let refused = Failure::Refused {
            code: 15,
            message: String::new(),
        };
        for (failure, expected) in [
            (refused, "refused_15"),
            (statement("40P01"), "sqlstate_40P01"),
            (statement("ZZZZZ"), "sqlstate_ZZZZZ"),
            (io::Error::from_raw_os_error(111).into(), "system_111"),
            (Failure::Tls("no".to_owned()), "tls"),
            (Failure::Closed, "closed"),
            (Failure::NotAReply("x".to_owned()), "not_a_reply"),
            (Failure::WrongAnswer, "wrong_answer"),
            (
                io::Error::from(io::ErrorKind::UnexpectedEof).into(),
                "closed",
            ),
        ] {
            assert_eq!(name(failure.number()), expected);
        }
    }
}
