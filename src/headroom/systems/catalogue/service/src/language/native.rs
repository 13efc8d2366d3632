//! Native SQL over directories: `SELECT`, `INSERT`, `UPDATE` and `DELETE` with directories as tables.
//!
//! A directory stands bare or in double quotes: `FROM /jobs j JOIN "/my files" f ON j.FILE = f.job`.
//! An attribute is `j.name`, `/jobs:name` or `name`; a text in an expression stands in quotes of
//! either kind. The statement is only read here: the caller finds directories and checks rights.

mod read;
#[cfg(test)]
mod tests;

use super::expression::Expression;
use super::parser::Parser;
use crate::refusal::Answer;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `SELECT … FROM …`
    Select(Select),
    /// `INSERT INTO directory (…) VALUES (…), (…)`
    Insert(Insert),
    /// `UPDATE directory SET … WHERE …`
    Update(Update),
    /// `DELETE FROM directory WHERE …`
    Delete(Delete),
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Whether each row appears once.
    pub is_distinct: bool,
    /// The columns; none for `*`.
    pub columns: Vec<Column>,
    /// The directories: every one is joined with those before it.
    pub tables: Vec<Table>,
    /// `WHERE`.
    pub condition: Option<Expression>,
    /// `GROUP BY`.
    pub groups: Vec<Expression>,
    /// `HAVING`.
    pub group_condition: Option<Expression>,
    /// `ORDER BY`.
    pub order: Vec<Order>,
    /// `LIMIT`.
    pub limit: Option<u64>,
    /// `OFFSET`.
    pub offset: Option<u64>,
}

/// A column of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The value.
    pub value: Expression,
    /// `AS name`.
    pub alias: Option<String>,
}

/// A directory of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The path as written.
    pub directory: String,
    /// The name by which expressions know it.
    pub alias: Option<String>,
    /// `ON`.
    pub condition: Option<Expression>,
}

/// A place in the order of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The value; a whole number is the place of a column.
    pub value: Expression,
    /// `DESC`.
    pub is_descending: bool,
}

/// New entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The path as written.
    pub directory: String,
    /// The attributes, `FILE` among them.
    pub attributes: Vec<String>,
    /// Values of each entry, as many as attributes.
    pub rows: Vec<Vec<Expression>>,
}

/// A change of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The directory.
    pub table: Table,
    /// Attributes and their new values.
    pub changes: Vec<(String, Expression)>,
    /// `WHERE`.
    pub condition: Option<Expression>,
}

/// A removal of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The directory.
    pub table: Table,
    /// `WHERE`.
    pub condition: Option<Expression>,
}

/// Return the tree of a statement.
///
/// ```
/// use headroom_catalogue::language::native::{Statement, parse};
///
/// let found = parse("SELECT FILE, events FROM /jobs WHERE events > 10 ORDER BY events DESC")?;
/// assert!(matches!(found, Statement::Select(select) if select.tables[0].directory == "/jobs"));
/// # Ok::<(), headroom_catalogue::refusal::Refusal>(())
/// ```
///
/// # Errors
///
/// The text is no such statement, or is too long or too deep.
pub fn parse(text: &str) -> Answer<Statement> {
    let mut parser = Parser::of_native(text)?;
    let found = if parser.lexer.keyword("select") {
        Statement::Select(parser.select()?)
    } else if parser.lexer.keyword("insert") {
        Statement::Insert(parser.insert()?)
    } else if parser.lexer.keyword("update") {
        Statement::Update(parser.update()?)
    } else if parser.lexer.keyword("delete") {
        Statement::Delete(parser.delete()?)
    } else {
        return Err(parser.lexer.unexpected("SELECT, INSERT, UPDATE or DELETE"));
    };
    parser.lexer.symbol(";");
    parser.end()?;
    Ok(found)
}
