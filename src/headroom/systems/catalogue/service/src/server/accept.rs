//! Taking connections in.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Connections that wait to be accepted; the system may allow fewer. One that finds no place is opened
/// again after seconds, and one of which the system forgets the last step hangs for half a minute.
const BACKLOG: u32 = 16_384;

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
pub(crate) async fn until<F: Future<Output = io::Result<()>> + Send + 'static>(
    stop: impl Future<Output = ()> + Send,
    places: &Arc<Semaphore>,
    listener: TcpListener,
    connection: impl Fn(TcpStream, SocketAddr) -> F,
) -> JoinSet<()> {
    let mut connections = JoinSet::new();
    let mut refused = Refused::default();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return connections,
            true = next_ended(&mut connections) => {}
            (stream, address) = accept(&listener) => {
                let Ok(place) = Arc::clone(places).try_acquire_owned() else {
                    refused.add(address);
                    continue;
                };
                let running = connection(stream, address);
                connections.spawn(async move {
                    if let Err(error) = running.await {
                        tracing::debug!(%address, %error, "connection lost");
                    }
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

/// Listen for many clients at once: all of them may come while the first ones are accepted.
///
/// # Errors
///
/// If the address cannot be used.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Return whether the client left before it was accepted.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}
