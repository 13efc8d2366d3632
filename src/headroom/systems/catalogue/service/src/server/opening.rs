//! The begin of a connection: PROXY header, greeting, option.

use std::io;
use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;

use super::sessions::Sessions;
use super::socket::Socket;
use super::{Server, Settings};
use crate::refusal::{Answer, Code, Refusal};
use crate::wire::balancer;
use crate::wire::lines::{Line, Lines};
use crate::wire::opening::{self, Choice};

/// Return the address of the client: a balancer states it, others are the client.
pub(super) async fn address(
    settings: &Settings,
    socket: &mut Socket,
    peer: SocketAddr,
) -> io::Result<SocketAddr> {
    let ip = peer.ip().to_canonical();
    if !settings
        .balancers
        .iter()
        .any(|network| network.contains(&ip))
    {
        return Ok(peer);
    }
    Ok(balancer::read(socket).await?.unwrap_or(peer))
}

/// The choice of the client, and the bytes after it.
pub(super) struct Opened {
    pub(super) socket: Socket,
    pub(super) choice: Answer<Choice>,
    pub(super) rest: Vec<u8>,
}

/// Greet, and read the options up to the empty line.
pub(super) async fn open<S>(
    server: &Server<S>,
    mut socket: Socket,
    has_tls: bool,
) -> io::Result<Opened> {
    let settings = &server.settings;
    let has_sessions = settings.sessions != Sessions::No;
    let greeting = opening::greeting(&settings.name, settings.protocol, has_tls, has_sessions);
    socket.write_all(greeting.as_bytes()).await?;
    let mut lines = Lines::new(socket, settings.lines);
    let option = read_option(&mut lines).await?;
    let (mut socket, rest) = lines.into_parts();
    let choice = opening::choice(&option);
    let choice = choice.and_then(|choice| allowed(settings, has_tls, choice));
    // A client that resumes without TLS does not wait for `OK`: it would read it as a reply.
    if !matches!(choice, Ok(Choice::Resume(_))) {
        socket.write_all(b"OK\n").await?;
    }
    Ok(Opened {
        socket,
        choice,
        rest,
    })
}

/// Return the last option. An unexpected PROXY header looks like no option at all.
async fn read_option(lines: &mut Lines<Socket>) -> io::Result<String> {
    let mut option = None;
    loop {
        match (lines.next().await?, option) {
            (Line::Text(line), Some(option)) if line.is_empty() => return Ok(option),
            (Line::Text(line), _) if !line.is_empty() && !line.starts_with("PROXY ") => {
                option = Some(line);
            }
            _ => return Err(io::Error::other("not an option")),
        }
    }
}

fn allowed(settings: &Settings, has_tls: bool, choice: Choice) -> Answer<Choice> {
    let is_tls = matches!(choice, Choice::Tls | Choice::ResumeTls(_));
    let message = match (is_tls, has_tls, settings.is_tls_required) {
        (true, false, _) => "this server has no certificate; choose `plain`",
        (false, _, true) => "this server wants encryption; choose `ssl`",
        _ => return Ok(choice),
    };
    Err(Refusal::new(Code::LoginRefused, message))
}
