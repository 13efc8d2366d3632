//! The tables of a database, made and changed once for all programs that use it.
//!
//! The table `migration` says which version the tables have. A migration that was released never
//! changes; a new one is appended. SQLite and PostgreSQL run all in one transaction; MariaDB commits
//! each statement of a migration, which must therefore do no harm when it is repeated.

use std::sync::Arc;
use std::time::Duration;

use super::definitions;
use super::error::{Failure, StoreError};
use super::pool::{Lease, Pool};
use super::sql::{Dialect, Sql};
use super::step::{Rendered, Step};
use crate::value::Value;

/// All migrations: the first one makes version 1.
const MIGRATIONS: [fn(Dialect) -> Vec<String>; 1] = [definitions::all];

/// The version of this program.
#[allow(clippy::cast_possible_wrap, reason = "there are few migrations")]
const NEWEST: i64 = MIGRATIONS.len() as i64;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (version BIGINT NOT NULL PRIMARY KEY)";

/// The lock that all programs use: "headroom" as a number.
const LOCK: i64 = 7_522_525_836_636_811_117;

/// Return the statements that make all tables, for who makes them without this program.
pub(super) fn statements(dialect: Dialect) -> Vec<String> {
    let mut found = vec![TABLE.to_owned()];
    for (number, definitions) in (1..).zip(MIGRATIONS) {
        found.extend(definitions(dialect));
        found.push(note(number));
    }
    found
}

fn note(version: i64) -> String {
    format!("INSERT INTO migration (version) VALUES ({version})")
}

/// Bring the tables to the version of this program.
pub(super) async fn migrate(
    pool: &Arc<Pool>,
    dialect: Dialect,
    retries: u32,
) -> Result<(), StoreError> {
    let mut left = retries;
    loop {
        let mut lease = pool.lease().await?;
        // Without a change there is no lock, which a long transaction of another program may hold.
        if let Ok(NEWEST) = version(&mut lease, dialect).await {
            return Ok(());
        }
        let failure = match attempt(&mut lease, dialect).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        drop(lease);
        if left == 0 || !failure.is_passing {
            return Err(failure.error);
        }
        left -= 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// SQLite locks its file when a transaction begins; the others have locks with a number or a name.
async fn attempt(lease: &mut Lease, dialect: Dialect) -> Result<(), Failure> {
    lease.begin().await?;
    match dialect {
        Dialect::Sqlite => {}
        Dialect::Postgres => {
            let mut lock = Sql::new("SELECT pg_advisory_xact_lock(");
            lock.number(LOCK).text(")::text");
            query(lease, dialect, lock).await?;
        }
        Dialect::Mysql => {
            let mut lock = Sql::new("SELECT get_lock(concat(md5(database()), ");
            lock.number(LOCK).text("), 60)");
            if query(lease, dialect, lock).await? != Some(Value::Integer(1)) {
                return Err(StoreError::Conflict.into());
            }
        }
    }
    let result = change(lease, dialect).await;
    if dialect == Dialect::Mysql {
        // The lock belongs to the connection: without this, it would last as long.
        let release = format!("DO release_lock(concat(md5(database()), {LOCK}))");
        lease.batch(release).await?;
    }
    result?;
    lease.commit().await
}

async fn change(lease: &mut Lease, dialect: Dialect) -> Result<(), Failure> {
    lease.batch(TABLE.to_owned()).await?;
    let version = version(lease, dialect).await?;
    for (number, definitions) in (1..).zip(MIGRATIONS) {
        if number > version {
            for definition in definitions(dialect) {
                lease.batch(definition).await?;
            }
            lease.batch(note(number)).await?;
        }
    }
    Ok(())
}

async fn version(lease: &mut Lease, dialect: Dialect) -> Result<i64, Failure> {
    let newest = Sql::new("SELECT coalesce(max(version), 0) FROM migration");
    match query(lease, dialect, newest).await? {
        Some(Value::Integer(version)) if version <= NEWEST => Ok(version),
        _ => {
            let message = "a newer version of this program made its tables; use that version";
            Err(StoreError::Fault(message.to_owned()).into())
        }
    }
}

/// Return the first value of the first row.
async fn query(lease: &mut Lease, dialect: Dialect, sql: Sql) -> Result<Option<Value>, Failure> {
    let step = Arc::new(Rendered::new(&Step::new(sql), dialect));
    let mut rows = lease.step(&step).await?.rows;
    Ok(rows.pop().and_then(|mut row| row.pop()))
}
