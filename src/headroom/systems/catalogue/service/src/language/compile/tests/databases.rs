//! Random expressions in every database that this machine has.

use super::evaluator::Row;
use super::oracle::{compiled, is_allowed, random};
use crate::language::chance::Chance;
use crate::store::sql::{Dialect, Sql};
use crate::store::testing::database;
use crate::store::{Step, Store, StoreError};
use crate::value::Value;

/// The columns of `TABLE` in a table of entries.
const COLUMNS: &str = "i0 AS n, i1 AS m, i2 AS p, i3 AS q, r0 AS f, t0 AS s, t1 AS v";

async fn insert(store: &Store, name: usize, row: &Row) {
    let mut sql =
        Sql::new("INSERT INTO entry (dir, name, owner, mode, acl, i0, i1, i2, i3, r0, t0, t1)");
    let name = Value::Text(name.to_string());
    sql.text(" VALUES (1, ")
        .bind(name)
        .text(", 'me', 7, '', ")
        .join(row.bound(), ", ")
        .text(")");
    store.run(0, vec![Step::new(sql)]).await.unwrap();
}

/// Return the value of a part; None: it cannot be stored.
async fn value(store: &Store, name: usize, part: Sql) -> Option<Value> {
    let mut sql = Sql::new("SELECT ");
    sql.append(part)
        .text(" FROM (SELECT ")
        .text(COLUMNS)
        .text(" FROM entry WHERE dir = 1 AND name = ");
    sql.bind(Value::Text(name.to_string())).text(") AS e");
    match store.run(0, vec![Step::new(sql.clone())]).await {
        Ok(mut ran) => Some(ran.outcomes.remove(0).rows.remove(0).remove(0)),
        Err(StoreError::Unfit(_)) => None,
        Err(error) => panic!("{error:?} of {sql:?}"),
    }
}

async fn agree(dialect: Dialect) {
    let Some(place) = database(dialect) else {
        return;
    };
    let store = Store::open(place.settings.clone()).await.unwrap();
    let mut chance = Chance::new(6);
    for name in 0..25 {
        let row = Row::random(&mut chance);
        insert(&store, name, &row).await;
        for _ in 0..20 {
            let tree = random(&mut chance);
            let Some((sql, of)) = compiled(&tree) else {
                continue;
            };
            let found = value(&store, name, sql).await;
            let expected = row.value(&tree);
            // Null and an error in one expression: MariaDB may find the one or the other.
            let is_either = dialect == Dialect::Mysql
                && matches!(
                    (&expected, &found),
                    (Err(_), Some(Value::Null)) | (Ok(None), None)
                );
            let is_fine = is_either || is_allowed(&tree, &expected, found.as_ref(), &of);
            assert!(
                is_fine,
                "{} of {row:?}: {expected:?}, not {found:?}",
                tree.text()
            );
        }
    }
    store.close().await;
}

#[tokio::test]
async fn sqlite_agrees() {
    agree(Dialect::Sqlite).await;
}

#[tokio::test]
async fn postgres_agrees() {
    agree(Dialect::Postgres).await;
}

#[tokio::test]
async fn mariadb_agrees() {
    agree(Dialect::Mysql).await;
}
