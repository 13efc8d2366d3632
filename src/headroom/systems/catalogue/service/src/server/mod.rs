//! Connections, limits and settings.
//!
//! The invariant: a connection belongs to one task; whatever ends that task (a time limit, a lost
//! client, the drain of the server) rolls back the session's transaction.

pub(crate) mod accept;
pub(crate) mod connection;
mod handshakes;
pub(crate) mod limits;
mod login;
mod opening;
pub mod sessions;
mod settings;
pub(crate) mod socket;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::refusal::Answer;
use crate::security::{Reload, Trust, Who};
use crate::wire::reply::Reply;
use handshakes::Handshakes;
use limits::Places;
use sessions::SessionStore;

pub use accept::{accept, listen};
pub use settings::Settings;

/// What answers commands.
pub trait Service: Send + Sync + 'static {
    /// The state of one connection.
    type Session: Session;
    /// Check a login.
    fn login(&self, who: Who) -> impl Future<Output = Answer<Self::Session>> + Send;
    /// Return whether the database answers.
    fn is_ready(&self) -> impl Future<Output = bool> + Send;
}

/// A person who has logged in.
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

/// A server around a service.
pub struct Server<S> {
    pub(crate) service: S,
    pub(crate) settings: Settings,
    sessions: Arc<dyn SessionStore>,
    trust: Reload,
    /// Free places of connections.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) addresses: Places<IpAddr>,
    pub(crate) persons: Places<String>,
    pub(crate) handshakes: Handshakes,
    draining: watch::Sender<bool>,
}

impl<S: Service> Server<S> {
    /// Return a server; with an empty `trust` it offers plain connections and passwords only.
    pub fn new(
        service: S,
        settings: Settings,
        sessions: Arc<dyn SessionStore>,
        trust: Trust,
    ) -> Self {
        Self {
            addresses: Places::new(settings.max_connections_per_address),
            persons: Places::new(settings.max_connections_per_person),
            places: Arc::new(Semaphore::new(settings.max_connections)),
            trust: Reload::new(trust),
            handshakes: Handshakes::default(),
            draining: watch::Sender::new(false),
            service,
            settings,
            sessions,
        }
    }

    /// Return a handle that exchanges certificates and keys while the server runs.
    pub fn reload(&self) -> Reload {
        self.trust.clone()
    }

    /// Return whether the server lets connections end.
    pub fn is_draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// Serve until `stop` is ready, then let running commands and open transactions end.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) {
        let connection = |stream, address| {
            let server = Arc::clone(&self);
            async move { connection::run(&server, stream, address).await }
        };
        let connections = accept::until(stop, &self.places, listener, connection).await;
        self.begin_to_drain();
        self.drain(connections).await;
    }

    /// Wait for connections to end, and end the others after a time.
    pub(crate) async fn drain(&self, mut connections: JoinSet<()>) {
        let drain_timeout = self.settings.drain_timeout;
        let all_ended = async { while accept::next_ended(&mut connections).await {} };
        if tokio::time::timeout(drain_timeout, all_ended)
            .await
            .is_err()
        {
            tracing::warn!(
                count = connections.len(),
                "connections cut off: they did not end"
            );
        }
        connections.shutdown().await;
    }

    /// Serve one connection to its end. Once the server drains, it ends after the running command or
    /// the open transaction.
    pub async fn serve_one(&self, stream: TcpStream) {
        let done = match stream.peer_addr() {
            Ok(address) => connection::run(self, stream, address).await,
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::debug!(%error, "connection lost");
        }
    }

    /// Let open connections end after their command or transaction.
    pub fn begin_to_drain(&self) {
        self.draining.send_replace(true);
    }
}
