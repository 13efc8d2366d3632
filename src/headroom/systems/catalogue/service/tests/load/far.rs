//! A load over the delaying proxy.

use std::time::Duration;

use headroom_catalogue::load::delay;
use headroom_catalogue::server::listen;
use serde_json::json;

use crate::stub::{Behaviour, Stub};
use crate::{assert_pairs, run};

const ONE_WAY: Duration = Duration::from_millis(5);

/// Every message pair takes a round trip, also those that open the connection. A wait on a real
/// machine may be longer, never shorter.
#[test]
fn an_operation_takes_as_many_round_trips_as_it_has_message_pairs() {
    let stub = Stub::amga(Behaviour {
        protocol: 2,
        ..Behaviour::default()
    });
    let server = stub.address;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            delay::serve(listener, server, ONE_WAY).await;
        });
    });
    let target = json!({"kind": "amga", "address": receiver.recv().unwrap(), "login": "alice"});
    let load = json!({"kind": "fill", "connections": 20});
    let result = run(
        &target,
        &json!({"load": load, "stop": {}, "connections": "per_operation"}),
    );
    assert_pairs(&result, 20, 6);
    let shortest_s = result["classes"]["insert"]["response_s_min"].as_f64();
    assert!(shortest_s.unwrap() >= 12.0 * ONE_WAY.as_secs_f64());
}

/// The server holds the connection during the pause, so it comes after the greeting.
#[test]
fn a_client_pauses_after_it_has_opened_a_connection() {
    let stub = Stub::amga(Behaviour {
        protocol: 2,
        ..Behaviour::default()
    });
    let target = json!({"kind": "amga", "address": stub.address, "login": "alice"});
    let changes = json!({
        "load": {"kind": "closed", "clients": 30},
        "connections": "per_operation",
        "entries": {"insert_share": 1},
        "pause_s": 0.1,
    });
    let result = run(&target, &changes);
    assert_pairs(&result, 60, 6);
    let class = &result["classes"]["insert"];
    assert!(class["response_s_min"].as_f64().unwrap() >= 0.1);
    // Two rounds; the pauses of 30 clients pass at once.
    assert!(result["end_s"].as_f64().unwrap() < 30.0 * 0.1);
}
