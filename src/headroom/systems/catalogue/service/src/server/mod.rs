//! Connections, limits and settings.
//!
//! The invariant: a connection belongs to one task; whatever ends that task (a time limit, a lost
//! client, the drain of the server) rolls back the session's transaction.

mod accept;
mod connection;
mod limits;
mod login;
mod opening;
pub mod sessions;
mod settings;
mod socket;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::refusal::Answer;
use crate::security::{Reload, Trust, Who};
use crate::wire::reply::Reply;
use limits::Places;
use sessions::SessionStore;

pub use accept::accept;
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
    service: S,
    settings: Settings,
    sessions: Arc<dyn SessionStore>,
    trust: Reload,
    addresses: Places<IpAddr>,
    persons: Places<String>,
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
            trust: Reload::new(trust),
            service,
            settings,
            sessions,
        }
    }

    /// Return a handle that exchanges certificates and keys while the server runs.
    pub fn reload(&self) -> Reload {
        self.trust.clone()
    }

    /// Serve until `stop` is ready, then let running commands and open transactions end.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
        let drain_timeout = self.settings.drain_timeout;
        let (draining, is_draining) = watch::channel(false);
        let mut connections = accept::until(stop, Arc::new(self), listener, &is_draining).await;
        draining.send_replace(true);
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
    pub async fn serve_one(self: Arc<Self>, stream: TcpStream, is_draining: watch::Receiver<bool>) {
        match stream.peer_addr() {
            Ok(address) => accept::run(&self, stream, address, is_draining).await,
            Err(error) => tracing::debug!(%error, "connection lost"),
        }
    }
}
