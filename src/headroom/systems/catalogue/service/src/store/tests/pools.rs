//! Pools of connections, and stores that open and close.

use super::*;
use crate::store::PoolState;

on_each_database!(
    many_tasks_share_few_connections,
    a_wait_for_a_connection_ends,
    dropped_futures_give_their_connections_back,
    stores_that_open_together_make_the_tables_once,
    a_newer_version_is_refused,
    a_closed_store_has_no_connections,
    data_outlive_a_store,
);

fn state(store: &Store) -> PoolState {
    store.state().pop().unwrap()
}

/// Return the statement that counts connections to the database; SQLite has none.
fn connections() -> Sql {
    let mut sql = Sql::default();
    sql.by_dialect([
        "SELECT 1",
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND backend_type = 'client backend'",
        "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
    ]);
    sql
}

async fn many_tasks_share_few_connections(place: Place) {
    let store = open_with(&place, |settings| {
        settings.max_connections = 3;
        settings.wait_timeout = PATIENCE;
    })
    .await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        tasks.spawn(async move {
            one(&store, insert(&number.to_string(), number))
                .await
                .unwrap();
            let open = state(&store).open;
            assert!(open <= 3, "{open} connections");
            one(&store, connections()).await.unwrap().rows
        });
    }
    while let Some(rows) = tasks.join_next().await {
        let [Value::Integer(count)] = rows.unwrap()[0][..] else {
            panic!("no count")
        };
        assert!((1..=3).contains(&count), "{count} connections");
    }
    let PoolState {
        open,
        idle,
        waiting,
        ..
    } = state(&store);
    assert_eq!((open, waiting), (idle, 0));
    assert!((1..=3).contains(&open));
}

async fn a_wait_for_a_connection_ends(place: Place) {
    let store = open_with(&place, |settings| {
        settings.max_connections = 1;
        settings.wait_timeout = Duration::from_millis(200);
    })
    .await;
    let mut holder = store.begin(0).await.unwrap();
    holder.run(Step::new(insert("a", 1))).await.unwrap();
    let result = one(&store, insert("b", 1)).await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
    holder.commit().await.unwrap();
    one(&store, insert("b", 1)).await.unwrap();
}

async fn dropped_futures_give_their_connections_back(place: Place) {
    let store = open_with(&place, |settings| {
        settings.max_connections = 2;
        settings.wait_timeout = PATIENCE;
    })
    .await;
    one(&store, insert("a", 0)).await.unwrap();
    for number in 0..6 {
        let task = tokio::spawn({
            let store = store.clone();
            async move {
                let mut transaction = store.begin(0).await.unwrap();
                transaction.run(Step::new(add("a", 1))).await.unwrap();
                if number % 2 == 0 {
                    transaction.run(Step::new(endless())).await.map(drop)
                } else {
                    one(&store, endless()).await.map(drop)
                }
            }
        });
        // The row is locked, or the file is, so the transaction has begun.
        until(async || state(&store).open > state(&store).idle).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(one(&store, add("a", 0)).await.unwrap().changed, 1);
    }
    until(async || state(&store).open == state(&store).idle).await;
    assert_eq!(value(&store, "a").await, Some(0));
    assert!(state(&store).open <= 2);
}

async fn stores_that_open_together_make_the_tables_once(place: Place) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let settings = Settings {
            lock_timeout: PATIENCE,
            ..place.settings.clone()
        };
        tasks.spawn(async move { Store::open(settings).await });
    }
    let mut stores = Vec::new();
    while let Some(store) = tasks.join_next().await {
        stores.push(store.unwrap().unwrap());
    }
    for store in &stores {
        let mut both = Sql::new("SELECT count(*) FROM authority UNION ALL ");
        both.text("SELECT count(*) FROM migration");
        let rows = one(store, both).await.unwrap().rows;
        assert_eq!(rows, [[Value::Integer(1)], [Value::Integer(1)]]);
    }
}

async fn a_newer_version_is_refused(place: Place) {
    let store = open(&place).await;
    one(
        &store,
        Sql::new("INSERT INTO migration (version) VALUES (1000)"),
    )
    .await
    .unwrap();
    let result = Store::open(place.settings.clone()).await;
    assert!(matches!(result.err(), Some(StoreError::Fault(_))));
}

async fn a_closed_store_has_no_connections(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    store.close().await;
    assert_eq!((state(&store).open, state(&store).idle), (0, 0));
    let result = one(&store, read("a")).await;
    assert!(matches!(result, Err(StoreError::Away(_))), "{result:?}");
}

async fn data_outlive_a_store(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 7)).await.unwrap();
    store.close().await;
    let store = open(&place).await;
    assert_eq!(value(&store, "a").await, Some(7));
}
