//! The same tests on each database.

mod faults;
mod pools;
mod schema;
mod tls;
mod transactions;
mod values;

use std::future::Future;
use std::time::Duration;

use super::sql::{Dialect, Sql};
use super::testing::{Place, database};
use super::{Outcome, Settings, Step, Store, StoreError};
use crate::value::Value;

/// Make each test three: one on each database.
macro_rules! on_each_database {
    ($($test:ident),* $(,)?) => {
        super::on_each_database!(@ sqlite, Sqlite, $($test),*);
        super::on_each_database!(@ postgres, Postgres, $($test),*);
        super::on_each_database!(@ mariadb, Mysql, $($test),*);
    };
    (@ $name:ident, $dialect:ident, $($test:ident),*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::super::on(super::Dialect::$dialect, super::$test).await;
                }
            )*
        }
    };
}
use on_each_database;

/// Longest time of a test that waits for something: it hangs otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

async fn on<F: Future<Output = ()>>(dialect: Dialect, test: impl FnOnce(Place) -> F) {
    if let Some(place) = database(dialect) {
        tokio::time::timeout(PATIENCE, test(place))
            .await
            .expect("the test comes to an end");
    }
}

/// Wait until a condition holds.
async fn until(condition: impl AsyncFn() -> bool) {
    while !condition().await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn open(place: &Place) -> Store {
    open_with(place, |_| {}).await
}

async fn open_with(place: &Place, change: impl FnOnce(&mut Settings)) -> Store {
    let mut settings = place.settings.clone();
    change(&mut settings);
    Store::open(settings).await.unwrap()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Return the statement that adds a counter.
fn insert(name: &str, next: i64) -> Sql {
    let mut sql = Sql::new("INSERT INTO counter (name, next) VALUES (");
    sql.bind(text(name))
        .text(", ")
        .bind(Value::Integer(next))
        .text(")");
    sql
}

/// Return the statement that adds to a counter.
fn add(name: &str, more: i64) -> Sql {
    let mut sql = Sql::new("UPDATE counter SET next = next + ");
    sql.bind(Value::Integer(more))
        .text(" WHERE name = ")
        .bind(text(name));
    sql
}

/// Return the statement that reads a counter.
fn read(name: &str) -> Sql {
    let mut sql = Sql::new("SELECT next FROM counter WHERE name = ");
    sql.bind(text(name));
    sql
}

async fn one(store: &Store, sql: Sql) -> Result<Outcome, StoreError> {
    let mut ran = store.run(0, vec![Step::new(sql)]).await?;
    Ok(ran.outcomes.pop().unwrap())
}

/// Return the value of a counter; None if there is none.
async fn value(store: &Store, name: &str) -> Option<i64> {
    match one(store, read(name)).await.unwrap().rows.pop()?.pop() {
        Some(Value::Integer(value)) => Some(value),
        other => panic!("a counter has the value {other:?}"),
    }
}

/// Return a query that takes far longer than a test.
fn endless() -> Sql {
    let mut sql = Sql::default();
    sql.by_dialect([
        "SELECT count(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
         SELECT i FROM n) AS endless",
        "SELECT pg_sleep(600)::text",
        "SELECT sum(a.seq * b.seq) FROM seq_1_to_1000000000 AS a, seq_1_to_1000000000 AS b",
    ]);
    sql
}
