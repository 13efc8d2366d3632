//! A database is killed under load and started again; the server stays, and so do its clients.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headroom_catalogue::store::testing::Killable;

use super::history::{Ended, History, entries};
use super::{Client, Server, configure};

const CLIENTS: usize = 4;
const ROUNDS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(5);
/// Far more than a recovery takes: it only ends a test that waits in vain.
const LIMIT: Duration = Duration::from_secs(60);
/// Codes of AMGA: not available now; the transaction has ended.
const CODES: [u8; 2] = [2, 9];

/// What all clients were told.
#[derive(Default)]
struct Counts {
    done: AtomicU64,
    refused: AtomicU64,
    unknown: AtomicU64,
    is_over: AtomicBool,
    /// Errors that no outage explains.
    strange: Mutex<Vec<String>>,
}

/// Change entries until the test is over. After an error, find out what happened as soon as the server
/// answers; its connection must last.
fn work(mut client: Client, history: &mut History, counts: &Counts) {
    while !counts.is_over.load(SeqCst) {
        let (name, ended) = history.change(&mut client).expect("the server stays");
        let count = match ended {
            Ended::Done => &counts.done,
            Ended::Refused(_) => &counts.refused,
            Ended::Unknown => &counts.unknown,
        };
        count.fetch_add(1, SeqCst);
        if ended == Ended::Done {
            continue;
        }
        if let Ended::Refused(code) = ended
            && !CODES.contains(&code)
        {
            counts
                .strange
                .lock()
                .unwrap()
                .push(format!("{name}: {ended:?}"));
        }
        let there = loop {
            if let Some(there) = entries(&mut client) {
                break there;
            }
            thread::sleep(PAUSE);
        };
        let twin = there.get(&format!("{name}_twin")).copied();
        history.check_one(&name, there.get(&name).copied(), twin);
    }
}

/// Wait until clients have been told of more changes; return how long that took.
fn wait_for_more(count: &AtomicU64) -> Duration {
    let (begun, before) = (Instant::now(), count.load(SeqCst));
    while count.load(SeqCst) < before + CLIENTS as u64 {
        assert!(begun.elapsed() < LIMIT, "clients get no further");
        thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed()
}

fn start(server: &Server, counts: &Arc<Counts>) -> Vec<JoinHandle<History>> {
    let worker = |person| {
        let (client, counts) = (server.client(), Arc::clone(counts));
        let mut history = History::new(person);
        thread::spawn(move || {
            work(client, &mut history, &counts);
            history
        })
    };
    (0..CLIENTS).map(worker).collect()
}

#[test]
fn what_was_acknowledged_is_there_after_kills_of_the_database() {
    for database in Killable::each() {
        kill_the_database(database);
    }
}

fn kill_the_database(mut database: Killable) {
    let folder = tempfile::tempdir().unwrap();
    let config = configure(folder.path(), std::slice::from_ref(&database.url));
    let server = Server::start(&config);
    server.make_directory();
    let counts = Arc::new(Counts::default());
    let workers = start(&server, &counts);
    for _ in 0..ROUNDS {
        wait_for_more(&counts.done);
        thread::sleep(Duration::from_millis(200));
        database.kill();
        // A client that comes now is told why it cannot be served.
        let reply = server.client().run("getattr /d/* n").unwrap();
        assert!(reply.starts_with("2 "), "{reply}");
        thread::sleep(Duration::from_millis(200));
        database.start();
        let recovery = wait_for_more(&counts.done);
        eprintln!(
            "{}: after its start, clients went on within {recovery:.2?}",
            database.url
        );
    }
    counts.is_over.store(true, SeqCst);
    let histories: Vec<_> = workers
        .into_iter()
        .map(|worker| worker.join().unwrap())
        .collect();
    let there = entries(&mut server.client()).unwrap();
    for mut history in histories {
        history.check(&there);
    }
    eprintln!(
        "{}: {} acknowledged, {} refused, {} unknown",
        database.url,
        counts.done.load(SeqCst),
        counts.refused.load(SeqCst),
        counts.unknown.load(SeqCst)
    );
    assert_eq!(*counts.strange.lock().unwrap(), [""; 0]);
    assert!(counts.refused.load(SeqCst) + counts.unknown.load(SeqCst) > 0);
}
