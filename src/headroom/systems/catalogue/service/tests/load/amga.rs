//! Cases 1 to 3 of the paper, sessions, and what goes wrong.

use serde_json::{Value, json};

use crate::keys::Keys;
use crate::stub::{Behaviour, Stub};
use crate::{assert_pairs, count, run};

fn stub(behaviour: Behaviour) -> Stub {
    let stub = Stub::amga(Behaviour {
        protocol: behaviour.protocol.max(1),
        ..behaviour
    });
    fill(&stub);
    stub
}

fn target(stub: &Stub) -> Value {
    json!({"kind": "amga", "address": stub.address, "login": "alice", "password": "secret"})
}

/// Enter all known entries as any client would compute them.
fn fill(stub: &Stub) {
    let plain = Stub::amga(Behaviour {
        protocol: 2,
        ..Behaviour::default()
    });
    let result = run(
        &target(&plain),
        &json!({"load": {"kind": "fill", "connections": 2}, "stop": {}}),
    );
    assert_eq!(count(&result, "/classes/insert/completion_count"), 20);
    stub.entries
        .lock()
        .unwrap()
        .clone_from(&plain.entries.lock().unwrap());
    assert_eq!(stub.entries.lock().unwrap().len(), 20);
}

#[test]
fn case_3_keeps_its_connections_and_has_three_pairs() {
    for protocol in [1, 2] {
        let stub = stub(Behaviour {
            protocol,
            ..Behaviour::default()
        });
        let result = run(&target(&stub), &json!({}));
        assert_pairs(&result, 60, 3);
        assert_eq!(count(&result, "/classes/query/completion_count"), 60);
        assert_eq!(count(&result, "/workload_counters/connection_count"), 0);
        assert_eq!(stub.count("0 alice|5 secret"), 3, "logins before the load");
        assert_eq!(stub.count("commit"), 60);
    }
}

#[test]
fn one_command_without_a_transaction_is_one_pair() {
    let stub = stub(Behaviour::default());
    let changes = json!({"form": "single", "entries": {"known": 20, "insert_share": 0.5}});
    let result = run(&target(&stub), &changes);
    assert_pairs(&result, 60, 1);
    let inserted = count(&result, "/classes/insert/completion_count");
    assert_eq!(stub.entries.lock().unwrap().len() as u64, 20 + inserted);
    assert!(inserted > 0 && inserted < 60, "{inserted}");
}

#[test]
fn case_2_opens_a_connection_for_each_operation() {
    let stub = stub(Behaviour::default());
    let result = run(&target(&stub), &json!({"connections": "per_operation"}));
    // Connection, greeting, option; transaction, command, commit.
    assert_pairs(&result, 60, 6);
    assert_eq!(count(&result, "/workload_counters/connection_count"), 60);
    assert_eq!(stub.count("0 alice|5 secret"), 60);
}

#[test]
fn case_1_adds_a_handshake_of_one_round_trip_or_of_two() {
    let keys = Keys::new();
    for (version, pairs) in [("1.3", 7), ("1.2", 8)] {
        let stub = stub(Behaviour {
            tls: Some(keys.server()),
            ..Behaviour::default()
        });
        let mut target = target(&stub);
        target["tls"] = keys.client(version, false);
        let result = run(&target, &json!({"connections": "per_operation"}));
        assert_pairs(&result, 60, pairs);
        assert_eq!(
            count(&result, "/workload_counters/full_handshake_count"),
            60
        );
        assert_eq!(stub.count("ssl"), 60);
    }
}

#[test]
fn a_ticket_shortens_later_handshakes_of_the_same_client() {
    let keys = Keys::new();
    let stub = stub(Behaviour {
        tls: Some(keys.server()),
        ..Behaviour::default()
    });
    let mut target = target(&stub);
    target["tls"] = keys.client("1.3", true);
    let result = run(&target, &json!({"connections": "per_operation"}));
    assert_pairs(&result, 60, 7);
    let counters = |name: &str| count(&result, &format!("/workload_counters/{name}"));
    assert_eq!(counters("full_handshake_count"), 3);
    assert_eq!(counters("resumed_handshake_count"), 57);
}

#[test]
fn a_session_saves_the_login_and_without_encryption_a_pair() {
    let stub = stub(Behaviour {
        protocol: 2,
        has_sessions: true,
        ..Behaviour::default()
    });
    let mut target = target(&stub);
    target["resumes"] = json!(true);
    let result = run(&target, &json!({"connections": "per_operation"}));
    let counters = |name: &str| count(&result, &format!("/workload_counters/{name}"));
    assert_eq!(
        counters("with_6_pairs_count"),
        3,
        "the first of each client"
    );
    assert_eq!(counters("with_5_pairs_count"), 57);
    assert_eq!(counters("resumed_session_count"), 57);
    assert_eq!(stub.count("resume77"), 57);
}

#[test]
fn a_session_over_tls_saves_the_login() {
    let keys = Keys::new();
    let stub = stub(Behaviour {
        protocol: 2,
        has_sessions: true,
        tls: Some(keys.server()),
        ..Behaviour::default()
    });
    let mut target = target(&stub);
    target["tls"] = keys.client("1.3", false);
    target["resumes"] = json!(true);
    let result = run(&target, &json!({"connections": "per_operation"}));
    assert_pairs(&result, 60, 7);
    assert_eq!(stub.count("resumeSSL77"), 57);
    assert_eq!(stub.count("0 alice|5 secret"), 3);
}

#[test]
fn a_refused_command_is_counted_by_its_code_and_its_transaction_undone() {
    let stub = stub(Behaviour::default());
    let load = json!({"kind": "fill", "connections": 2});
    let result = run(&target(&stub), &json!({"load": load, "stop": {}}));
    let failure = &result["failures"][0];
    assert_eq!(failure["code"], "refused_15");
    assert_eq!(failure["count"], 20);
    assert_eq!(failure["message"], "refused with code 15: entry exists");
    assert_eq!(stub.count("abort"), 20);
    assert_eq!(
        stub.count("0 alice|5 secret"),
        2,
        "the connections were kept"
    );
}

#[test]
fn an_answer_with_another_guid_is_a_failure() {
    let stub = stub(Behaviour {
        lies: true,
        ..Behaviour::default()
    });
    let result = run(&target(&stub), &json!({}));
    assert_eq!(result["failures"][0]["code"], "wrong_answer");
    assert_eq!(result["failures"][0]["count"], 60);
}

#[test]
fn a_client_whose_connection_is_closed_opens_another_one() {
    let stub = stub(Behaviour {
        closes_after: Some(7),
        ..Behaviour::default()
    });
    let changes = json!({"load": {"kind": "closed", "clients": 1}});
    let result = run(&target(&stub), &changes);
    assert_eq!(result["failures"][0]["code"], "closed");
    // The first connection had `pwd` and two operations, each further one two operations; then the
    // next operation loses its connection: two of three operations end well.
    assert_eq!(count(&result, "/classes/query/completion_count"), 40);
    assert_eq!(count(&result, "/classes/query/failure_count"), 20);
}

#[test]
fn an_open_load_counts_from_the_due_time() {
    let stub = stub(Behaviour::default());
    let load = json!({"kind": "open", "rate_per_s": 500.0, "connections": 4});
    let result = run(&target(&stub), &json!({"load": load}));
    assert_pairs(&result, 60, 3);
    let class = &result["classes"]["query"];
    assert_eq!(class["completion_count"], 60);
    let late_s = class["submit_error_s_min"].as_f64().unwrap();
    assert!(late_s >= 0.0, "no operation began before it was due");
    let response_s = class["response_s_max"].as_f64().unwrap();
    let service_s = class["service_s_max"].as_f64().unwrap();
    assert!(response_s >= service_s);
}

/// All clients work alike; if they shared connections, the one used last would do nearly all.
#[test]
fn a_client_that_thinks_keeps_its_own_connection() {
    let stub = stub(Behaviour::default());
    let load = json!({"kind": "closed", "clients": 3,
        "think": {"kind": "exponential", "mean": 0.002}});
    let result = run(
        &target(&stub),
        &json!({"load": load, "stop": {"operations": 150}}),
    );
    assert_pairs(&result, 150, 3);
    let counts = loop {
        let counts = stub.command_counts.lock().unwrap().clone();
        if counts.len() == 3 {
            break counts;
        }
        std::thread::yield_now();
    };
    assert_eq!(counts.iter().sum::<usize>(), 3 + 3 * 150);
    assert!(counts.iter().all(|count| *count > 3 * 25), "{counts:?}");
}

#[test]
fn a_target_that_fails_again_and_again_ends_the_load() {
    let stub = stub(Behaviour {
        refused: Some("commit"),
        ..Behaviour::default()
    });
    let changes = json!({"failure_limit": 5, "load": {"kind": "closed", "clients": 1}});
    let result = run(&target(&stub), &changes);
    assert_eq!(result["stop_reason"], "target_failed");
    assert_eq!(
        result["problem"],
        "5 operations in a row failed; the last kind of failure: refused with code 15: refused"
    );
}

#[test]
fn a_target_that_does_not_answer_ends_the_load() {
    let stub = stub(Behaviour {
        ignored: Some("commit"),
        ..Behaviour::default()
    });
    let result = run(&target(&stub), &json!({"silence_s": 0.1}));
    assert_eq!(result["stop_reason"], "target_silent");
    assert_eq!(result["outstanding_count"], 3);
    let problem = result["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("3 operations had no answer when the run ended, the oldest (a query)"),
        "{problem}"
    );
}

#[test]
fn the_tool_itself_is_measured_on_nothing() {
    let result = run(
        &json!({"kind": "nothing"}),
        &json!({"stop": {"operations": 5000}}),
    );
    assert_pairs(&result, 5000, 0);
    assert!(result["counters"]["cpu_s"].as_f64().unwrap() > 0.0);
}
