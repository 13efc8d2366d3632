//! An SQLite database of tests.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, params_from_iter};

use crate::store::functions::register;
use crate::store::sql::{Dialect, Sql};
use crate::value::{Kind, Value};

/// An empty database with the functions of a store.
pub struct Database(Connection);

impl Database {
    pub fn open() -> Self {
        let connection = Connection::open_in_memory().expect("memory");
        register(&connection).expect("functions");
        Self(connection)
    }

    /// Run statements without values.
    pub fn run(&self, text: &str) {
        self.0.execute_batch(text).expect("a statement of a test");
    }

    /// Return the rows of a statement.
    pub fn rows(&self, statement: &Sql) -> Result<Vec<Vec<Value>>, Error> {
        let (text, values) = statement.render(Dialect::Sqlite);
        let mut prepared = self.0.prepare_cached(&text)?;
        let count = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(values.into_iter().map(stored)))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(
                (0..count)
                    .map(|at| shown(row.get_ref(at).expect("a column")))
                    .collect(),
            );
        }
        Ok(found)
    }

    /// Return the value of a part of a statement, with `from` behind it.
    pub fn value(&self, part: Sql, from: &'static str) -> Result<Value, Error> {
        let mut statement = Sql::new("SELECT ");
        statement.append(part).text(from);
        Ok(self.rows(&statement)?.remove(0).remove(0))
    }

    /// Return whether a condition is true; None: unknown.
    pub fn truth(&self, condition: Sql) -> Result<Option<bool>, Error> {
        self.value(condition, "").map(|value| match value {
            Value::Null => None,
            value => Some(value == Value::Integer(1)),
        })
    }
}

fn stored((value, _): (Value, Kind)) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        Value::Integer(number) => number.into(),
        Value::Real(number) => number.into(),
        Value::Text(text) => text.into(),
    }
}

fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(_) => panic!("no statement makes bytes"),
    }
}
