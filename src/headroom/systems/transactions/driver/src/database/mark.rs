//! The mark of a database that this program made: what was loaded, how, and how far.
//!
//! Invariant: a database without it is never changed or dropped.

use headroom_transactions::systems::transactions::inputs::{Constants, Workload};

use super::{Cell, Link, Manner, sqlite};
use crate::error::{Cause, DriverError, Failure};
use crate::target::{Place, Product};

/// What the schema, the rows and the functions of this version are called.
pub const FORMAT: i64 = 1;
/// With what all names begin.
const PREFIX: &str = "headroom_";
const TABLE: &str = "headroom_mark";
/// Older ones are tested nowhere.
const OLDEST_POSTGRES: (u32, u32) = (13, 0);
/// The first with `insert … returning`; MySQL has neither that nor procedures that are replaced.
const OLDEST_MARIADB: (u32, u32) = (10, 5);

/// How far a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Parts are missing.
    Loading,
    /// All is there, as it was loaded.
    Loaded,
    /// A copy, on which transactions may have run.
    Copied,
}

/// What a database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What was loaded.
    pub workload: Workload,
    /// Warehouses or branches.
    pub scale: u32,
    /// Seed of the rows.
    pub seed: u64,
    /// Constants with which it was loaded, and with which it is asked.
    pub constants: Constants,
    /// How far it is.
    pub stage: Stage,
}

/// Check the name of a database.
///
/// # Errors
///
/// If it could be somebody else's.
pub fn check_name(name: &str) -> Result<(), DriverError> {
    let is_plain = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == b'_';
    if name.starts_with(PREFIX) && name.len() <= 60 && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(DriverError::Job(format!(
        "`{name}` is not the name of a database of this program, which has to begin with `{PREFIX}`, \
         with small letters, digits and `_` after it"
    )))
}

/// Return the database of the server itself, from which others are made.
pub const fn of_server(product: Product) -> &'static str {
    match product {
        Product::Postgres => "postgres",
        _ => "",
    }
}

/// Return whether a database has no table.
///
/// # Errors
///
/// If the server cannot be asked.
pub async fn is_empty(link: &mut Link, name: &str) -> Result<bool, Failure> {
    let tables = match link.product() {
        Product::Postgres => "information_schema.tables where table_schema = 'public'".to_owned(),
        Product::Mariadb => format!("information_schema.tables where table_schema = '{name}'"),
        Product::Sqlite => "sqlite_master".to_owned(),
    };
    Ok(link
        .count(&format!("select count(*) from {tables}"))
        .await?
        == 0)
}

/// Return whether a database is there.
///
/// # Errors
///
/// If the server cannot be asked.
pub async fn exists(place: &Place, name: &str) -> Result<bool, DriverError> {
    if place.product == Product::Sqlite {
        return Ok(sqlite::file(place, name).exists());
    }
    let mut link = connect(place, of_server(place.product), Manner::default()).await?;
    let list = match place.product {
        Product::Postgres => "pg_database where datname",
        _ => "information_schema.schemata where schema_name",
    };
    let count = link
        .count(&format!("select count(*) from {list} = '{name}'"))
        .await;
    Ok(count.map_err(DriverError::of("listing the databases"))? > 0)
}

/// Refuse a server whose version lacks what the functions need.
///
/// # Errors
///
/// If it does, or cannot be asked.
pub async fn check_server(place: &Place) -> Result<(), DriverError> {
    let (ask, oldest) = match place.product {
        Product::Postgres => ("show server_version", OLDEST_POSTGRES),
        Product::Mariadb => ("select version()", OLDEST_MARIADB),
        Product::Sqlite => return Ok(()),
    };
    let mut link = connect(place, of_server(place.product), Manner::default()).await?;
    let rows = link.ask(ask).await;
    let rows = rows.map_err(DriverError::of("asking for the version of the server"))?;
    let said = rows.first().and_then(|row| row.first());
    let said = said.map_or("", Cell::text);
    refuse_version(place.product, said, oldest)
}

fn refuse_version(product: Product, said: &str, oldest: (u32, u32)) -> Result<(), DriverError> {
    let name = match product {
        Product::Postgres => "PostgreSQL",
        _ => "MariaDB",
    };
    let is_other = product == Product::Mariadb && !said.contains("MariaDB");
    let mut numbers = said
        .split(|sign: char| !sign.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    let found: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if is_other || found < oldest {
        return Err(DriverError::Database(format!(
            "the server is of version {said}, and its functions need {name} {}.{} or later; use \
             such a server",
            oldest.0, oldest.1
        )));
    }
    Ok(())
}

/// Connect, or say that it is not possible.
///
/// # Errors
///
/// If it is not.
pub async fn connect(place: &Place, database: &str, manner: Manner) -> Result<Link, DriverError> {
    let link = Link::connect(place, database, manner).await;
    link.map_err(|failure| super::unreachable(place, &failure))
}

/// Return the mark of a database.
///
/// # Errors
///
/// If there is none, or it is that of another version.
pub async fn read(link: &mut Link, name: &str) -> Result<Mark, DriverError> {
    let found = link.ask(&format!("select name, value from {TABLE}")).await;
    let rows = found.map_err(|failure| match failure.cause {
        Cause::Refused => DriverError::Database(format!(
            "the database `{name}` was not made by this program, which leaves it alone; choose \
             another name"
        )),
        _ => DriverError::of("reading the mark")(failure),
    })?;
    let number = |wanted: &str| -> Result<i64, Failure> {
        let row = rows.iter().find(|row| row[0].text().trim_end() == wanted);
        row.ok_or_else(|| Failure::wrong(format!("the mark has no `{wanted}`")))?[1].number()
    };
    parse(number).map_err(|failure| match failure {
        Parsed::Version(found) => DriverError::Database(format!(
            "the database `{name}` has the schema of version {found}, this program that of \
             version {FORMAT}; drop it, then load it again"
        )),
        Parsed::Broken(failure) => DriverError::of("reading the mark")(failure),
    })
}

enum Parsed {
    Version(i64),
    Broken(Failure),
}

impl From<Failure> for Parsed {
    fn from(failure: Failure) -> Self {
        Self::Broken(failure)
    }
}

fn parse(number: impl Fn(&str) -> Result<i64, Failure>) -> Result<Mark, Parsed> {
    let format = number("format")?;
    if format != FORMAT {
        return Err(Parsed::Version(format));
    }
    let small = |name: &str| -> Result<u32, Failure> {
        let found = number(name)?;
        u32::try_from(found).map_err(|_| Failure::wrong(format!("`{name}` is {found}")))
    };
    Ok(Mark {
        workload: if number("workload")? == 0 {
            Workload::TpcC
        } else {
            Workload::TpcB
        },
        scale: small("scale")?,
        seed: number("seed")?.cast_unsigned(),
        constants: Constants {
            names_loaded: small("names_loaded")?,
            names: small("names")?,
            customers: small("customers")?,
            items: small("items")?,
        },
        stage: match number("stage")? {
            0 => Stage::Loading,
            1 => Stage::Loaded,
            _ => Stage::Copied,
        },
    })
}

/// Make the mark of an empty database.
///
/// # Errors
///
/// If the database refuses.
pub async fn write(link: &mut Link, mark: Mark) -> Result<(), Failure> {
    let constants = mark.constants;
    let kind = if link.product() == Product::Mariadb {
        "signed"
    } else {
        "bigint"
    };
    let values = [
        ("format", FORMAT),
        ("workload", i64::from(mark.workload == Workload::TpcB)),
        ("scale", i64::from(mark.scale)),
        ("seed", mark.seed.cast_signed()),
        ("names_loaded", i64::from(constants.names_loaded)),
        ("names", i64::from(constants.names)),
        ("customers", i64::from(constants.customers)),
        ("items", i64::from(constants.items)),
        ("stage", mark.stage as i64),
    ];
    // One statement, so that there is a whole mark or none.
    let rows = values.map(|(name, value)| {
        format!("select cast('{name}' as char(20)) as name, cast({value} as {kind}) as value")
    });
    link.tell(&format!(
        "create table {TABLE} as {}",
        rows.join(" union all ")
    ))
    .await
}

/// Note how far a database is.
///
/// # Errors
///
/// If the database refuses.
pub async fn set_stage(link: &mut Link, stage: Stage) -> Result<(), Failure> {
    let stage = stage as i64;
    link.tell(&format!(
        "update {TABLE} set value = {stage} where name = 'stage'"
    ))
    .await
}

/// Check that the rows of a database are those that were loaded, by counts that every transaction
/// that writes would have changed.
///
/// # Errors
///
/// If they are not.
pub async fn check_fresh(link: &mut Link, mark: Mark, name: &str) -> Result<(), DriverError> {
    let scale = i64::from(mark.scale);
    let expected: &[(&str, i64)] = match mark.workload {
        Workload::TpcC => &[
            ("sum(d_next_o_id) from district", 10 * 3_001),
            ("sum(w_ytd) from warehouse", 30_000_000),
            ("count(*) from new_order", 9_000),
            ("count(*) from history", 30_000),
        ],
        Workload::TpcB => &[
            ("count(*) from ledger", 0),
            ("count(*) from teller", 10),
            ("count(*) from account", 100_000),
        ],
    };
    for &(what, each) in expected {
        let found = link.count(&format!("select {what}")).await;
        let found = found.map_err(DriverError::of("checking that the database is as loaded"))?;
        if found != each * scale {
            return Err(DriverError::Database(format!(
                "the database `{name}` is not as it was loaded: {what} gives {found}, not {}; drop \
                 it, then load it again",
                each * scale
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_lack_what_the_functions_need_are_refused() {
        let (postgres, mariadb) = (Product::Postgres, Product::Mariadb);
        let cases = [
            (postgres, "18.1", true),
            (postgres, "13.22 (Debian 13.22-1)", true),
            (postgres, "9.6.24", false),
            (postgres, "", false),
            (mariadb, "10.11.14-MariaDB-0+deb12u2", true),
            (mariadb, "10.4.34-MariaDB", false),
            (mariadb, "8.0.36", false),
        ];
        for (product, said, is_enough) in cases {
            let oldest = if product == postgres {
                OLDEST_POSTGRES
            } else {
                OLDEST_MARIADB
            };
            let answer = refuse_version(product, said, oldest);
            assert_eq!(answer.is_ok(), is_enough, "{said}");
        }
    }
}
