//! Databases: statements, transactions, pools and migrations.
//!
//! A store is one database, or several PostgreSQL servers among which directories are divided
//! ([`Shard`]). Work that is known beforehand ([`Store::run`]) is one flight of messages and is
//! repeated if the database asks for it; a transaction of a client ([`Store::begin`]) holds a
//! connection from its first statement to its end.

pub mod sql;
pub mod tables;

use sql::Sql;

use crate::value::Value;

/// One of the databases, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(pub usize);

/// A row: a value for each column of the statement.
pub type Row = Vec<Value>;

/// A statement, and what its result must be for the work to go on.
#[derive(Clone, Debug)]
pub struct Step {
    /// The statement.
    pub sql: Sql,
    /// If it is not met, all work is undone.
    pub expect: Expect,
}

/// What a statement must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    Anything,
    /// Change a row, or return one.
    Something,
    /// Change no row, and return none.
    Nothing,
}

/// What a statement did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Returned rows.
    pub rows: Vec<Row>,
    /// Changed rows.
    pub changed: u64,
}

/// Why work was not done. None of it was, unless the message says so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The step with this number did not do what was expected; all work is undone.
    #[error("step {0} did not do what was expected")]
    Unexpected(usize),
    /// A value that must differ exists.
    #[error("duplicate key")]
    Duplicate,
    /// The database asked to repeat the transaction, and repeats did not help or are not possible.
    #[error("the transaction conflicts with another one")]
    Conflict,
    /// No connection became free in time.
    #[error("all {0} connections to the database are in use")]
    Busy(usize),
    /// The database does not answer, or went away before it confirmed.
    #[error("the database does not answer: {0}")]
    Away(String),
    /// A number overflowed, or a text is too long.
    #[error("the database refuses a value: {0}")]
    Value(String),
    /// The database refused a statement of this program: a defect.
    #[error("the database refused a statement: {0}")]
    Defect(String),
}
