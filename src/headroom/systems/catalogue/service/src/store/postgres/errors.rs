//! Errors of PostgreSQL in the words of a store.

use tokio_postgres::error::{DbError, SqlState};

use super::super::error::{Failure, StoreError};

/// Return the meaning of an error.
pub fn failure(error: &tokio_postgres::Error) -> Failure {
    // Without an answer of the server, the connection is lost, or cannot be understood.
    let Some(refused) = error.as_db_error() else {
        return Failure::broken(reason(error));
    };
    let code = refused.code();
    if is_lost(code) {
        return Failure::broken(refused.message());
    }
    let message = refused.message().to_owned();
    let class = code.code().get(..2).unwrap_or_default();
    let kind = match (code.code(), class) {
        ("40001" | "40P01" | "55P03", _) => StoreError::Conflict,
        ("23505", _) => StoreError::Exists,
        ("23503", _) => StoreError::Missing,
        // A text that is too long for an index counts as a limit of the program.
        (_, "22" | "54") => StoreError::Unfit(message),
        ("57014", _) => StoreError::Away("a statement took too long".to_owned()),
        (_, "28" | "3D" | "53" | "58") => StoreError::Away(message),
        _ => StoreError::Fault(describe(refused)),
    };
    Failure::of(kind)
}

/// Return whether another connection is needed: the server ends it, it is a standby now, or another
/// program changed the tables or forgot the prepared statements.
fn is_lost(code: &SqlState) -> bool {
    let is_ending = code.code().starts_with("57P") || code.code().starts_with("08");
    let is_stale = [
        &SqlState::FEATURE_NOT_SUPPORTED,
        &SqlState::INVALID_SQL_STATEMENT_NAME,
        &SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    is_ending || is_stale.contains(&code)
}

fn describe(refused: &DbError) -> String {
    format!("{} ({})", refused.message(), refused.code().code())
}

/// Return an error with its cause: tokio-postgres says only "error connecting to server".
fn reason(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
