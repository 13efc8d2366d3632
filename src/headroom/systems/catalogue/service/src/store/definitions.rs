//! The statements that make the tables, in three dialects.
//!
//! Texts are compared by their bytes in all of them: SQLite does so, PostgreSQL's collation `C` does,
//! and so does MariaDB's `utf8mb4_nopad_bin`, for which the database must not decide otherwise.

use super::sql::{Access, Dialect, Slot, Sql};
use super::tables::{Family, KEY_CHARACTERS, NAME_CHARACTERS};
use crate::value::Kind;

/// The content of a column.
#[derive(Clone, Copy)]
enum Holds {
    Integer,
    Real,
    Text,
    /// Text of at most this number of characters, in an index.
    Key(usize),
}

use Holds::{Integer, Key, Real, Text};

const PATH: Holds = Key(KEY_CHARACTERS);
const PERSON: Holds = Key(NAME_CHARACTERS);
const TEAM: Holds = Key(2 * NAME_CHARACTERS + 1);

/// A column that always has a value.
type Column = (&'static str, Holds);

struct Table {
    name: &'static str,
    columns: &'static [Column],
    /// Columns that may be absent.
    absent: &'static [Column],
    key: &'static str,
    /// Columns of indexes that allow each value once.
    unique: &'static [&'static str],
    /// Columns of other indexes.
    indexes: &'static [&'static str],
}

const NO_TABLE: Table = Table {
    name: "",
    columns: &[],
    absent: &[],
    key: "",
    unique: &[],
    indexes: &[],
};

const TABLES: [Table; 11] = [
    Table {
        name: "authority",
        columns: &[("id", Integer), ("epoch", Integer)],
        key: "id",
        ..NO_TABLE
    },
    Table {
        name: "directory",
        columns: &[
            ("id", Integer),
            ("path", PATH),
            ("owner", PERSON),
            ("mode", Integer),
            ("version", Integer),
            ("layout", Text),
            ("acl", Text),
        ],
        absent: &[("parent", PATH)],
        key: "id",
        unique: &["path"],
        indexes: &["parent"],
    },
    Table {
        name: "person",
        columns: &[("name", PERSON)],
        absent: &[("password", Text)],
        key: "name",
        ..NO_TABLE
    },
    Table {
        name: "credential",
        columns: &[("subject", PATH), ("person", PERSON)],
        key: "subject",
        indexes: &["person"],
        ..NO_TABLE
    },
    Table {
        name: "team",
        columns: &[("name", TEAM), ("owner", PERSON)],
        key: "name",
        indexes: &["owner"],
        ..NO_TABLE
    },
    Table {
        name: "member",
        columns: &[("team", TEAM), ("person", PERSON)],
        key: "team, person",
        indexes: &["person"],
        ..NO_TABLE
    },
    Table {
        name: "sequence",
        columns: &[
            ("dir", Integer),
            ("name", PATH),
            ("next", Integer),
            ("step", Integer),
        ],
        key: "dir, name",
        ..NO_TABLE
    },
    Table {
        name: "site",
        columns: &[("id", Integer), ("name", PATH), ("config", Text)],
        key: "id",
        unique: &["name"],
        ..NO_TABLE
    },
    Table {
        name: "replica",
        columns: &[("dir", Integer), ("name", PATH), ("site", Integer)],
        key: "dir, name, site",
        indexes: &["site"],
        ..NO_TABLE
    },
    Table {
        name: "session",
        columns: &[("token", PATH), ("person", PERSON), ("expires", Integer)],
        key: "token",
        indexes: &["person", "expires"],
        ..NO_TABLE
    },
    Table {
        name: "counter",
        columns: &[("name", PATH), ("next", Integer)],
        key: "name",
        ..NO_TABLE
    },
];

/// Return all statements. None does harm when it is repeated.
pub(super) fn all(dialect: Dialect) -> Vec<String> {
    let mut statements: Vec<String> = TABLES
        .iter()
        .flat_map(|next| table(next, dialect))
        .collect();
    for family in [Family::Narrow, Family::Wide] {
        statements.push(entries(family, dialect));
        statements.extend(
            family
                .slots()
                .filter_map(|slot| slot_index(family, slot, dialect)),
        );
    }
    statements.push(
        "INSERT INTO authority (id, epoch) SELECT 1, 0 \
         WHERE NOT EXISTS (SELECT 1 FROM authority)"
            .to_owned(),
    );
    statements
}

fn table(table: &Table, dialect: Dialect) -> Vec<String> {
    let columns = table
        .columns
        .iter()
        .map(|(name, holds)| format!("{name} {} NOT NULL", sql_type(*holds, dialect)));
    let absent = table
        .absent
        .iter()
        .map(|(name, holds)| format!("{name} {}", sql_type(*holds, dialect)));
    let columns: Vec<String> = columns.chain(absent).collect();
    let mut statements = vec![create(table.name, &columns, table.key, dialect)];
    let unique = table.unique.iter().map(|column| ("UNIQUE INDEX", column));
    let others = table.indexes.iter().map(|column| ("INDEX", column));
    statements.extend(unique.chain(others).map(|(kind, column)| {
        let name = table.name;
        format!("CREATE {kind} IF NOT EXISTS {name}_{column} ON {name} ({column})")
    }));
    statements
}

fn entries(family: Family, dialect: Dialect) -> String {
    let fixed: [Column; 5] = [
        ("dir", Integer),
        ("name", PATH),
        ("owner", PERSON),
        ("mode", Integer),
        ("acl", Text),
    ];
    let fixed = fixed
        .iter()
        .map(|(name, holds)| format!("{name} {} NOT NULL", sql_type(*holds, dialect)));
    let slots = family.slots().map(|slot| {
        let holds = match (slot.kind, slot.access) {
            (Kind::Integer, _) => Integer,
            (Kind::Real, _) => Real,
            (Kind::Text, Access::Plain) => Text,
            (Kind::Text, _) => Key(KEY_CHARACTERS),
        };
        format!("{} {}", name_of(slot, dialect), sql_type(holds, dialect))
    });
    let columns: Vec<String> = fixed.chain(slots).collect();
    create(family.table(), &columns, "dir, name", dialect)
}

fn slot_index(family: Family, slot: Slot, dialect: Dialect) -> Option<String> {
    let kind = match slot.access {
        Access::Plain => return None,
        Access::Indexed => "INDEX",
        Access::Unique => "UNIQUE INDEX",
    };
    let (table, column) = (family.table(), name_of(slot, dialect));
    Some(format!(
        "CREATE {kind} IF NOT EXISTS {table}_{column} ON {table} (dir, {column})"
    ))
}

fn name_of(slot: Slot, dialect: Dialect) -> String {
    Sql::default().slot(slot).render(dialect).0
}

fn create(name: &str, columns: &[String], key: &str, dialect: Dialect) -> String {
    let columns = columns.join(", ");
    let end = match dialect {
        // Otherwise SQLite stores a value of another type as it is.
        Dialect::Sqlite => " STRICT, WITHOUT ROWID",
        Dialect::Postgres => "",
        Dialect::Mysql => {
            " ENGINE = InnoDB, ROW_FORMAT = DYNAMIC, \
             CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
        }
    };
    format!("CREATE TABLE IF NOT EXISTS {name} ({columns}, PRIMARY KEY ({key})){end}")
}

fn sql_type(holds: Holds, dialect: Dialect) -> String {
    match (dialect, holds) {
        (Dialect::Sqlite, Integer) => "INTEGER".to_owned(),
        (_, Integer) => "BIGINT".to_owned(),
        (Dialect::Sqlite, Real) => "REAL".to_owned(),
        (_, Real) => "DOUBLE PRECISION".to_owned(),
        (Dialect::Sqlite, _) => "TEXT".to_owned(),
        (Dialect::Postgres, _) => "TEXT COLLATE \"C\"".to_owned(),
        (Dialect::Mysql, Key(characters)) => format!("VARCHAR({characters})"),
        (Dialect::Mysql, _) => "LONGTEXT".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_mariadb_holds_each_key() {
        let bytes = |holds| match holds {
            Key(characters) => 4 * characters,
            _ => 8,
        };
        for table in TABLES {
            let columns = table.key.split(", ");
            let all: usize = columns
                .map(|name| {
                    table
                        .columns
                        .iter()
                        .find(|column| column.0 == name)
                        .unwrap()
                })
                .map(|(_, holds)| bytes(*holds))
                .sum();
            assert!(all <= 3072, "the key of {} has {all} bytes", table.name);
        }
    }

    #[test]
    fn every_slot_is_a_column_of_its_table() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            let statements = all(dialect);
            for family in [Family::Narrow, Family::Wide] {
                let begin = format!("CREATE TABLE IF NOT EXISTS {} ", family.table());
                let text = statements
                    .iter()
                    .find(|text| text.starts_with(&begin))
                    .unwrap();
                for slot in family.slots() {
                    assert!(text.contains(&format!(", {} ", name_of(slot, dialect))));
                }
            }
        }
    }
}
