//! Taking connections in.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::{Server, Service, connection};

/// Time until the next try without free file descriptors or memory.
const RETRY_TIME: Duration = Duration::from_millis(50);

/// Time between warnings of one kind.
const WARNING_TIME: Duration = Duration::from_secs(10);

/// Counts refused connections, so that a flood of them does not flood the log.
#[derive(Default)]
struct Refused {
    count: u64,
    warned: Option<Instant>,
}

impl Refused {
    fn add(&mut self, address: SocketAddr) {
        self.count += 1;
        if self.warned.is_none_or(|at| at.elapsed() >= WARNING_TIME) {
            tracing::warn!(count = self.count, %address, "refused: too many connections");
            self.warned = Some(Instant::now());
        }
    }
}

/// Accept connections until `stop` is ready; return those that are open.
pub(super) async fn until<S: Service>(
    stop: impl Future<Output = ()> + Send,
    server: Arc<Server<S>>,
    listener: TcpListener,
    is_draining: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(server.settings.max_connections));
    let mut connections = JoinSet::new();
    let mut refused = Refused::default();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return connections,
            true = next_ended(&mut connections) => {}
            (stream, address) = accept(&listener) => {
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    refused.add(address);
                    continue;
                };
                let (server, is_draining) = (Arc::clone(&server), is_draining.clone());
                connections.spawn(async move {
                    run(&server, stream, address, is_draining).await;
                    drop(place);
                });
            }
        }
    }
}

/// Wait for a connection to end; return whether there was one.
pub(super) async fn next_ended(connections: &mut JoinSet<()>) -> bool {
    let ended = connections.join_next().await;
    if let Some(Err(error)) = &ended
        && error.is_panic()
    {
        tracing::error!("a connection ended by a fault of the server");
    }
    ended.is_some()
}

pub(super) async fn run<S: Service>(
    server: &Server<S>,
    stream: TcpStream,
    address: SocketAddr,
    is_draining: watch::Receiver<bool>,
) {
    if let Err(error) = connection::run(server, stream, address, is_draining).await {
        tracing::debug!(%address, %error, "connection lost");
    }
}

/// Return the next connection. Without free file descriptors `accept` fails at once, again and
/// again, while the client waits in the queue of the kernel: wait for some to close.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_client(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(RETRY_TIME).await;
            }
        }
    }
}

/// Return whether the client left before it was accepted.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}
