//! Clients that begin an operation again, and the journal of what they were told.

use serde_json::{Value, json};

use crate::stub::{Behaviour, Stub};
use crate::{count, run};

/// Insert with a server that closes each connection after some commands; return result and journal.
fn insert(closes_after: usize, form: &str) -> (Value, String) {
    let stub = Stub::amga(Behaviour {
        protocol: 2,
        closes_after: Some(closes_after),
        ..Behaviour::default()
    });
    let journal = tempfile::NamedTempFile::new().unwrap();
    let target = json!({"kind": "amga", "address": stub.address, "login": "alice"});
    let changes = json!({
        "form": form, "reopens": true, "journal": journal.path(), "entries": {"insert_share": 1},
    });
    let result = run(&target, &changes);
    let text = std::fs::read_to_string(journal.path()).unwrap();
    let kept = text.lines().filter(|line| line.starts_with("+ "));
    for line in kept {
        let name = line.rsplit(' ').next().unwrap();
        let path = format!("/bench/{name}");
        assert!(stub.entries.lock().unwrap().contains_key(&path), "{path}");
    }
    (result, text)
}

fn signs(journal: &str, sign: char) -> u64 {
    journal
        .lines()
        .filter(|line| line.starts_with(sign))
        .count() as u64
}

#[test]
fn an_operation_is_begun_again_before_its_first_reply_alone() {
    // The first connections end at a commit: `pwd`, `transaction`, the insertion. All others end at
    // the begin of a transaction.
    let (result, journal) = insert(3, "transaction");
    assert_eq!(result["failures"][0]["count"], 3, "{result}");
    assert_eq!(count(&result, "/classes/insert/completion_count"), 57);
    assert_eq!((signs(&journal, '+'), signs(&journal, '?')), (57, 3));
}

#[test]
fn an_insertion_without_a_transaction_is_never_sent_twice() {
    let (result, journal) = insert(1, "single");
    let done = count(&result, "/classes/insert/completion_count");
    assert_eq!(signs(&journal, '+'), done);
    assert!(
        signs(&journal, '?') >= done,
        "each second connection ends too early"
    );
}
