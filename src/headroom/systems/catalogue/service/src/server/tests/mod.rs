//! Conversations over real sockets, with a service that knows a few commands.

mod client;
mod conversation;
mod fuzz;
mod limits;
mod logs;
mod security;
mod trust;
mod urgent;

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};

use super::sessions::{MemorySessions, Sessions};
use super::*;
use crate::refusal::{Code, Refusal};
use crate::security::Proof;

#[derive(Default)]
struct Fake {
    /// Notified when `pause` begins.
    paused: Arc<Notify>,
    /// Ends `pause`.
    resume: Arc<Notify>,
}

struct FakeSession {
    person: String,
    proof: String,
    address: IpAddr,
    paused: Arc<Notify>,
    resume: Arc<Notify>,
    is_in_transaction: bool,
}

impl Service for Fake {
    type Session = FakeSession;

    async fn login(&self, who: Who) -> Answer<FakeSession> {
        let proof = match who.proof {
            Proof::Password(password) if password == "secret" => "password".to_owned(),
            Proof::Resumed(_) => "session".to_owned(),
            Proof::Token(claims) => format!("token of {}", claims.subject),
            Proof::Certificate {
                subject,
                is_proxy,
                is_limited,
            } => format!("{subject} proxy={is_proxy} limited={is_limited}"),
            _ => return Err(Refusal::new(Code::LoginRefused, "wrong password")),
        };
        Ok(FakeSession {
            person: who.login,
            proof,
            address: who.address.ip(),
            paused: Arc::clone(&self.paused),
            resume: Arc::clone(&self.resume),
            is_in_transaction: false,
        })
    }

    async fn is_ready(&self) -> bool {
        true
    }
}

impl Session for FakeSession {
    async fn execute(&mut self, line: &str, reply: &mut Reply<'_>) -> Answer<()> {
        let gone = |error| Refusal::new(Code::Unavailable, error);
        match line.split(' ').next().unwrap_or_default() {
            "wait" => std::future::pending().await,
            "pause" => {
                self.paused.notify_one();
                self.resume.notified().await;
            }
            "transaction" => self.is_in_transaction = true,
            "commit" => self.is_in_transaction = false,
            "put" => reply.silence(),
            "whoami" => reply.line(&self.person).await.map_err(gone)?,
            "proof" => reply.line(&self.proof).await.map_err(gone)?,
            "address" => reply.line(&self.address.to_string()).await.map_err(gone)?,
            "rows" => {
                for number in 0..5000 {
                    reply.line(&number.to_string()).await.map_err(gone)?;
                }
            }
            _ => return Err(Refusal::new(Code::IllegalCommand, "no such command")),
        }
        Ok(())
    }

    async fn end(self) {}

    fn person(&self) -> &str {
        &self.person
    }

    fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }
}

struct Running {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
    reload: Reload,
    paused: Arc<Notify>,
    resume: Arc<Notify>,
}

async fn start(settings: Settings) -> Running {
    start_with(settings, Trust::default()).await
}

async fn start_with(settings: Settings, trust: Trust) -> Running {
    run(server(settings, trust)).await
}

async fn run(server: Server<Fake>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    Running {
        address,
        stop,
        reload: server.reload(),
        paused: Arc::clone(&server.service.paused),
        resume: Arc::clone(&server.service.resume),
        task: tokio::spawn(Arc::new(server).serve(listener, async { drop(stopped.await) })),
    }
}

fn server(settings: Settings, trust: Trust) -> Server<Fake> {
    let sessions = Arc::new(MemorySessions::new(Duration::from_secs(60)));
    Server::new(Fake::default(), settings, sessions, trust)
}

/// Connect, and read the greeting up to its third line.
async fn connect(server: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    read_greeting(&mut stream).await;
    stream
}

async fn read_greeting(stream: &mut TcpStream) {
    for _ in 0..3 {
        read_until(stream, b"\n").await;
    }
}

async fn read_until<T: AsyncRead + Unpin>(stream: &mut T, end: &[u8]) -> String {
    let mut found = Vec::new();
    let read = async {
        while !found.ends_with(end) {
            found.push(stream.read_u8().await.unwrap());
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(30), read).await;
    answered.expect("the server answers");
    String::from_utf8(found).unwrap()
}

const LOGIN: &[u8] = b"0 alice\n5 secret\n\n";

async fn log_in(server: &Running) -> TcpStream {
    let mut stream = connect(server).await;
    stream.write_all(b"plain\n\n").await.unwrap();
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    stream.write_all(LOGIN).await.unwrap();
    stream
}

async fn ask<T: AsyncRead + AsyncWrite + Unpin>(stream: &mut T, command: &[u8]) -> String {
    stream.write_all(command).await.unwrap();
    read_until(stream, b"\x04\x04").await
}
