//! Nothing that was acknowledged is lost when the server is killed under load.
//!
//! Clients add entries, change them and remove them, one command or a transaction at a time, and
//! write down what was acknowledged. After the kill, a checker compares their histories with what is
//! there. A command without a reply may have been done or not, but never half.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use super::client::Client;
use super::{Server, configure, sqlite};

const CLIENTS: usize = 4;
const ROUNDS: usize = 3;

/// The state of an entry, as its client knows it: its value, and the one that it may have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    /// Acknowledged; none: it is not there.
    value: Option<u64>,
    /// Asked for.
    next: Option<u64>,
    /// Whether the reply to that is missing.
    is_open: bool,
}

type History = BTreeMap<String, Known>;

/// Return whether an entry is always changed together with its twin, in a transaction.
fn has_twin(number: u64) -> bool {
    number < 3
}

/// Work until the server is gone; return how many changes were acknowledged.
fn work(mut client: Client, person: usize, round: usize, history: &mut History) -> u64 {
    for step in 0_u64.. {
        let number = step % 7;
        let name = format!("c{person}_{number}");
        let value = round as u64 * 1_000_000 + step;
        let known = history.entry(name.clone()).or_default();
        let (command, next) = match (known.value, step % 3) {
            (None, _) => (format!("addentry /d/{name} n {value}"), Some(value)),
            (Some(_), 0) => (format!("rm /d/{name}"), None),
            (Some(_), _) => (format!("setattr /d/{name} n {value}"), Some(value)),
        };
        known.next = next;
        known.is_open = true;
        let twin = command.replace(&name, &format!("{name}_twin"));
        let commands = if has_twin(number) {
            vec!["transaction".to_owned(), command, twin, "commit".to_owned()]
        } else {
            vec![command]
        };
        for command in &commands {
            match client.run(command) {
                Ok(reply) => assert_eq!(reply, "0\n", "{command}"),
                Err(_) => return step,
            }
        }
        known.value = next;
        known.is_open = false;
    }
    unreachable!("a client works until its connection breaks")
}

/// Compare a history with what is there, and take over what was found.
fn check(history: &mut History, there: &BTreeMap<String, u64>) {
    for (name, known) in history.iter_mut() {
        let found = there.get(name).copied();
        let is_fine = found == known.value || (known.is_open && found == known.next);
        assert!(is_fine, "{name}: {known:?}, found {found:?}");
        let number = name
            .rsplit('_')
            .next()
            .and_then(|number| number.parse().ok());
        if number.is_some_and(has_twin) {
            let twin = there.get(&format!("{name}_twin")).copied();
            assert_eq!(found, twin, "{name}: half a transaction");
        }
        *known = Known {
            value: found,
            next: found,
            is_open: false,
        };
    }
}

fn entries(client: &mut Client) -> BTreeMap<String, u64> {
    let reply = client.run("getattr /d/* n").unwrap();
    let mut lines = reply.lines().skip(1);
    let mut found = BTreeMap::new();
    while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
        found.insert(name.to_owned(), value.parse().unwrap());
    }
    found
}

#[test]
fn what_was_acknowledged_is_there_after_kills() {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), &[sqlite(folder.path())]);
    let server = Server::start(&config);
    let mut client = server.client();
    for line in ["createdir /d", "addattr /d n int"] {
        assert_eq!(client.run(line).unwrap(), "0\n");
    }
    server.kill();
    let mut histories = vec![History::new(); CLIENTS];
    for round in 1..=ROUNDS {
        let server = Server::start(&config);
        let begin = Arc::new(Barrier::new(CLIENTS + 1));
        let is_over = Arc::new(AtomicBool::new(false));
        let workers: Vec<_> = histories
            .into_iter()
            .enumerate()
            .map(|(number, mut history)| {
                let (client, begin) = (server.client(), Arc::clone(&begin));
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || {
                    begin.wait();
                    let acknowledged = work(client, number, round, &mut history);
                    assert!(
                        is_over.load(Ordering::SeqCst),
                        "the connection broke before"
                    );
                    (history, acknowledged)
                })
            })
            .collect();
        begin.wait();
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::SeqCst);
        server.kill();
        let ended: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect();
        let acknowledged: u64 = ended.iter().map(|(_, count)| count).sum();
        assert!(
            acknowledged > 0,
            "no command was acknowledged in round {round}"
        );
        histories = ended.into_iter().map(|(history, _)| history).collect();
        let server = Server::start(&config);
        let there = entries(&mut server.client());
        for history in &mut histories {
            check(history, &there);
        }
    }
}
