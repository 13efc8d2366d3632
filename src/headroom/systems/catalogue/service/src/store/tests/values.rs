//! Values, counts and errors of statements.

use super::*;
use crate::store::Expect;
use crate::value::Kind;

on_each_database!(
    rows_and_kinds_come_back_alike,
    sums_counts_and_conditions_are_numbers,
    a_parameter_may_have_another_kind_next_time,
    changed_counts_matched_rows,
    texts_are_ordered_and_compared_by_bytes,
    a_repeated_value_of_a_key_exists,
    a_repeated_value_of_a_unique_column_exists,
    what_cannot_be_computed_is_unfit,
    an_insertion_keeps_rows_that_exist_and_refuses_values_that_do_not_fit,
    a_query_of_many_rows_is_streamed,
    a_broken_statement_is_a_fault,
    more_statements_than_a_connection_keeps,
);

async fn rows_and_kinds_come_back_alike(place: Place) {
    let store = open(&place).await;
    let rows = [
        [Value::Integer(i64::MIN), Value::Real(1.0), text("12")],
        [Value::Integer(i64::MAX), Value::Real(-0.1), text("")],
        [
            Value::Integer(0),
            Value::Real(f64::MAX),
            text("it's \\ \"ä€😀\"\n%_"),
        ],
        [Value::Null, Value::Null, Value::Null],
    ];
    for (number, [integer, real, string]) in (0..).zip(rows.clone()) {
        let columns = "INSERT INTO entry (dir, name, owner, mode, acl, i0, r0, t0) VALUES (";
        let mut sql = Sql::new(columns);
        sql.bind(Value::Integer(number))
            .text(", 'name', 'me', 7, '', ");
        sql.bind_as(integer, Kind::Integer)
            .text(", ")
            .bind_as(real, Kind::Real);
        sql.text(", ").bind_as(string, Kind::Text).text(")");
        assert_eq!(one(&store, sql).await.unwrap().changed, 1);
    }
    // The second time, the statement is prepared.
    for _ in 0..3 {
        let sql = Sql::new("SELECT i0, r0, t0 FROM entry ORDER BY dir");
        let outcome = one(&store, sql).await.unwrap();
        assert_eq!(outcome.rows, rows.clone().map(Vec::from));
        assert_eq!(outcome.changed, 0);
    }
}

async fn sums_counts_and_conditions_are_numbers(place: Place) {
    let store = open(&place).await;
    let mut sql = Sql::new("SELECT count(*), max(next), ");
    sql.by_dialect(["sum(next)", "CAST(sum(next) AS bigint)", "sum(next)"]);
    sql.text(", 1 = 1, count(*) > 5, NULL, 'text' FROM counter WHERE next < ");
    sql.bind(Value::Integer(100));
    let empty = one(&store, sql.clone()).await.unwrap().rows;
    let no = Value::Integer(0);
    let yes = Value::Integer(1);
    let none = Value::Null;
    let expected = [&no, &none, &none, &yes, &no, &none, &text("text")].map(Clone::clone);
    assert_eq!(empty, [expected.to_vec()]);
    let steps = vec![Step::new(insert("a", 40)), Step::new(insert("b", 2))];
    store.run(0, steps).await.unwrap();
    let full = one(&store, sql).await.unwrap().rows;
    assert_eq!(full[0][..3], [2, 40, 42].map(Value::Integer));
}

/// A prepared statement of PostgreSQL took a whole number for the bits of a real one.
async fn a_parameter_may_have_another_kind_next_time(place: Place) {
    let store = open_with(&place, |settings| settings.max_connections = 1).await;
    for _ in 0..3 {
        for value in [Value::Integer(7), Value::Real(0.5), text("7")] {
            let mut sql = Sql::new("SELECT ");
            sql.bind(value.clone());
            assert_eq!(one(&store, sql).await.unwrap().rows, [[value]]);
        }
    }
}

async fn changed_counts_matched_rows(place: Place) {
    let store = open(&place).await;
    for name in ["a", "b", "c"] {
        assert_eq!(one(&store, insert(name, 1)).await.unwrap().changed, 1);
    }
    let same = Sql::new("UPDATE counter SET next = 1");
    assert_eq!(one(&store, same).await.unwrap().changed, 3);
    assert_eq!(one(&store, add("none", 1)).await.unwrap().changed, 0);
    let outcome = one(&store, read("a")).await.unwrap();
    assert_eq!((outcome.changed, outcome.rows.len()), (0, 1));
    let outcome = one(&store, Sql::new("DELETE FROM counter WHERE next = 1"))
        .await
        .unwrap();
    assert_eq!((outcome.changed, outcome.is_something()), (3, true));
    let mut returning = insert("d", 5);
    returning.text(" RETURNING next");
    let outcome = one(&store, returning).await.unwrap();
    assert_eq!(
        (outcome.changed, outcome.rows),
        (1, vec![vec![Value::Integer(5)]])
    );
}

async fn texts_are_ordered_and_compared_by_bytes(place: Place) {
    let store = open(&place).await;
    let mut names = ["a", "a ", "A", "b", "B", "", "ä", "z", "Z", "_", "😀", "ﬀ"];
    for name in names {
        one(&store, insert(name, 0)).await.unwrap();
    }
    names.sort_unstable();
    let sorted = one(&store, Sql::new("SELECT name FROM counter ORDER BY name"))
        .await
        .unwrap();
    assert_eq!(sorted.rows, names.map(|name| vec![text(name)]));
    for (sql, count) in [
        ("name >= 'a' AND name < 'b'", 2),
        ("name = 'a '", 1),
        ("'a' = 'A'", 0),
    ] {
        let mut query = Sql::new("SELECT count(*) FROM counter WHERE ");
        query.text(sql);
        assert_eq!(
            one(&store, query).await.unwrap().rows,
            [[Value::Integer(count)]]
        );
    }
}

async fn a_repeated_value_of_a_key_exists(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    assert_eq!(one(&store, insert("a", 2)).await, Err(StoreError::Exists));
    let steps = vec![
        Step::new(insert("b", 1)),
        Step::new(insert("a", 2)),
        Step::new(add("a", 5)),
    ];
    assert_eq!(store.run(0, steps).await, Err(StoreError::Exists));
    assert_eq!(value(&store, "a").await, Some(1));
    assert_eq!(value(&store, "b").await, None);
    let steps = vec![
        Step::expecting(insert("b", 1), Expect::Something),
        Step::new(insert("a", 2)),
    ];
    assert_eq!(store.run(0, steps).await, Err(StoreError::Exists));
    assert_eq!(value(&store, "b").await, None);
}

async fn a_repeated_value_of_a_unique_column_exists(place: Place) {
    let store = open(&place).await;
    let insert = |name: &str, value: Value| {
        let mut sql = Sql::new("INSERT INTO wide (dir, name, owner, mode, acl, ut0) VALUES (1, ");
        sql.bind(text(name))
            .text(", 'me', 7, '', ")
            .bind_as(value, Kind::Text)
            .text(")");
        sql
    };
    for (name, value) in [("a", text("x")), ("b", Value::Null), ("c", Value::Null)] {
        assert_eq!(one(&store, insert(name, value)).await.unwrap().changed, 1);
    }
    assert_eq!(
        one(&store, insert("d", text("x"))).await,
        Err(StoreError::Exists)
    );
    assert_eq!(
        one(&store, insert("d", text("X"))).await.unwrap().changed,
        1
    );
}

async fn what_cannot_be_computed_is_unfit(place: Place) {
    let store = open(&place).await;
    one(&store, insert("a", i64::MAX)).await.unwrap();
    let result = one(&store, add("a", 1)).await;
    assert!(matches!(result, Err(StoreError::Unfit(_))), "{result:?}");
    assert_eq!(value(&store, "a").await, Some(i64::MAX));
    let mut sql = Sql::new("SELECT ");
    sql.bind(Value::Real(1e300))
        .text(" * ")
        .bind(Value::Real(1e300));
    let result = one(&store, sql).await;
    assert!(matches!(result, Err(StoreError::Unfit(_))), "{result:?}");
    assert_eq!(value(&store, "a").await, Some(i64::MAX));
}

async fn an_insertion_keeps_rows_that_exist_and_refuses_values_that_do_not_fit(place: Place) {
    let store = open(&place).await;
    let keeping = |name: &str, value: i64, more: i64| {
        let mut sql = Sql::default();
        sql.by_dialect(["INSERT INTO", "INSERT INTO", "INSERT IGNORE INTO"]);
        sql.text(" counter (name, next) VALUES (")
            .bind(text(name))
            .text(", ");
        sql.bind(Value::Integer(value))
            .text(" + ")
            .bind(Value::Integer(more))
            .text(")");
        sql.by_dialect([" ON CONFLICT DO NOTHING", " ON CONFLICT DO NOTHING", ""]);
        sql
    };
    assert_eq!(one(&store, keeping("a", 1, 0)).await.unwrap().changed, 1);
    assert_eq!(one(&store, keeping("a", 2, 0)).await.unwrap().changed, 0);
    assert_eq!(value(&store, "a").await, Some(1));
    let result = one(&store, keeping("b", i64::MAX, 1)).await;
    assert!(matches!(result, Err(StoreError::Unfit(_))), "{result:?}");
    let steps = vec![Step::new(add("a", 1)), Step::new(keeping("b", i64::MAX, 1))];
    let result = store.run(0, steps).await;
    assert!(matches!(result, Err(StoreError::Unfit(_))), "{result:?}");
    assert_eq!(
        (value(&store, "a").await, value(&store, "b").await),
        (Some(1), None)
    );
}

async fn a_query_of_many_rows_is_streamed(place: Place) {
    let store = open_with(&place, |settings| settings.max_connections = 1).await;
    let steps = (0..20)
        .map(|number| Step::new(insert(&format!("{number:02}"), number)))
        .collect();
    store.run(0, steps).await.unwrap();
    let all = "SELECT a.next, b.name FROM counter AS a, counter AS b, counter AS c ORDER BY 1, 2";
    let mut rows = store.rows(0, Sql::new(all)).await.unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().await.unwrap() {
        assert_eq!(
            row,
            [
                Value::Integer(count / 400),
                text(&format!("{:02}", count / 20 % 20))
            ]
        );
        count += 1;
    }
    assert_eq!(count, 8000);
    assert_eq!(rows.next().await, Ok(None));
    drop(rows);
    // A query that is dropped before its end gives its connection back, or leaves room for another.
    for _ in 0..3 {
        let mut rows = store.rows(0, Sql::new(all)).await.unwrap();
        assert!(rows.next().await.unwrap().is_some());
    }
    assert_eq!(value(&store, "07").await, Some(7));
}

async fn a_broken_statement_is_a_fault(place: Place) {
    let store = open(&place).await;
    for _ in 0..3 {
        let result = one(&store, Sql::new("SELECT nothing FROM nowhere")).await;
        assert!(matches!(result, Err(StoreError::Fault(_))), "{result:?}");
    }
    assert_eq!(value(&store, "a").await, None);
}

async fn more_statements_than_a_connection_keeps(place: Place) {
    let store = open_with(&place, |settings| settings.max_statements = 3).await;
    for number in (0..10).chain(0..10).chain(5..10).chain(8..10) {
        let mut sql = Sql::new("SELECT ");
        sql.number(number)
            .text(", next FROM counter WHERE name = ")
            .bind(text("a"));
        assert_eq!(one(&store, sql).await.unwrap(), Outcome::default());
    }
}

#[tokio::test]
async fn settings_that_do_not_fit_are_refused() {
    let open = async |database: &str| {
        let databases = vec![database.parse().unwrap()];
        let result = Store::open(Settings {
            databases,
            ..Settings::default()
        });
        result.await.err()
    };
    for database in [
        "postgres://me@db/name?sslmode=require",
        "postgres://me@db/name?sslrootcert=/nowhere/ca.pem",
        "postgres://me@db:port/name",
        "mysql://me@db:port/name",
    ] {
        let error = open(database).await;
        assert!(
            matches!(error, Some(StoreError::Fault(_))),
            "{database}: {error:?}"
        );
    }
    // Port 1 is reserved: nothing listens there.
    for database in [
        "sqlite:/nowhere/at/all.db",
        "postgres://me:secret@127.0.0.1:1/name",
        "mysql://me:secret@127.0.0.1:1/name",
    ] {
        match open(database).await {
            Some(StoreError::Away(reason)) => assert!(!reason.contains("secret"), "{reason}"),
            other => panic!("{database}: {other:?}"),
        }
    }
}
