//! AMGA's Python client of 2007, as far as the wire sees it: what it sends, how it reads, and when it
//! closes. Its behaviour is what counts, so it is modelled step by step.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use super::*;

struct OldClient {
    address: SocketAddr,
    password: &'static str,
    /// Whether the connection is kept between commands.
    is_kept: bool,
    stream: Option<std::net::TcpStream>,
    protocol: u8,
    buffer: Vec<u8>,
    is_at_end: bool,
    session: u128,
}

/// An error that the client raises.
#[derive(Debug, PartialEq)]
struct Raised(i32, String);

impl OldClient {
    fn new(address: SocketAddr, is_kept: bool) -> Self {
        Self {
            address,
            password: "secret",
            is_kept,
            stream: None,
            protocol: 0,
            buffer: Vec::new(),
            is_at_end: false,
            session: 0,
        }
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut block = [0; 1024];
        let count = self.stream.as_mut().unwrap().read(&mut block).unwrap();
        block[..count].to_vec()
    }

    fn send(&mut self, text: &str) {
        let stream = self.stream.as_mut().unwrap();
        stream.write_all(text.as_bytes()).unwrap();
    }

    fn connect(&mut self) {
        let stream = std::net::TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        self.stream = Some(stream);
        let mut greeting = String::new();
        while greeting.matches('\n').count() < 3 {
            greeting += std::str::from_utf8(&self.receive()).unwrap();
        }
        let at = greeting.find("\nProtocol ").unwrap() + "\nProtocol ".len();
        self.protocol = greeting[at..=at].parse().unwrap();
        if self.session != 0 {
            self.send(&format!("resume{}\n\n", self.session));
            return;
        }
        self.send("plain\n\n");
        self.receive();
        self.send(&format!("0 alice\n5 {}\n\n", self.password));
    }

    fn command(&mut self, command: &str) {
        self.buffer.clear();
        if !self.is_kept {
            self.stream = None;
        }
        if self.stream.is_none() {
            self.connect();
        }
        self.send(&format!("{command}\n"));
    }

    /// As for `upload` and `put`: the reply, if any, stays unread.
    fn execute_without_waiting(&mut self, command: &str) {
        self.command(command);
    }

    fn execute(&mut self, command: &str) -> Result<Vec<String>, Raised> {
        self.command(command);
        self.is_at_end = false;
        let first = self.row().expect("a first line");
        let (code, message) = first.split_once(' ').unwrap_or((&first, ""));
        let code = code.parse().expect("a code");
        if code != 0 {
            let raised = Raised(code, message.to_owned());
            while !self.is_at_end && self.fetch() {}
            self.buffer.clear();
            return Err(raised);
        }
        let mut rows = Vec::new();
        while !self.has_ended() {
            rows.extend(self.row());
        }
        Ok(rows)
    }

    fn row(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=at).collect();
                line.pop();
                if self.buffer.is_empty() && !self.is_at_end && !self.fetch() {
                    return None;
                }
                return Some(String::from_utf8(line).unwrap());
            }
            if self.is_at_end || !self.fetch() {
                return None;
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.buffer.is_empty() && !self.is_at_end {
            return !self.fetch() || self.buffer.is_empty();
        }
        self.buffer.is_empty()
    }

    /// Read until there is more than a line, or the end mark. Return whether bytes came.
    fn fetch(&mut self) -> bool {
        let mut count = 0;
        loop {
            if self.mark(0).is_some() {
                break;
            }
            let newline = self.buffer.iter().position(|byte| *byte == b'\n');
            if newline.is_some_and(|at| at + 1 < self.buffer.len()) {
                break;
            }
            let block = self.receive();
            count = block.len();
            if block.is_empty() {
                break;
            }
            self.buffer.extend(block);
        }
        if let Some(first) = self.mark(0) {
            while self.protocol > 1 && self.mark(first + 1).is_none() {
                let block = self.receive();
                self.buffer.extend(block);
            }
            self.take_mark(first);
        }
        count > 0
    }

    fn mark(&self, from: usize) -> Option<usize> {
        let at = self.buffer[from..].iter().position(|byte| *byte == 4)?;
        Some(from + at)
    }

    fn take_mark(&mut self, first: usize) {
        self.session = 0;
        if let Some(rest) = self.buffer[first + 1..].strip_prefix(b"session") {
            let id = rest.split(|byte| *byte == 4).next().unwrap();
            self.session = std::str::from_utf8(id).unwrap().parse().unwrap();
            self.stream = None;
        }
        self.buffer.truncate(first);
        self.is_at_end = true;
    }
}

/// Run a client, which blocks, together with a server.
async fn with_client(
    settings: Settings,
    is_kept: bool,
    talk: impl FnOnce(&mut OldClient) + Send + 'static,
) {
    let server = start(settings).await;
    let address = server.address;
    let talk = move || talk(&mut OldClient::new(address, is_kept));
    tokio::task::spawn_blocking(talk).await.unwrap();
}

fn assert_rows(found: Result<Vec<String>, Raised>, wanted: &[&str]) {
    assert_eq!(found.unwrap(), wanted);
}

#[tokio::test]
async fn it_keeps_a_connection_for_several_commands() {
    with_client(Settings::default(), true, |client| {
        for _ in 0..3 {
            assert_rows(client.execute("whoami"), &["alice"]);
            assert_rows(client.execute("transaction"), &[]);
            assert_rows(client.execute("commit"), &[]);
        }
    })
    .await;
}

#[tokio::test]
async fn it_connects_for_each_command() {
    for protocol in [1, 2] {
        let settings = Settings {
            protocol,
            ..Settings::default()
        };
        with_client(settings, false, |client| {
            for _ in 0..3 {
                assert_rows(client.execute("whoami"), &["alice"]);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn it_resumes_its_session_on_new_connections() {
    let settings = Settings {
        sessions: Sessions::Force,
        ..Settings::default()
    };
    with_client(settings, true, |client| {
        assert_rows(client.execute("proof"), &["password"]);
        for _ in 0..3 {
            assert_ne!(client.session, 0);
            assert!(client.stream.is_none());
            assert_rows(client.execute("proof"), &["session"]);
        }
    })
    .await;
}

#[tokio::test]
async fn it_reads_large_replies() {
    with_client(Settings::default(), true, |client| {
        let found = client.execute("rows").unwrap();
        let wanted: Vec<_> = (0..5000).map(|number: u32| number.to_string()).collect();
        assert_eq!(found, wanted);
        assert_rows(client.execute("whoami"), &["alice"]);
    })
    .await;
}

#[tokio::test]
async fn it_raises_errors_and_continues() {
    with_client(Settings::default(), true, |client| {
        let raised = Raised(3, "no such command".to_owned());
        assert_eq!(client.execute("dance"), Err(raised));
        assert_rows(client.execute("whoami"), &["alice"]);
    })
    .await;
}

#[tokio::test]
async fn it_raises_a_refused_login_at_the_first_command() {
    with_client(Settings::default(), true, |client| {
        client.password = "guess";
        let raised = Raised(5, "wrong password".to_owned());
        assert_eq!(client.execute("whoami"), Err(raised));
    })
    .await;
}

#[tokio::test]
async fn it_reads_one_reply_after_many_puts() {
    with_client(Settings::default(), true, |client| {
        for _ in 0..100 {
            client.execute_without_waiting("put a b");
        }
        assert_rows(client.execute("commit"), &[]);
        assert_rows(client.execute("whoami"), &["alice"]);
    })
    .await;
}
