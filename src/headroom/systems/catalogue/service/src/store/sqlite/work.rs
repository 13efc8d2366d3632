//! The work of a thread: statements of SQLite.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::ffi::ErrorCode;
use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{Connection, Error, OpenFlags, Row, ffi};
use tokio::sync::mpsc::Sender;

use super::super::error::{Failure, StoreError};
use super::super::functions::{is_unfit, register};
use super::super::settings::Settings;
use super::super::step::{Expect, Outcome, Ran, Rendered};
use crate::value::Value;

/// Open a file. A commit is on the disk before it is reported.
pub fn open(path: &Path, settings: &Settings, is_reader: bool) -> Result<Connection, StoreError> {
    let start = Instant::now();
    loop {
        match configured(path, settings, is_reader) {
            Ok(connection) => return Ok(connection),
            // Another program makes the file: SQLite does not wait for the change of its journal.
            Err(error) if is_busy(&error) && start.elapsed() < settings.lock_timeout => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(StoreError::Away(format!("{}: {error}", path.display()))),
        }
    }
}

fn is_busy(error: &Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn configured(path: &Path, settings: &Settings, is_reader: bool) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::default())?;
    register(&connection)?;
    connection.busy_timeout(settings.lock_timeout)?;
    connection.set_prepared_statement_cache_capacity(settings.max_statements);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "query_only", is_reader)?;
    Ok(connection)
}

/// Run all steps, or none.
pub fn run(connection: &Connection, steps: &[Rendered]) -> Result<Ran, Failure> {
    if let [step] = steps
        && (step.expect != Expect::Nothing || step.is_read)
    {
        let mut ran = Ran::default();
        ran.add(execute(connection, step)?, step.expect);
        return Ok(ran);
    }
    let is_read = steps.iter().all(|step| step.is_read);
    batch(
        connection,
        if is_read { "BEGIN" } else { "BEGIN IMMEDIATE" },
    )?;
    let result = all(connection, steps);
    match result {
        Ok(Ran { failed: None, .. }) => commit(connection)?,
        _ => rollback(connection)?,
    }
    result
}

fn all(connection: &Connection, steps: &[Rendered]) -> Result<Ran, Failure> {
    let mut ran = Ran::default();
    for step in steps {
        if !ran.add(execute(connection, step)?, step.expect) {
            break;
        }
    }
    Ok(ran)
}

pub fn batch(connection: &Connection, text: &str) -> Result<(), Failure> {
    connection
        .execute_batch(text)
        .map_err(|error| failure(&error))
}

pub fn commit(connection: &Connection) -> Result<(), Failure> {
    let result = batch(connection, "COMMIT");
    if result.is_err() {
        rollback(connection)?;
    }
    result
}

/// Roll back, unless an error did so.
pub fn rollback(connection: &Connection) -> Result<(), Failure> {
    if connection.is_autocommit() {
        return Ok(());
    }
    batch(connection, "ROLLBACK").map_err(|failure| Failure::broken(failure.error))
}

/// Run a statement.
pub fn execute(connection: &Connection, step: &Rendered) -> Result<Outcome, Failure> {
    let mut rows = Vec::new();
    let is_changing = each_row(connection, step, |row| {
        rows.push(row);
        true
    })?;
    let changed = if is_changing { connection.changes() } else { 0 };
    Ok(step.outcome(rows, changed))
}

/// Send rows until no caller listens.
pub fn rows(
    connection: &Connection,
    step: &Rendered,
    listener: &Sender<Result<Vec<Value>, Failure>>,
) {
    if listener.is_closed() {
        return;
    }
    let result = each_row(connection, step, |row| {
        listener.blocking_send(Ok(row)).is_ok()
    });
    if let Err(failure) = result {
        let _ = listener.blocking_send(Err(failure));
    }
}

/// Give all rows to `take` while it wants them; return whether the statement can change something.
fn each_row(
    connection: &Connection,
    step: &Rendered,
    mut take: impl FnMut(Vec<Value>) -> bool,
) -> Result<bool, Failure> {
    let refused = |error: Error| failure(&error);
    let mut statement = connection.prepare_cached(&step.text).map_err(refused)?;
    for (position, (value, _)) in (1..).zip(&step.values) {
        statement
            .raw_bind_parameter(position, stored(value))
            .map_err(refused)?;
    }
    let (columns, is_changing) = (statement.column_count(), !statement.readonly());
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(refused)? {
        if !take(decode(row, columns)?) {
            break;
        }
    }
    Ok(is_changing)
}

fn stored(value: &Value) -> ToSqlOutput<'_> {
    match value {
        Value::Null => ToSqlOutput::Owned(Stored::Null),
        Value::Integer(number) => ToSqlOutput::Owned(Stored::Integer(*number)),
        Value::Real(number) => ToSqlOutput::Owned(Stored::Real(*number)),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    }
}

fn decode(row: &Row<'_>, columns: usize) -> Result<Vec<Value>, Failure> {
    (0..columns)
        .map(
            |column| match row.get_ref(column).map_err(|error| failure(&error))? {
                ValueRef::Null => Ok(Value::Null),
                ValueRef::Integer(number) => Ok(Value::Integer(number)),
                // Where others report an overflow, SQLite computes an infinite number.
                ValueRef::Real(number) if !number.is_finite() => {
                    Err(unfit("a number is out of range"))
                }
                ValueRef::Real(number) => Ok(Value::Real(number)),
                ValueRef::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => Ok(Value::Text(text.to_owned())),
                    Err(_) => Err(unfit("a text is not UTF-8")),
                },
                ValueRef::Blob(_) => {
                    Err(StoreError::Fault("a column holds bytes".to_owned()).into())
                }
            },
        )
        .collect()
}

fn unfit(reason: &str) -> Failure {
    StoreError::Unfit(reason.to_owned()).into()
}

fn failure(error: &Error) -> Failure {
    let message = error.to_string();
    let Error::SqliteFailure(code, _) = error else {
        return StoreError::Fault(message).into();
    };
    let kind = match (code.code, code.extended_code) {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Conflict,
        (_, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            StoreError::Exists
        }
        (_, ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => StoreError::Missing,
        (_, ffi::SQLITE_CONSTRAINT_DATATYPE) | (ErrorCode::TooBig | ErrorCode::TypeMismatch, _) => {
            StoreError::Unfit("a value does not fit".to_owned())
        }
        (ErrorCode::Unknown, _) if is_unfit(error) => {
            StoreError::Unfit("a number is out of range".to_owned())
        }
        (ErrorCode::OperationInterrupted, _) => {
            StoreError::Away("a statement took too long".to_owned())
        }
        (
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly,
            _,
        ) => StoreError::Away(message),
        _ => StoreError::Fault(message),
    };
    kind.into()
}
