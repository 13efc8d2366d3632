//! A statement: text of the program, numbers and bound values; a user's text is never part of it.

use serde::{Deserialize, Serialize};

use crate::value::{Kind, Value};

/// The SQL of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL, and what speaks like it.
    Postgres,
    /// MariaDB.
    Mysql,
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(&'static str),
    ByDialect([&'static str; 3]),
    Either(Box<[Sql; 3]>),
    Number(i64),
    Bound(Value),
    Absent(Kind),
    Column(Column),
}

/// A column of a table of entries, with the number of the table in its query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column {
    /// Number of the table: the SQL name is `e` and this number.
    pub table: u16,
    /// The column.
    pub slot: Slot,
}

/// A column of a table of entries; see `tables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Plain, indexed or unique.
    pub access: Access,
    /// The kind of its values.
    pub kind: Kind,
    /// From 0.
    pub number: u8,
}

/// How values of a column are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// By reading the entries of the directory.
    Plain,
    /// By an index on directory and value.
    Indexed,
    /// By an index that allows each value once in a directory.
    Unique,
}

/// A statement without and with values.
///
/// ```
/// use headroom_catalogue::store::sql::{Dialect, Sql};
/// use headroom_catalogue::value::Value;
///
/// let mut found = Sql::new("SELECT owner FROM directory WHERE path = ");
/// found.bind(Value::Text("/jobs".into())).text(" LIMIT ").number(1);
/// let (text, values) = found.render(Dialect::Postgres);
/// assert_eq!(text, "SELECT owner FROM directory WHERE path = $1 LIMIT 1");
/// assert_eq!(values.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sql {
    pieces: Vec<Piece>,
}

impl Sql {
    /// Return a statement that begins with `text`.
    pub fn new(text: &'static str) -> Self {
        Self {
            pieces: vec![Piece::Text(text)],
        }
    }

    /// Return the begin of an insertion that leaves existing rows as they are, which
    /// [`Sql::unless_there`] ends: an error would lose a whole transaction in PostgreSQL.
    pub fn insert_new() -> Self {
        let mut sql = Self::default();
        sql.by_dialect(["INSERT INTO ", "INSERT INTO ", "INSERT IGNORE INTO "]);
        sql
    }

    /// Append the end of [`Sql::insert_new`].
    pub fn unless_there(&mut self) -> &mut Self {
        self.by_dialect([" ON CONFLICT DO NOTHING", " ON CONFLICT DO NOTHING", ""])
    }

    /// Append text of the program.
    pub fn text(&mut self, text: &'static str) -> &mut Self {
        self.pieces.push(Piece::Text(text));
        self
    }

    /// Append the text of one dialect: `[SQLite, PostgreSQL, MariaDB]`.
    pub fn by_dialect(&mut self, texts: [&'static str; 3]) -> &mut Self {
        self.pieces.push(Piece::ByDialect(texts));
        self
    }

    /// Append the part of one dialect, which may have values: `[SQLite, PostgreSQL, MariaDB]`.
    pub fn either(&mut self, parts: [Self; 3]) -> &mut Self {
        self.pieces.push(Piece::Either(Box::new(parts)));
        self
    }

    /// Append a number of the program: it is written into the statement. A value that differs from
    /// call to call, such as the id of a directory, is bound, so that few statements need preparing.
    pub fn number(&mut self, number: i64) -> &mut Self {
        self.pieces.push(Piece::Number(number));
        self
    }

    /// Append a parameter.
    ///
    /// # Panics
    ///
    /// If the value is `Null`, which has no type: use [`Sql::bind_as`].
    pub fn bind(&mut self, value: Value) -> &mut Self {
        assert!(value != Value::Null, "an absent value needs its kind");
        self.pieces.push(Piece::Bound(value));
        self
    }

    /// Append a parameter that may be absent.
    pub fn bind_as(&mut self, value: Value, kind: Kind) -> &mut Self {
        self.pieces.push(match value {
            Value::Null => Piece::Absent(kind),
            value => Piece::Bound(value),
        });
        self
    }

    /// Append a column of entries, such as `e0.t3`.
    pub fn column(&mut self, column: Column) -> &mut Self {
        self.pieces.push(Piece::Column(column));
        self
    }

    /// Append a column without its table, as `SET` and the list of `INSERT` want it.
    pub fn slot(&mut self, slot: Slot) -> &mut Self {
        self.text(prefix(slot)).number(i64::from(slot.number))
    }

    /// Append another statement or part.
    pub fn append(&mut self, mut other: Self) -> &mut Self {
        self.pieces.append(&mut other.pieces);
        self
    }

    /// Append parts with `between` between them.
    pub fn join(
        &mut self,
        parts: impl IntoIterator<Item = Self>,
        between: &'static str,
    ) -> &mut Self {
        for (number, part) in parts.into_iter().enumerate() {
            if number > 0 {
                self.text(between);
            }
            self.append(part);
        }
        self
    }

    /// Return the number of pieces, those of all dialects counted.
    pub fn size(&self) -> usize {
        let sizes = self.pieces.iter().map(|piece| match piece {
            Piece::Either(parts) => parts.iter().map(Self::size).sum(),
            _ => 1,
        });
        sizes.sum()
    }

    /// Return whether it changes nothing and locks nothing: it begins with `SELECT`, and no part of it
    /// is a lock of PostgreSQL. SQLite has no such locks, but a statement that wants one must wait for
    /// other writers there too.
    pub fn is_read(&self) -> bool {
        let locks = [
            "FOR UPDATE",
            "FOR NO KEY UPDATE",
            "FOR SHARE",
            "FOR KEY SHARE",
        ];
        let begins = self
            .first_text()
            .is_some_and(|text| text.starts_with("SELECT"));
        begins && !self.has_text(&|text| locks.iter().any(|lock| text.contains(lock)))
    }

    /// Return the first text of PostgreSQL's form that is not empty.
    fn first_text(&self) -> Option<&str> {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(*text),
            Piece::ByDialect(texts) => Some(texts[Dialect::Postgres as usize]),
            Piece::Either(parts) => parts[Dialect::Postgres as usize].first_text(),
            _ => None,
        });
        texts.into_iter().find(|text| !text.is_empty())
    }

    /// Return whether a text of PostgreSQL's form is of a kind.
    fn has_text(&self, is_of_kind: &dyn Fn(&str) -> bool) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Text(text) => is_of_kind(text),
            Piece::ByDialect(texts) => is_of_kind(texts[Dialect::Postgres as usize]),
            Piece::Either(parts) => parts[Dialect::Postgres as usize].has_text(is_of_kind),
            _ => false,
        })
    }

    /// Return the text in a dialect, and the values of its parameters with their kinds.
    pub fn render(&self, dialect: Dialect) -> (String, Vec<(Value, Kind)>) {
        let mut text = String::with_capacity(16 * self.pieces.len());
        let mut values = Vec::new();
        self.write(dialect, &mut text, &mut values);
        (text, values)
    }

    fn write(&self, dialect: Dialect, text: &mut String, values: &mut Vec<(Value, Kind)>) {
        use std::fmt::Write as _;

        for piece in &self.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::ByDialect(parts) => text.push_str(parts[dialect as usize]),
                Piece::Either(parts) => parts[dialect as usize].write(dialect, text, values),
                Piece::Number(number) => {
                    let _ = write!(text, "{number}");
                }
                Piece::Column(Column { table, slot }) => {
                    let _ = write!(text, "e{table}.{}{}", prefix(*slot), slot.number);
                }
                Piece::Bound(_) | Piece::Absent(_) => {
                    values.push(parameter(piece));
                    if dialect == Dialect::Postgres {
                        let _ = write!(text, "${}", values.len());
                    } else {
                        text.push('?');
                    }
                }
            }
        }
    }
}

fn parameter(piece: &Piece) -> (Value, Kind) {
    match piece {
        Piece::Absent(kind) => (Value::Null, *kind),
        Piece::Bound(value @ Value::Integer(_)) => (value.clone(), Kind::Integer),
        Piece::Bound(value @ Value::Real(_)) => (value.clone(), Kind::Real),
        Piece::Bound(value) => (value.clone(), Kind::Text),
        _ => unreachable!("only parameters have values"),
    }
}

/// Return the name of a column up to its number.
fn prefix(slot: Slot) -> &'static str {
    match (slot.access, slot.kind) {
        (Access::Plain, Kind::Integer) => "i",
        (Access::Plain, Kind::Real) => "r",
        (Access::Plain, Kind::Text) => "t",
        (Access::Indexed, Kind::Integer) => "xi",
        (Access::Indexed, Kind::Real) => "xr",
        (Access::Indexed, Kind::Text) => "xt",
        (Access::Unique, Kind::Integer) => "ui",
        (Access::Unique, Kind::Real) => "ur",
        (Access::Unique, Kind::Text) => "ut",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_begins_with_select_and_locks_nothing() {
        let mut read = Sql::default();
        read.by_dialect(["", "", ""]).text("SELECT 1 FROM entry");
        assert!(read.is_read());
        let mut locking = read.clone();
        locking.by_dialect(["", " FOR UPDATE OF e0 SKIP LOCKED", " FOR UPDATE"]);
        assert!(!locking.is_read());
        assert!(!Sql::new("UPDATE entry SET i0 = (SELECT 1)").is_read());
        let mut quoted = Sql::new("SELECT 1 FROM entry WHERE name = ");
        quoted.bind(Value::Text("FOR UPDATE".to_owned()));
        assert!(quoted.is_read());
    }
}
