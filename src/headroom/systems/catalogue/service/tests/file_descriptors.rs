//! A server without free file descriptors serves its clients, and new ones when some close.
//!
//! It has a process of its own, because the limit belongs to the process.

#![allow(clippy::unwrap_used, reason = "a fault ends the test")]

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use headroom_catalogue::refusal::Answer;
use headroom_catalogue::security::{Trust, Who};
use headroom_catalogue::server::sessions::MemorySessions;
use headroom_catalogue::server::{Server, Service, Session, Settings};
use headroom_catalogue::wire::reply::Reply;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

struct Open;

impl Service for Open {
    type Session = Guest;

    async fn login(&self, _: Who) -> Answer<Guest> {
        Ok(Guest)
    }

    async fn is_ready(&self) -> bool {
        true
    }
}

struct Guest;

impl Session for Guest {
    async fn execute(&mut self, _: &str, _: &mut Reply<'_>) -> Answer<()> {
        Ok(())
    }

    async fn end(self) {}

    fn person(&self) -> &'static str {
        "guest"
    }

    fn is_in_transaction(&self) -> bool {
        false
    }
}

async fn read_until(stream: &mut TcpStream, end: &[u8]) {
    let mut found = Vec::new();
    while !found.ends_with(end) {
        found.push(stream.read_u8().await.unwrap());
    }
}

/// Take all file descriptors that are left.
fn take_all() -> Vec<File> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(64);
    setrlimit(Resource::Nofile, limit).unwrap();
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[tokio::test]
async fn a_server_without_free_file_descriptors_recovers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let sessions = Arc::new(MemorySessions::new(Duration::from_secs(60)));
    let server = Server::new(Open, Settings::default(), sessions, Trust::default());
    let serving = tokio::spawn(Arc::new(server).serve(listener, std::future::pending()));
    let mut early = TcpStream::connect(address).await.unwrap();
    early.write_all(b"plain\n\n\n").await.unwrap();
    read_until(&mut early, b"OK\n").await;

    let mut taken = take_all();
    taken.pop();
    let mut late = TcpStream::connect(address).await.unwrap();
    assert!(File::open("/dev/null").is_err());
    for _ in 0..3 {
        early.write_all(b"pwd\n").await.unwrap();
        read_until(&mut early, b"\x04\x04").await;
    }
    taken.pop();
    late.write_all(b"plain\n\n\npwd\n").await.unwrap();
    read_until(&mut late, b"0\n\x04\x04").await;
    serving.abort();
}
