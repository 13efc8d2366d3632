//! One connection, from greeting to end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::limits::Place;
use super::opening::{self, Opened};
use super::sessions::Sessions;
use super::socket::Socket;
use super::{Server, Service, Session, limits};
use crate::refusal::{Answer, Code, Refusal};
use crate::security::Trust;
use crate::security::certificate::Identity;
use crate::wire::lines::{Line, Lines};
use crate::wire::opening::Choice;
use crate::wire::reply::{Output, Reply};

/// Time for the client to take in the end of a conversation that the server ends.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// Serve a client until it leaves or the server drains.
pub(super) async fn run<S: Service>(
    server: &Server<S>,
    stream: TcpStream,
    peer: SocketAddr,
) -> io::Result<()> {
    let Admitted {
        socket,
        address,
        mut opening,
        trust,
        place: _place,
    } = admit(server, stream, peer, server.is_draining()).await?;
    let opened = opening::open(server, socket, trust.tls.is_some());
    let Opened {
        socket,
        choice,
        rest,
    } = opening.within(opened).await?;
    let client = Client {
        server,
        address,
        opening,
        identity: None,
        is_encrypted: matches!(choice, Ok(Choice::Tls | Choice::ResumeTls(_))),
        trust: Arc::clone(&trust),
    };
    match &trust.tls {
        Some(tls) if client.is_encrypted => {
            if !rest.is_empty() {
                return Err(io::Error::other("bytes before the TLS handshake"));
            }
            socket.ignore_urgent()?;
            // Its size should not be that of each connection.
            let handshake = Box::pin(server.handshakes.count(tls.accept(socket)));
            client.encrypted(handshake, choice).await
        }
        _ => client.converse(socket, choice, rest).await,
    }
}

/// A connection whose client may be here.
pub(crate) struct Admitted {
    pub(crate) socket: Socket,
    /// Of the client, not of a balancer.
    pub(crate) address: SocketAddr,
    pub(crate) opening: Opening,
    pub(crate) trust: Arc<Trust>,
    /// Among the connections of the address.
    pub(crate) place: Place<IpAddr>,
}

/// Find out whose connection it is, and whether the client may have another one.
pub(crate) async fn admit<S: Service>(
    server: &Server<S>,
    stream: TcpStream,
    peer: SocketAddr,
    is_draining: watch::Receiver<bool>,
) -> io::Result<Admitted> {
    let settings = &server.settings;
    let mut socket = Socket::new(stream, settings.keepalive_time)?;
    let mut opening = Opening {
        deadline: Instant::now() + settings.opening_timeout,
        is_draining,
    };
    let address = opening
        .within(opening::address(settings, &mut socket, peer))
        .await?;
    let Some(place) = server.addresses.take(limits::client(address.ip())) else {
        return Err(io::Error::other("too many connections of this address"));
    };
    Ok(Admitted {
        socket,
        address,
        opening,
        trust: server.trust.current(),
        place,
    })
}

/// The time until the login is done. When the server drains, nothing was promised yet.
pub(crate) struct Opening {
    deadline: Instant,
    is_draining: watch::Receiver<bool>,
}

impl Opening {
    pub(crate) async fn within<T>(
        &mut self,
        work: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        tokio::select! {
            biased;
            _ = self.is_draining.wait_for(|is_draining| *is_draining) => {
                Err(io::Error::other("the server stops"))
            }
            result = timeout_at(self.deadline, work) => result?,
        }
    }
}

/// A connected client.
pub(super) struct Client<'a, S> {
    pub(super) server: &'a Server<S>,
    pub(super) address: SocketAddr,
    pub(super) opening: Opening,
    pub(super) is_encrypted: bool,
    /// Of the client's certificate, checked.
    pub(super) identity: Option<Identity>,
    pub(super) trust: Arc<Trust>,
}

impl<S: Service> Client<'_, S> {
    async fn encrypted<T: AsyncRead + AsyncWrite + Send + Unpin>(
        mut self,
        handshake: impl Future<Output = io::Result<(T, Answer<Option<Identity>>)>>,
        choice: Answer<Choice>,
    ) -> io::Result<()> {
        let (stream, identity) = self.opening.within(handshake).await?;
        let choice = match identity {
            Ok(identity) => {
                self.identity = identity;
                choice
            }
            Err(refusal) => Err(refusal),
        };
        self.converse(stream, choice, Vec::new()).await
    }

    async fn converse<T: AsyncRead + AsyncWrite + Send + Unpin>(
        mut self,
        stream: T,
        choice: Answer<Choice>,
        rest: Vec<u8>,
    ) -> io::Result<()> {
        let (reader, mut writer) = tokio::io::split(stream);
        let reader = tokio::io::AsyncReadExt::chain(io::Cursor::new(rest), reader);
        let mut lines = Lines::new(reader, self.server.settings.lines);
        let session = match choice {
            Ok(choice) => self.login(&mut lines, choice).await?,
            Err(refusal) => Err(refusal),
        };
        match session {
            Ok(session) => self.serve(session, &mut lines, &mut writer).await,
            Err(refusal) => self.refuse(refusal, &mut lines, &mut writer).await,
        }?;
        timeout(self.server.settings.write_timeout, writer.shutdown()).await??;
        // A socket that is closed with unread bytes is reset, and the client loses the last reply.
        let (mut rest, _) = lines.into_parts();
        let mut sink = tokio::io::sink();
        let _ = timeout(LINGER_TIME, tokio::io::copy(&mut rest, &mut sink)).await;
        Ok(())
    }

    /// The protocol has no reply to a login: the first command gets it.
    async fn refuse<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin>(
        &mut self,
        refusal: Refusal,
        lines: &mut Lines<R>,
        writer: &mut W,
    ) -> io::Result<()> {
        self.opening.within(lines.next()).await?;
        self.reply(writer).end(Err(refusal), None).await
    }

    async fn serve<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin>(
        &mut self,
        mut session: S::Session,
        lines: &mut Lines<R>,
        writer: &mut W,
    ) -> io::Result<()> {
        let place = self.server.persons.take(session.person().to_owned());
        let result = if place.is_some() {
            self.commands(&mut session, lines, writer).await
        } else {
            let message = "too many connections of this person; close some of them";
            let refusal = Refusal::new(Code::Unavailable, message);
            self.refuse(refusal, lines, writer).await
        };
        session.end().await;
        result
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
            let may_close = result.is_ok() && !session.is_in_transaction() && !reply.is_silent();
            let id = if is_id_due && may_close {
                is_id_due = false;
                self.server.sessions.create(session.person()).await.ok()
            } else {
                None
            };
            reply.end(result, id.as_deref()).await?;
        }
    }

    /// Return the next line, or nothing if the server drains.
    async fn next<R: AsyncRead + Unpin>(
        &mut self,
        is_in_transaction: bool,
        lines: &mut Lines<R>,
    ) -> io::Result<Option<Line>> {
        let line = timeout(self.server.settings.idle_timeout, lines.next());
        if is_in_transaction {
            return line.await?.map(Some);
        }
        tokio::select! {
            // A command that has arrived is answered even then.
            biased;
            line = line => line?.map(Some),
            _ = self.opening.is_draining.wait_for(|is_draining| *is_draining) => Ok(None),
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

fn illegal(message: &str) -> Refusal {
    Refusal::new(Code::IllegalCommand, message)
}
