//! Connections, limits and settings.
//!
//! The invariant: a connection belongs to one task; whatever ends that task (a time limit, a lost
//! client, the drain of the server) rolls back the session's transaction.

mod connection;
pub mod sessions;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::refusal::Answer;
use crate::security::Who;
use crate::wire::reply::Reply;
use sessions::{SessionStore, Sessions};

/// What answers commands.
pub trait Service: Send + Sync + 'static {
    /// The state of one connection.
    type Session: Session;
    /// Let somebody in.
    fn login(&self, who: Who) -> impl Future<Output = Answer<Self::Session>> + Send;
    /// Return whether the database answers.
    fn is_ready(&self) -> impl Future<Output = bool> + Send;
}

/// Somebody who was let in.
pub trait Session: Send {
    /// Run a command. The future may be dropped at any await.
    fn execute(
        &mut self,
        line: &str,
        reply: &mut Reply<'_>,
    ) -> impl Future<Output = Answer<()>> + Send;
    /// Roll back what is open.
    fn end(self) -> impl Future<Output = ()> + Send;
    /// Return the name in the catalogue.
    fn person(&self) -> &str;
    /// Return whether a transaction is open.
    fn is_in_transaction(&self) -> bool;
}

/// How the server behaves on the wire.
#[derive(Clone, Debug)]
pub struct Settings {
    /// First line of the greeting.
    pub name: String,
    /// Number of the protocol, 1 or 2.
    pub protocol: u8,
    /// Whether clients get session ids.
    pub sessions: Sessions,
    /// Whether only TLS is allowed.
    pub is_tls_required: bool,
    /// Number of the login line with a bearer token.
    pub token_number: u8,
    /// Connections at once, in total.
    pub max_connections: usize,
    /// Longest line (bytes).
    pub max_line_bytes: usize,
    /// Time for greeting, TLS and login.
    pub opening_timeout: Duration,
    /// Time between commands.
    pub idle_timeout: Duration,
    /// Time for the end of a reply to leave.
    pub write_timeout: Duration,
    /// Time that open transactions have to end when the server stops.
    pub drain_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "Headroom catalogue".to_owned(),
            protocol: 2,
            sessions: Sessions::No,
            is_tls_required: false,
            token_number: 6,
            max_connections: 10_000,
            max_line_bytes: 64 * 1024,
            opening_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(1200),
            write_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// A server around a service.
pub struct Server<S> {
    service: S,
    settings: Settings,
    sessions: Arc<dyn SessionStore>,
    tls: Option<TlsAcceptor>,
}

impl<S: Service> Server<S> {
    /// Return a server; without `tls` it offers plain connections only.
    pub fn new(
        service: S,
        settings: Settings,
        sessions: Arc<dyn SessionStore>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        Self {
            service,
            settings,
            sessions,
            tls,
        }
    }

    /// Serve until `stop` is ready, then let running commands and open transactions end.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
        let server = Arc::new(self);
        let places = Arc::new(Semaphore::new(server.settings.max_connections));
        let (draining, is_draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => {
                        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                            tracing::warn!(%address, "refused: too many connections");
                            continue;
                        };
                        let (server, is_draining) = (Arc::clone(&server), is_draining.clone());
                        connections.spawn(async move {
                            server.connection(stream, address, is_draining).await;
                            drop(place);
                        });
                    }
                    Err(error) => after_accept_error(&error).await,
                },
            }
        }
        drop(listener);
        draining.send_replace(true);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(server.settings.drain_timeout, all_ended).await;
        connections.shutdown().await;
    }

    async fn connection(
        &self,
        stream: TcpStream,
        address: std::net::SocketAddr,
        is_draining: watch::Receiver<bool>,
    ) {
        if let Err(error) = connection::run(self, stream, address, is_draining).await {
            tracing::debug!(%address, %error, "connection lost");
        }
    }
}

/// Without free file descriptors, `accept` fails at once, again and again: wait for some to close.
async fn after_accept_error(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(50)).await;
}
