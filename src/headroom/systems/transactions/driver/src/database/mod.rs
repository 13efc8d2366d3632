//! Connections to the three products, in one form.

pub mod mark;
mod mysql;
mod postgres;
pub mod schema;
pub mod sqlite;
pub mod statements;

use headroom_transactions::systems::transactions::inputs::{Table, Value};
use serde::Deserialize;

pub use self::statements::Statement;
use crate::error::{DriverError, Failure};
use crate::target::{Place, Product};

/// A value that goes to a database or comes from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
    /// Numbers, for functions that take several.
    Numbers(Vec<i32>),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<i32>> for Cell {
    fn from(numbers: Vec<i32>) -> Self {
        Self::Numbers(numbers)
    }
}

impl Cell {
    /// Return its number, also that of a text of digits.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn number(&self) -> Result<i64, Failure> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| Failure::wrong(format!("a number was expected, not {self:?}")))
    }

    /// Return its text; empty for nothing.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

/// A row of an answer.
pub type Row = Vec<Cell>;

/// A statement with its values.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is said.
    pub statement: Statement,
    /// Values of its parameters.
    pub values: Vec<Cell>,
}

/// Make a [`Step`] from a statement and its values.
#[macro_export]
macro_rules! step {
    ($statement:expr $(, $value:expr)* $(,)?) => {
        $crate::database::Step {
            statement: $statement,
            values: vec![$($crate::database::Cell::from($value)),*],
        }
    };
}

/// How far transactions see each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// What the server does if it is not told.
    #[default]
    Default,
    /// Read committed.
    ReadCommitted,
    /// Repeatable read.
    RepeatableRead,
    /// Serializable.
    Serializable,
}

impl Isolation {
    /// Return its name in SQL.
    pub const fn sql(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::ReadCommitted => Some("read committed"),
            Self::RepeatableRead => Some("repeatable read"),
            Self::Serializable => Some("serializable"),
        }
    }
}

/// How a connection behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// See [`Isolation`].
    pub isolation: Isolation,
    /// Whether statements that do not need each other's answers travel together, where the
    /// product can.
    pub pipelines: bool,
    /// Whether the connection loads: what is lost by a power failure is loaded again.
    pub loads: bool,
}

/// A connection.
pub enum Link {
    /// To PostgreSQL.
    Postgres(postgres::Link),
    /// To MariaDB.
    Mysql(mysql::Link),
    /// To SQLite.
    Sqlite(sqlite::Link),
}

impl Link {
    /// Connect to a database of a place.
    ///
    /// # Errors
    ///
    /// If that is not possible.
    pub async fn connect(place: &Place, database: &str, manner: Manner) -> Result<Self, Failure> {
        Ok(match place.product {
            Product::Postgres => {
                Self::Postgres(postgres::Link::open(place, database, manner).await?)
            }
            Product::Mariadb => Self::Mysql(mysql::Link::open(place, database, manner).await?),
            Product::Sqlite => Self::Sqlite(sqlite::Link::open(place, database, manner)?),
        })
    }

    /// Return what speaks.
    pub const fn product(&self) -> Product {
        match self {
            Self::Postgres(_) => Product::Postgres,
            Self::Mysql(_) => Product::Mariadb,
            Self::Sqlite(_) => Product::Sqlite,
        }
    }

    /// Carry out a text of SQL that has no answer.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub async fn tell(&mut self, sql: &str) -> Result<(), Failure> {
        match self {
            Self::Postgres(link) => link.tell(sql).await,
            Self::Mysql(link) => link.tell(sql).await,
            Self::Sqlite(link) => link.tell(sql),
        }
    }

    /// Return the rows that a text of SQL asks for.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Postgres(link) => link.ask(sql).await,
            Self::Mysql(link) => link.ask(sql).await,
            Self::Sqlite(link) => link.ask(sql),
        }
    }

    /// Return the number that a text of SQL asks for.
    ///
    /// # Errors
    ///
    /// If the database refuses, or answers something else.
    pub async fn count(&mut self, sql: &str) -> Result<i64, Failure> {
        let rows = self.ask(sql).await?;
        let cell = rows.first().and_then(|row| row.first());
        cell.ok_or_else(|| Failure::wrong("no row came"))?.number()
    }

    /// Carry out steps in order; return the rows of each. None of them may need the answer of one
    /// before.
    ///
    /// # Errors
    ///
    /// The first failure; a transaction that was begun is still open then.
    pub async fn run(&mut self, steps: &[Step]) -> Result<Vec<Vec<Row>>, Failure> {
        match self {
            Self::Postgres(link) => link.run(steps).await,
            Self::Mysql(link) => link.run(steps).await,
            Self::Sqlite(link) => link.run(steps),
        }
    }

    /// Put rows into a table, as fast as the product can.
    ///
    /// # Errors
    ///
    /// If the database refuses.
    pub async fn copy(&mut self, table: Table, rows: &mut Rows) -> Result<(), Failure> {
        match self {
            Self::Postgres(link) => link.copy(table, rows).await,
            Self::Mysql(link) => link.copy(table, rows).await,
            Self::Sqlite(_) => Ok(()),
        }
    }
}

/// Rows of a part of one table, in the form in which a product takes them.
pub struct Rows {
    bytes: Vec<u8>,
    product: Product,
}

impl Rows {
    /// Return a place for rows.
    pub const fn new(product: Product) -> Self {
        Self {
            bytes: Vec::new(),
            product,
        }
    }

    /// Add a row of a table.
    pub fn add(&mut self, table: Table, row: &[Value]) {
        match self.product {
            Product::Postgres => postgres::encode(table, row, &mut self.bytes),
            _ => mysql::encode(row, &mut self.bytes),
        }
    }
}

/// Return the error of a place that cannot be reached.
pub fn unreachable(place: &Place, failure: &Failure) -> DriverError {
    DriverError::Database(format!(
        "cannot connect to {} as the job says: {failure}",
        place.address
    ))
}
