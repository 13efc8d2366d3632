//! Nothing that was acknowledged is lost when the server is killed under load, on each kind of database.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use headroom_catalogue::store::sql::{Dialect, Sql};
use headroom_catalogue::store::testing::{Place, databases};
use headroom_catalogue::store::{Step, Store};
use headroom_catalogue::value::Value;

use super::history::{Ended, History, entries};
use super::{Client, Server, configure};

const CLIENTS: usize = 4;
const ROUNDS: usize = 3;

/// Work until the server is gone; return how many changes were acknowledged.
fn work(mut client: Client, history: &mut History) -> u64 {
    let mut acknowledged = 0;
    while let Ok((name, ended)) = history.change(&mut client) {
        assert_eq!(ended, Ended::Done, "{name}");
        acknowledged += 1;
    }
    acknowledged
}

/// Wait until the connections of a killed server are gone: a commit that it had sent may still be under way.
fn wait_until_quiet(place: &Place) {
    let others = match place.settings.dialect().unwrap() {
        Dialect::Sqlite => return,
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()"
        }
        Dialect::Mysql => {
            "SELECT count(*) FROM information_schema.processlist \
             WHERE db = database() AND id <> connection_id()"
        }
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Store::open(place.settings.clone()).await.unwrap();
        loop {
            let ran = store
                .run(0, vec![Step::new(Sql::new(others))])
                .await
                .unwrap();
            if ran.outcomes[0].rows == [[Value::Integer(0)]] {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        store.close().await;
    });
}

#[test]
fn what_was_acknowledged_is_there_after_kills_of_the_server() {
    for place in databases() {
        kill_the_server(&place);
    }
}

fn kill_the_server(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), std::slice::from_ref(&place.url));
    let server = Server::start(&config);
    server.make_directory();
    server.kill();
    let mut histories: Vec<_> = (0..CLIENTS).map(History::new).collect();
    for round in 1..=ROUNDS {
        let server = Server::start(&config);
        let begin = Arc::new(Barrier::new(CLIENTS + 1));
        let is_over = Arc::new(AtomicBool::new(false));
        let workers: Vec<_> = histories
            .into_iter()
            .map(|mut history| {
                let (client, begin) = (server.client(), Arc::clone(&begin));
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || {
                    begin.wait();
                    let acknowledged = work(client, &mut history);
                    let is_over = is_over.load(Ordering::SeqCst);
                    assert!(is_over, "the connection broke before");
                    (history, acknowledged)
                })
            })
            .collect();
        begin.wait();
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::SeqCst);
        server.kill();
        let (ended, acknowledged): (Vec<_>, Vec<_>) = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .unzip();
        let acknowledged: u64 = acknowledged.iter().sum();
        eprintln!("{}: {acknowledged} changes, then a kill", place.name);
        assert!(
            acknowledged > 0,
            "nothing was acknowledged in round {round}"
        );
        histories = ended;
        wait_until_quiet(place);
        let server = Server::start(&config);
        let there = entries(&mut server.client()).unwrap();
        for history in &mut histories {
            history.check(&there);
        }
    }
}
