//! The versions that a statement was planned with, as a condition of the statement itself.
//!
//! Servers do not tell each other of changes. Each remembers directories and groups, and a statement
//! finds nothing and changes nothing if one of them has changed since.

use super::directory::{Directory, Person};
use crate::store::sql::Sql;
use crate::value::Value;

/// Whether a statement changes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads: its own snapshot is enough.
    Read,
    /// It changes entries: the rows of the directories stay unchanged until it commits.
    Write,
}

/// Versions of directories, and the epoch of users and groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    epoch: i64,
    directories: Vec<(i64, i64)>,
}

impl Guard {
    /// Return the guard of a plan.
    pub fn new<'a>(person: &Person, directories: impl IntoIterator<Item = &'a Directory>) -> Self {
        let epoch = person.epoch;
        let directories = directories.into_iter();
        Self {
            epoch,
            directories: directories.map(|one| (one.id, one.version)).collect(),
        }
    }

    /// Append ` AND …`: nothing has changed.
    pub fn and(&self, of: Use, statement: &mut Sql) {
        statement
            .text(" AND (SELECT epoch FROM authority WHERE id = 1) = ")
            .bind(Value::Integer(self.epoch));
        for (id, version) in &self.directories {
            statement
                .text(" AND EXISTS (SELECT 1 FROM directory AS d WHERE d.id = ")
                .bind(Value::Integer(*id))
                .text(" AND d.version = ")
                .bind(Value::Integer(*version));
            if of == Use::Write {
                statement.by_dialect(["", " FOR KEY SHARE", " LOCK IN SHARE MODE"]);
            }
            statement.text(")");
        }
    }

    /// Return the statement that finds a row if nothing has changed.
    pub fn question(&self) -> Sql {
        let mut question = Sql::new("SELECT 1 FROM authority WHERE id = 1");
        self.and(Use::Read, &mut question);
        question
    }

    /// Return the statement that keeps the rows of the directories to itself until its transaction
    /// ends, and finds a row if nothing has changed. It is for changes of a directory.
    pub fn lock(&self) -> Sql {
        let mut lock = Sql::new("SELECT d.id FROM directory AS d WHERE d.id IN (");
        for (number, (id, _)) in self.directories.iter().enumerate() {
            lock.text(if number > 0 { ", " } else { "" });
            lock.bind(Value::Integer(*id));
        }
        lock.text(")");
        // The versions are compared by the statement after this one: a row that waited for its
        // lock has to be seen as it is then.
        lock.text(" ORDER BY d.id")
            .by_dialect(["", " FOR UPDATE", " FOR UPDATE"]);
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::Dialect;

    fn guard() -> Guard {
        Guard {
            epoch: 3,
            directories: vec![(7, 2)],
        }
    }

    #[test]
    fn a_writer_keeps_the_row() {
        let mut statement = Sql::new("UPDATE entry SET i0 = 1 WHERE 1 = 1");
        guard().and(Use::Write, &mut statement);
        let (text, values) = statement.render(Dialect::Postgres);
        assert!(
            text.ends_with("d.id = $2 AND d.version = $3 FOR KEY SHARE)"),
            "{text}"
        );
        assert_eq!(values.len(), 3);
    }

    #[test]
    fn a_reader_does_not() {
        let (text, _) = guard().question().render(Dialect::Postgres);
        assert!(text.ends_with("d.id = $2 AND d.version = $3)"), "{text}");
    }

    #[test]
    fn a_change_locks_in_the_order_of_ids() {
        let (text, _) = guard().lock().render(Dialect::Mysql);
        assert!(
            text.ends_with("d.id IN (?) ORDER BY d.id FOR UPDATE"),
            "{text}"
        );
    }
}
