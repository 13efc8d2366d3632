//! One connection, from greeting to end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::sessions::Sessions;
use super::{Server, Service, Session};
use crate::refusal::{Answer, Code, Refusal};
use crate::security::{Proof, Who, certificate};
use crate::wire::lines::{Line, Lines};
use crate::wire::opening::{self, Choice, Login};
use crate::wire::reply::{Output, Reply};

/// Serve a client until it leaves or the server drains.
pub(super) async fn run<S: Service>(
    server: &Server<S>,
    stream: TcpStream,
    address: SocketAddr,
    is_draining: watch::Receiver<bool>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let limit = server.settings.opening_timeout;
    let (stream, choice, rest) = within(limit, open(server, stream)).await?;
    let is_encrypted = matches!(choice, Ok(Choice::Tls | Choice::ResumeTls(_)));
    let mut peer = Peer {
        server,
        address,
        is_encrypted,
        subject: None,
        is_draining,
    };
    match (is_encrypted, &server.tls) {
        (true, Some(tls)) => {
            if !rest.is_empty() {
                return Err(io::Error::other("bytes before the TLS handshake"));
            }
            let stream = within(limit, tls.accept(stream)).await?;
            let certificates = stream.get_ref().1.peer_certificates();
            let first = certificates.and_then(<[_]>::first);
            peer.subject = first.and_then(certificate::subject);
            peer.converse(stream, choice, rest).await
        }
        _ => peer.converse(stream, choice, rest).await,
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(limit, work).await?
}

/// Greet, and read the options up to the empty line.
async fn open<S: Service>(
    server: &Server<S>,
    mut stream: TcpStream,
) -> io::Result<(TcpStream, Answer<Choice>, Vec<u8>)> {
    let settings = &server.settings;
    let has_sessions = settings.sessions != Sessions::No;
    let has_tls = server.tls.is_some();
    let greeting = opening::greeting(&settings.name, settings.protocol, has_tls, has_sessions);
    stream.write_all(greeting.as_bytes()).await?;
    let mut lines = Lines::new(stream, settings.max_line_bytes);
    let mut option = String::new();
    loop {
        match lines.next().await? {
            Line::Text(line) if line.is_empty() => break,
            Line::Text(line) => option = line,
            _ => return Err(io::Error::other("not an option")),
        }
    }
    let (mut stream, rest) = lines.into_parts();
    let choice = opening::choice(&option).and_then(|choice| allowed(server, choice));
    // A client that resumes without TLS does not wait for `OK`: it would read it as a reply.
    if !matches!(choice, Ok(Choice::Resume(_))) {
        stream.write_all(b"OK\n").await?;
    }
    Ok((stream, choice, rest))
}

fn allowed<S>(server: &Server<S>, choice: Choice) -> Answer<Choice> {
    let is_tls = matches!(choice, Choice::Tls | Choice::ResumeTls(_));
    let message = match (
        is_tls,
        server.tls.is_some(),
        server.settings.is_tls_required,
    ) {
        (true, false, _) => "this server has no certificate; choose `plain`",
        (false, _, true) => "this server wants encryption; choose `ssl`",
        _ => return Ok(choice),
    };
    Err(Refusal::new(Code::LoginRefused, message))
}

struct Peer<'a, S> {
    server: &'a Server<S>,
    address: SocketAddr,
    is_encrypted: bool,
    /// Subject of the client's certificate, checked.
    subject: Option<String>,
    is_draining: watch::Receiver<bool>,
}

impl<S: Service> Peer<'_, S> {
    async fn converse<T: AsyncRead + AsyncWrite + Send + Unpin>(
        mut self,
        stream: T,
        choice: Answer<Choice>,
        rest: Vec<u8>,
    ) -> io::Result<()> {
        let (reader, mut writer) = tokio::io::split(stream);
        let reader = tokio::io::AsyncReadExt::chain(io::Cursor::new(rest), reader);
        let mut lines = Lines::new(reader, self.server.settings.max_line_bytes);
        let limit = self.server.settings.opening_timeout;
        let session = match choice {
            Ok(choice) => within(limit, self.login(&mut lines, choice)).await?,
            Err(refusal) => Err(refusal),
        };
        match session {
            Ok(mut session) => {
                let result = self.commands(&mut session, &mut lines, &mut writer).await;
                session.end().await;
                result
            }
            Err(refusal) => {
                // The protocol has no reply to a login: the first command gets it.
                within(limit, lines.next()).await?;
                let reply = self.reply(&mut writer);
                reply.end(Err(refusal), None).await
            }
        }?;
        writer.shutdown().await
    }

    async fn login<R: AsyncRead + Unpin>(
        &self,
        lines: &mut Lines<R>,
        choice: Choice,
    ) -> io::Result<Answer<S::Session>> {
        let (login, proof) = match choice {
            Choice::Resume(id) | Choice::ResumeTls(id) => match self.resumed(&id).await {
                Ok(person) => (person.clone(), Proof::Resumed(person)),
                Err(refusal) => return Ok(Err(refusal)),
            },
            Choice::Plain | Choice::Tls => {
                let login = read_login(lines, self.server.settings.token_number).await?;
                if login.token.is_some() {
                    return Ok(Err(no_tokens()));
                }
                (login.name, self.proof(login.password))
            }
        };
        let (address, is_encrypted) = (self.address, self.is_encrypted);
        let who = Who {
            login,
            proof,
            address,
            is_encrypted,
        };
        Ok(self.server.service.login(who).await)
    }

    /// A password counts before a certificate: who sends one wants it to be checked.
    fn proof(&self, password: Option<String>) -> Proof {
        match (password, &self.subject) {
            (Some(password), _) => Proof::Password(password),
            (None, Some(subject)) => Proof::Certificate {
                subject: subject.clone(),
                is_proxy: false,
                is_limited: false,
            },
            (None, None) => Proof::Anonymous,
        }
    }

    async fn resumed(&self, id: &str) -> Answer<String> {
        let refused = || Refusal::new(Code::LoginRefused, "the session has expired; log in again");
        if self.server.settings.sessions == Sessions::No {
            return Err(refused());
        }
        self.server.sessions.find(id).await?.ok_or_else(refused)
    }

    async fn commands<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin>(
        &mut self,
        session: &mut S::Session,
        lines: &mut Lines<R>,
        writer: &mut W,
    ) -> io::Result<()> {
        let mut is_id_due = self.gives_id();
        loop {
            let Some(line) = self.next(session.is_in_transaction(), lines).await? else {
                return Ok(());
            };
            let mut reply = self.reply(writer);
            let result = match line {
                Line::End => return Ok(()),
                Line::Text(line) if line.trim().is_empty() => continue,
                Line::TooLong => Err(illegal("the line is too long")),
                Line::NotText => Err(illegal("the line is not UTF-8 text")),
                Line::Text(line) => tokio::select! {
                    result = session.execute(&line, &mut reply) => result,
                    cancelled = lines.cancelled() => {
                        cancelled?;
                        let refusal = Refusal::new(Code::Cancelled, "cancelled by the client");
                        reply.end_cancelled(&refusal).await?;
                        continue;
                    }
                },
            };
            // A client closes its connection when it gets an id, which would lose a transaction.
            let id = if is_id_due && result.is_ok() && !session.is_in_transaction() {
                is_id_due = false;
                {
                    let person = session.person().to_owned();
                    self.server.sessions.create(&person).await.ok()
                }
            } else {
                None
            };
            reply.end(result, id.as_deref()).await?;
        }
    }

    /// Return the next line, or nothing if the client was idle for too long or the server drains.
    async fn next<R: AsyncRead + Unpin>(
        &mut self,
        is_in_transaction: bool,
        lines: &mut Lines<R>,
    ) -> io::Result<Option<Line>> {
        let limit = self.server.settings.idle_timeout;
        if is_in_transaction {
            return within(limit, lines.next()).await.map(Some);
        }
        tokio::select! {
            biased;
            _ = self.is_draining.wait_for(|is_draining| *is_draining) => Ok(None),
            line = within(limit, lines.next()) => line.map(Some),
        }
    }

    fn reply<'r>(&self, output: Output<'r>) -> Reply<'r> {
        let settings = &self.server.settings;
        Reply::new(output, settings.protocol, settings.write_timeout)
    }

    fn gives_id(&self) -> bool {
        match self.server.settings.sessions {
            Sessions::No => false,
            Sessions::Allow => self.is_encrypted,
            Sessions::Force => true,
        }
    }
}

fn no_tokens() -> Refusal {
    let message = "this server takes no tokens; log in with a password or a certificate";
    Refusal::new(Code::LoginRefused, message)
}

fn illegal(message: &str) -> Refusal {
    Refusal::new(Code::IllegalCommand, message)
}

async fn read_login<R: AsyncRead + Unpin>(
    lines: &mut Lines<R>,
    token_number: u8,
) -> io::Result<Login> {
    let mut login = Login::default();
    loop {
        match lines.next().await? {
            Line::Text(line) if line.is_empty() => return Ok(login),
            Line::Text(line) => login.add(&line, token_number),
            _ => return Err(io::Error::other("not a login block")),
        }
    }
}
