//! Errors of MariaDB in the words of a store.

use mysql_async::{Error, ServerError};

use super::super::error::{Failure, StoreError};

/// Return the meaning of an error. The numbers are MariaDB's error codes.
pub fn failure(error: &Error) -> Failure {
    let Error::Server(ServerError { code, message, .. }) = error else {
        return Failure::broken(error);
    };
    let kind = match code {
        // A wait for a lock, a deadlock, a row that changed since it was read.
        1205 | 1213 | 1020 => StoreError::Conflict,
        1062 | 1586 => StoreError::Exists,
        1216 | 1217 | 1451 | 1452 => StoreError::Missing,
        // Out of range, too long, truncated, divided by zero, no number of its kind.
        1264 | 1265 | 1292 | 1365 | 1366 | 1367 | 1406 | 1690 | 1916 => {
            StoreError::Unfit(message.clone())
        }
        1969 => StoreError::Away("a statement took too long".to_owned()),
        // The server ends the connection, or it only reads: another server may be the right one.
        1053 | 1077 | 1317 | 1927 | 1290 | 1836 => return Failure::broken(message),
        // Too many connections, no access, no space.
        1040 | 1203 | 1044 | 1045 | 1049 | 1021 | 1114 => StoreError::Away(message.clone()),
        _ => StoreError::Fault(format!("{message} ({code})")),
    };
    kind.into()
}
