//! Statements without end, killed connections and servers.

use super::*;
use crate::store::Expect;

on_each_database!(
    a_statement_without_end_is_stopped,
    a_killed_connection_is_replaced,
    a_transaction_on_a_killed_connection_leaves_nothing,
);

async fn a_statement_without_end_is_stopped(place: Place) {
    // The tables are there before: on a busy machine they take longer than the limit.
    drop(open(&place).await);
    let store = open_with(&place, |settings| {
        settings.statement_timeout = Duration::from_secs(1);
        settings.max_connections = 1;
    })
    .await;
    let result = one(&store, endless()).await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
    let mut transaction = store.begin(0).await.unwrap();
    transaction.run(Step::new(insert("a", 1))).await.unwrap();
    let result = transaction.run(Step::new(endless())).await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
    drop(transaction);
    let mut rows = store.rows(0, endless()).await.unwrap();
    let result = rows.next().await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
    drop(rows);
    assert_eq!(value(&store, "a").await, None);
}

/// End all connections to a database, as an administrator or a restart does; SQLite has none.
async fn kill_connections(place: &Place) -> bool {
    let others = open(place).await;
    match others.dialect() {
        Dialect::Sqlite => return false,
        Dialect::Postgres => {
            let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
            one(&others, Sql::new(all)).await.unwrap();
        }
        Dialect::Mysql => {
            let all = "SELECT id FROM information_schema.processlist \
                       WHERE db = database() AND id <> connection_id()";
            for row in one(&others, Sql::new(all)).await.unwrap().rows {
                let [Value::Integer(id)] = row[..] else {
                    panic!("no id in {row:?}")
                };
                let mut kill = Sql::new("KILL ");
                kill.number(id);
                one(&others, kill).await.unwrap();
            }
        }
    }
    true
}

async fn a_killed_connection_is_replaced(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    kill_connections(&place).await;
    // A read is repeated, and so are steps whose commit was not sent.
    assert_eq!(value(&store, "a").await, Some(1));
    kill_connections(&place).await;
    let steps = vec![
        Step::expecting(add("a", 1), Expect::Something),
        Step::new(add("a", 1)),
    ];
    store.run(0, steps).await.unwrap();
    assert_eq!(value(&store, "a").await, Some(3));
}

async fn a_transaction_on_a_killed_connection_leaves_nothing(place: Place) {
    let store = open(&place).await;
    let mut transaction = store.begin(0).await.unwrap();
    transaction.run(Step::new(insert("a", 1))).await.unwrap();
    if !kill_connections(&place).await {
        return;
    }
    let result = transaction.run(Step::new(add("a", 1))).await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
    drop(transaction);
    let mut transaction = store.begin(0).await.unwrap();
    transaction.run(Step::new(insert("a", 5))).await.unwrap();
    kill_connections(&place).await;
    assert_eq!(transaction.commit().await, Err(StoreError::Lost));
    one(&store, insert("a", 6)).await.unwrap();
    assert_eq!(value(&store, "a").await, Some(6));
}
