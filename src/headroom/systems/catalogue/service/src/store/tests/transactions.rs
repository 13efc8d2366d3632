//! Transactions: all or nothing, conflicts, expectations.

use super::*;
use crate::store::Expect;

on_each_database!(
    an_unmet_expectation_rolls_all_back,
    a_transaction_keeps_or_forgets_all,
    an_error_ends_a_transaction,
    rows_in_a_transaction,
    a_transaction_sees_what_was_committed_before_each_statement,
    a_conflict_is_repeated,
    a_deadlock_is_repeated,
    conflicts_without_end_are_reported,
    no_increment_is_lost,
);

async fn an_unmet_expectation_rolls_all_back(place: Place) {
    let store = open(&place).await;
    let steps = vec![
        Step::expecting(insert("a", 1), Expect::Something),
        Step::expecting(add("missing", 1), Expect::Something),
        Step::new(insert("b", 1)),
    ];
    let ran = store.run(0, steps).await.unwrap();
    assert_eq!((ran.failed, ran.outcomes.len()), (Some(1), 2));
    assert!(ran.outcomes[0].is_something() && !ran.outcomes[1].is_something());
    assert_eq!(value(&store, "a").await, None);
    let steps = vec![
        Step::expecting(read("a"), Expect::Nothing),
        Step::expecting(insert("a", 1), Expect::Something),
    ];
    assert_eq!(store.run(0, steps.clone()).await.unwrap().failed, None);
    assert_eq!(store.run(0, steps).await.unwrap().failed, Some(0));
    // A single statement that changes what it should not is undone, too.
    let ran = store
        .run(0, vec![Step::expecting(add("a", 1), Expect::Nothing)])
        .await
        .unwrap();
    assert_eq!(ran.failed, Some(0));
    assert_eq!(value(&store, "a").await, Some(1));
    assert_eq!(
        store.run(0, Vec::new()).await.unwrap(),
        super::super::Ran::default()
    );
}

async fn a_transaction_keeps_or_forgets_all(place: Place) {
    let store = open(&place).await;
    let mut kept = store.begin(0).await.unwrap();
    let none = kept
        .run(Step::expecting(read("a"), Expect::Something))
        .await
        .unwrap();
    assert_eq!(none, (Outcome::default(), false));
    assert!(
        kept.run(Step::expecting(insert("a", 1), Expect::Something))
            .await
            .unwrap()
            .1
    );
    let (seen, is_expected) = kept.run(Step::new(read("a"))).await.unwrap();
    assert_eq!(
        (seen.rows, is_expected),
        (vec![vec![Value::Integer(1)]], true)
    );
    assert_eq!(value(&store, "a").await, None);
    kept.commit().await.unwrap();
    assert_eq!(value(&store, "a").await, Some(1));
    let mut forgotten = store.begin(0).await.unwrap();
    forgotten.run(Step::new(add("a", 1))).await.unwrap();
    forgotten.rollback().await;
    let mut dropped = store.begin(0).await.unwrap();
    dropped.run(Step::new(add("a", 1))).await.unwrap();
    drop(dropped);
    // It waits for the lock of the transaction that is rolled back in the background.
    one(&store, add("a", 10)).await.unwrap();
    assert_eq!(value(&store, "a").await, Some(11));
    store.begin(0).await.unwrap().commit().await.unwrap();
    store.begin(0).await.unwrap().rollback().await;
    assert!(store.begin(1).await.is_err());
}

async fn an_error_ends_a_transaction(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    let mut transaction = store.begin(0).await.unwrap();
    transaction.run(Step::new(insert("b", 1))).await.unwrap();
    assert_eq!(
        transaction.run(Step::new(insert("a", 1))).await,
        Err(StoreError::Exists)
    );
    assert!(transaction.run(Step::new(read("a"))).await.is_err());
    assert!(transaction.commit().await.is_err());
    assert_eq!(value(&store, "b").await, None);
    one(&store, insert("b", 2)).await.unwrap();
}

async fn rows_in_a_transaction(place: Place) {
    let store = open(&place).await;
    let mut transaction = store.begin(0).await.unwrap();
    for name in ["a", "b", "c"] {
        transaction.run(Step::new(insert(name, 1))).await.unwrap();
    }
    let mut rows = transaction
        .rows(Sql::new("SELECT name FROM counter ORDER BY 1"))
        .await
        .unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(rows.next().await.unwrap(), Some(vec![text(name)]));
    }
    assert_eq!(rows.next().await.unwrap(), None);
    drop(rows);
    transaction.run(Step::new(add("a", 1))).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(value(&store, "a").await, Some(2));
    // Rows that are not read to their end cost the transaction.
    let mut transaction = store.begin(0).await.unwrap();
    transaction.run(Step::new(add("a", 1))).await.unwrap();
    let mut rows = transaction
        .rows(Sql::new("SELECT name FROM counter"))
        .await
        .unwrap();
    rows.next().await.unwrap();
    drop(rows);
    assert!(transaction.commit().await.is_err());
    assert_eq!(one(&store, add("a", 0)).await.unwrap().changed, 1);
    assert_eq!(value(&store, "a").await, Some(2));
}

async fn a_transaction_sees_what_was_committed_before_each_statement(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    let mut transaction = store.begin(0).await.unwrap();
    for expected in 1..4 {
        let (seen, _) = transaction.run(Step::new(read("a"))).await.unwrap();
        assert_eq!(seen.rows, [[Value::Integer(expected)]]);
        one(&store, add("a", 1)).await.unwrap();
    }
    transaction.run(Step::new(add("a", 10))).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(value(&store, "a").await, Some(14));
}

/// Injects conflicts: a transaction holds a row longer than the other one may wait for it.
async fn a_conflict_is_repeated(place: Place) {
    let first = open(&place).await;
    let second = open_with(&place, |settings| {
        settings.lock_timeout = Duration::from_millis(50);
        settings.max_retries = 1000;
    })
    .await;
    first
        .run(
            0,
            vec![Step::new(insert("a", 0)), Step::new(insert("b", 0))],
        )
        .await
        .unwrap();
    for steps in [
        vec![Step::new(add("a", 1))],
        vec![Step::new(add("b", 1)), Step::new(add("a", 1))],
    ] {
        let mut holder = first.begin(0).await.unwrap();
        holder.run(Step::new(add("a", 100))).await.unwrap();
        let repeated = second.repeated();
        let waiter = tokio::spawn({
            let second = second.clone();
            async move { second.run(0, steps).await }
        });
        until(async || second.repeated() > repeated).await;
        holder.commit().await.unwrap();
        assert_eq!(waiter.await.unwrap().unwrap().failed, None);
    }
    assert_eq!(value(&first, "a").await, Some(202));
    assert_eq!(value(&first, "b").await, Some(1));
}

/// Injects a deadlock; in SQLite, where only one transaction writes, the second one waits.
async fn a_deadlock_is_repeated(place: Place) {
    let store = open_with(&place, |settings| {
        settings.max_retries = 1000;
        settings.wait_timeout = PATIENCE;
    })
    .await;
    store
        .run(
            0,
            vec![Step::new(insert("a", 0)), Step::new(insert("b", 0))],
        )
        .await
        .unwrap();
    let mut first = store.begin(0).await.unwrap();
    first.run(Step::new(add("a", 1))).await.unwrap();
    let second = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .run(0, vec![Step::new(add("b", 10)), Step::new(add("a", 10))])
                .await
        }
    });
    if store.dialect() != Dialect::Sqlite {
        let mut free = read("b");
        free.text(" FOR UPDATE SKIP LOCKED");
        until(async || one(&store, free.clone()).await.unwrap().rows.is_empty()).await;
    }
    let result = first.run(Step::new(add("b", 1))).await.map(drop);
    let has_first = result.is_ok();
    match result {
        Ok(()) => first.commit().await.unwrap(),
        Err(error) => {
            assert_eq!(error, StoreError::Conflict);
            drop(first);
        }
    }
    assert_eq!(second.await.unwrap().unwrap().failed, None);
    let is_repeated = store.repeated() > 0;
    assert!(store.dialect() == Dialect::Sqlite || is_repeated == has_first);
    let expected = if has_first { 11 } else { 10 };
    assert_eq!(value(&store, "a").await, Some(expected));
    assert_eq!(value(&store, "b").await, Some(expected));
}

async fn conflicts_without_end_are_reported(place: Place) {
    let first = open(&place).await;
    let second = open_with(&place, |settings| {
        settings.lock_timeout = Duration::from_millis(20);
        settings.max_retries = 1;
    })
    .await;
    one(&first, insert("a", 0)).await.unwrap();
    let mut holder = first.begin(0).await.unwrap();
    holder.run(Step::new(add("a", 1))).await.unwrap();
    assert_eq!(one(&second, add("a", 1)).await, Err(StoreError::Conflict));
    assert_eq!(second.repeated(), 1);
    let mut waiter = second.begin(0).await.unwrap();
    assert_eq!(
        waiter.run(Step::new(add("a", 1))).await,
        Err(StoreError::Conflict)
    );
    holder.commit().await.unwrap();
    assert_eq!(value(&second, "a").await, Some(1));
}

async fn no_increment_is_lost(place: Place) {
    let store = open_with(&place, |settings| {
        settings.max_retries = 1000;
        settings.wait_timeout = PATIENCE;
    })
    .await;
    store
        .run(
            0,
            vec![Step::new(insert("a", 0)), Step::new(insert("b", 0))],
        )
        .await
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = store.clone();
        let (first, second) = if number % 2 == 0 {
            ("a", "b")
        } else {
            ("b", "a")
        };
        let expect = if number % 3 == 0 {
            Expect::Something
        } else {
            Expect::Anything
        };
        let steps = [first, second].map(|name| Step::expecting(add(name, 1), expect));
        tasks.spawn(async move { store.run(0, steps.to_vec()).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(value(&store, "a").await, Some(40));
    assert_eq!(value(&store, "b").await, Some(40));
}
