//! Case 4 of the paper: the database directly.

use serde_json::{Value, json};

use crate::keys::Keys;
use crate::stub::{Behaviour, Stub};
use crate::{assert_pairs, run};

fn target(stub: &Stub) -> Value {
    json!({
        "kind": "postgres",
        "address": stub.address,
        "user": "headroom",
        "database": "postgres",
        "insert": ["find", "insert {name} {guid}"],
        "query": ["find", "select {guid}"],
    })
}

#[test]
fn case_4_sends_two_statements_in_a_transaction() {
    let stub = Stub::postgres(Behaviour::default());
    let result = run(&target(&stub), &json!({}));
    assert_pairs(&result, 60, 4);
    for text in ["BEGIN", "find", "COMMIT"] {
        assert_eq!(stub.count(text), 60, "{text}");
    }
}

#[test]
fn one_statement_is_one_pair() {
    let stub = Stub::postgres(Behaviour::default());
    let mut target = target(&stub);
    target["query"] = json!(["select {guid}"]);
    let result = run(&target, &json!({"form": "single"}));
    assert_pairs(&result, 60, 1);
    assert_eq!(stub.count("BEGIN"), 0);
}

#[test]
fn a_refused_statement_is_counted_by_its_state_and_rolled_back() {
    let stub = Stub::postgres(Behaviour {
        refused: Some("find"),
        ..Behaviour::default()
    });
    let result = run(&target(&stub), &json!({}));
    assert_eq!(result["failures"][0]["code"], "sqlstate_23505");
    assert_eq!(
        result["failures"][0]["message"],
        "SQLSTATE 23505: duplicate"
    );
    assert_eq!(stub.count("ROLLBACK"), 60);
}

#[test]
fn a_database_connection_may_be_encrypted() {
    let keys = Keys::new();
    let stub = Stub::postgres(Behaviour {
        tls: Some(keys.server()),
        ..Behaviour::default()
    });
    let mut target = target(&stub);
    target["tls"] = keys.client("1.3", false);
    let result = run(&target, &json!({"connections": "per_operation"}));
    // Connection, request of encryption, handshake, login; four texts.
    assert_pairs(&result, 60, 8);
}
