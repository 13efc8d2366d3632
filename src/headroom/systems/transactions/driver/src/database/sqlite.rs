//! SQLite, in this process: one writer at a time, readers beside it.

use std::path::PathBuf;
use std::time::Duration;

use headroom_transactions::systems::transactions::inputs::{Table, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use super::{Cell, Manner, Row, Step};
use crate::error::{Cause, Failure};
use crate::target::{Place, Product};

/// Longest wait for another writer.
const PATIENCE: Duration = Duration::from_secs(30);
const STATEMENTS: usize = 128;
const CACHE: &str = "pragma cache_size = -65536";

/// A connection.
pub struct Link {
    connection: Connection,
}

/// Return the file of a database in the folder of a place.
pub fn file(place: &Place, database: &str) -> PathBuf {
    PathBuf::from(&place.address).join(format!("{database}.sqlite"))
}

impl Link {
    pub(super) fn open(place: &Place, database: &str, manner: Manner) -> Result<Self, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = if manner.loads {
            flags | OpenFlags::SQLITE_OPEN_CREATE
        } else {
            flags
        };
        let path = file(place, database);
        let connection = Connection::open_with_flags(path, flags).map_err(failure)?;
        connection.busy_timeout(PATIENCE).map_err(failure)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let link = Self { connection };
        // A loaded part must outlive this process, not the machine's power.
        let writes = if manner.loads { "off" } else { "full" };
        link.tell(&format!(
            "pragma journal_mode = wal; pragma synchronous = {writes}; {CACHE}"
        ))?;
        Ok(link)
    }

    pub(super) fn tell(&self, sql: &str) -> Result<(), Failure> {
        self.connection.execute_batch(sql).map_err(failure)
    }

    pub(super) fn ask(&self, sql: &str) -> Result<Vec<Row>, Failure> {
        self.query(sql, &[]).map_err(failure)
    }

    pub(super) fn run(&self, steps: &[Step]) -> Result<Vec<Vec<Row>>, Failure> {
        let one = |step: &Step| {
            self.query(&step.statement.text(Product::Sqlite), &step.values)
                .map_err(failure)
        };
        steps.iter().map(one).collect()
    }

    fn query(&self, sql: &str, values: &[Cell]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let count = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..count).map(|index| row.get_ref(index).map(cell_of));
            found.push(cells.collect::<rusqlite::Result<Row>>()?);
        }
        Ok(found)
    }

    /// Add a row to a table.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub fn insert(&self, table: Table, row: &[Value]) -> Result<(), Failure> {
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("insert into {} values ({marks})", table.name());
        let mut statement = self.connection.prepare_cached(&sql).map_err(failure)?;
        statement
            .execute(params_from_iter(row.iter().map(Theirs)))
            .map(drop)
            .map_err(failure)
    }
}

/// A value of a row that is loaded.
struct Theirs<'a>(&'a Value);

impl ToSql for Theirs<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Number(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null | Self::Numbers(_) => ValueRef::Null,
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn cell_of(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        ValueRef::Real(number) => Cell::Text(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Cell::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is mapped over results")]
fn failure(error: rusqlite::Error) -> Failure {
    let cause = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Cause::Conflict,
        _ => Cause::Refused,
    };
    Failure {
        cause,
        said: error.to_string(),
    }
}
