//! A client of AMGA's streaming protocol.

use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::failure::Failure;
use super::meter::{Meter, add};
use super::reply::{End, judge, session_of};
use super::socket::{Poller, Socket};
use super::target::AmgaTarget;
use super::tls::Encryption;
use super::transport::Transport;

/// Bytes read at once; a longer reply takes several reads.
const BLOCK_BYTES: usize = 4096;

/// How a client connects.
#[derive(Clone)]
pub struct Access {
    /// Encryption; None: plain.
    pub encryption: Option<Encryption>,
    /// Where events of the socket are reported.
    pub poller: Poller,
    /// The client's number.
    pub client: u64,
    /// The client's counts.
    pub meter: Rc<Meter>,
}

/// An open connection.
pub struct Connection {
    transport: Transport,
    protocol: u8,
    /// Bytes to send: the login block travels with the first command.
    outgoing: Vec<u8>,
    incoming: Incoming,
    /// The session that the server gave last.
    session: Option<String>,
}

impl Connection {
    /// Connect, choose the encryption, and prepare the login or the resumption of `session`.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or does not speak the protocol.
    pub async fn open(
        target: &AmgaTarget,
        access: &Access,
        session: Option<&str>,
    ) -> Result<Self, Failure> {
        let Access {
            encryption,
            poller,
            client,
            meter,
        } = access;
        let mut socket = Socket::connect(target.address, poller, *client, meter).await?;
        let mut incoming = Incoming::default();
        let protocol = greeting(&mut incoming, &mut socket).await?;
        let mut outgoing = option(encryption.is_some(), session).into_bytes();
        // To a resumption without encryption the server sends no `OK`, so it travels with the first
        // command.
        if encryption.is_some() || session.is_none() {
            socket.write_all(&outgoing).await?;
            outgoing.clear();
            accepted(&mut incoming, &mut socket).await?;
        }
        let transport = match encryption {
            None => Transport::Plain(socket),
            Some(encryption) => Transport::Tls(Box::new(encryption.begin(socket).await?)),
        };
        match session {
            Some(_) => add(&meter.resumed_sessions, 1),
            None => outgoing.extend_from_slice(login(target).as_bytes()),
        }
        Ok(Self {
            transport,
            protocol,
            outgoing,
            incoming,
            session: None,
        })
    }

    /// Send `text` and return whether a line of the reply is `wanted`.
    ///
    /// # Errors
    ///
    /// If the server refuses or does not answer properly.
    pub async fn exchange(&mut self, text: &str, wanted: &str) -> Result<bool, Failure> {
        self.outgoing.extend_from_slice(text.as_bytes());
        self.outgoing.push(b'\n');
        self.transport.write_all(&self.outgoing).await?;
        self.transport.flush().await?;
        self.outgoing.clear();
        let mut end = End::new(self.protocol);
        let (body, mark) = loop {
            if let Some(found) = end.find(&self.incoming.bytes) {
                break found;
            }
            self.incoming.more(&mut self.transport).await?;
        };
        let reply = &self.incoming.bytes[..mark];
        let result = judge(&reply[..body], wanted);
        if let Some(id) = session_of(&reply[body..]) {
            self.session = Some(id);
        }
        self.incoming.bytes.drain(..mark);
        result
    }

    /// Close it; return the session to resume.
    pub async fn close(mut self) -> Option<String> {
        if let Transport::Tls(stream) = &mut self.transport {
            // The end of the encryption; nothing depends on its arrival.
            let _ = stream.shutdown().await;
        }
        self.session
    }
}

/// Bytes received and not used yet.
struct Incoming {
    bytes: Vec<u8>,
    block: Box<[u8]>,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            block: vec![0; BLOCK_BYTES].into_boxed_slice(),
        }
    }
}

impl Incoming {
    async fn more(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<(), Failure> {
        let count = stream.read(&mut self.block).await?;
        if count == 0 {
            return Err(Failure::Closed);
        }
        self.bytes.extend_from_slice(&self.block[..count]);
        Ok(())
    }

    async fn line(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<String, Failure> {
        loop {
            if let Some(at) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=at).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            self.more(stream).await?;
        }
    }
}

/// Read the greeting; return the number of the protocol.
async fn greeting(incoming: &mut Incoming, socket: &mut Socket) -> Result<u8, Failure> {
    incoming.line(socket).await?;
    let protocol = incoming.line(socket).await?;
    incoming.line(socket).await?;
    let number = protocol.strip_prefix("Protocol ");
    let number = number.and_then(|text| text.trim_end().parse().ok());
    number.ok_or(Failure::NotAReply(protocol))
}

fn option(is_encrypted: bool, session: Option<&str>) -> String {
    match (is_encrypted, session) {
        (false, None) => "plain\n\n".to_owned(),
        (true, None) => "ssl\n\n".to_owned(),
        (false, Some(id)) => format!("resume{id}\n\n"),
        (true, Some(id)) => format!("resumeSSL{id}\n\n"),
    }
}

async fn accepted(incoming: &mut Incoming, socket: &mut Socket) -> Result<(), Failure> {
    let answer = incoming.line(socket).await?;
    if answer == "OK" && incoming.bytes.is_empty() {
        return Ok(());
    }
    Err(Failure::NotAReply(answer))
}

fn login(target: &AmgaTarget) -> String {
    let mut block = format!("0 {}\n", target.login);
    if let Some(password) = &target.password {
        block.extend(["5 ", &password.0, "\n"]);
    }
    block.push('\n');
    block
}
