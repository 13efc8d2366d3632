//! A client of PostgreSQL that sends each statement as a text.

use std::pin::Pin;

use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, TlsConnect};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::amga::Access;
use super::failure::Failure;
use super::socket::Socket;
use super::target::PostgresTarget;
use super::tls::Encryption;
use super::transport::Transport;

type Ended = Result<(), tokio_postgres::Error>;

/// An open connection.
pub struct Connection {
    client: Client,
    /// Carries messages between client and socket.
    carrier: Pin<Box<dyn Future<Output = Ended>>>,
}

impl Connection {
    /// Connect and log in.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses.
    pub async fn open(target: &PostgresTarget, access: &Access) -> Result<Self, Failure> {
        let Access {
            encryption,
            poller,
            client,
            meter,
        } = access;
        let socket = Socket::connect(target.address, poller, *client, meter).await?;
        let mut config = Config::new();
        config.user(&target.user).dbname(&target.database);
        if let Some(password) = &target.password {
            config.password(&password.0);
        }
        match encryption {
            None => {
                config.ssl_mode(SslMode::Disable);
                let (client, carrier) = config.connect_raw(socket, NoTls).await.map_err(failure)?;
                Ok(Self::new(client, carrier))
            }
            Some(encryption) => {
                config.ssl_mode(SslMode::Require);
                let tls = Tls(encryption.clone());
                let (client, carrier) = config.connect_raw(socket, tls).await.map_err(failure)?;
                Ok(Self::new(client, carrier))
            }
        }
    }

    fn new(client: Client, carrier: impl Future<Output = Ended> + 'static) -> Self {
        let carrier = Box::pin(carrier);
        Self { client, carrier }
    }

    /// Send `text` and return whether a value of the rows is `wanted`.
    ///
    /// # Errors
    ///
    /// If the server refuses or does not answer.
    pub async fn exchange(&mut self, text: &str, wanted: &str) -> Result<bool, Failure> {
        let query = self.client.simple_query(text);
        tokio::select! {
            biased;
            answer = query => {
                let messages = answer.map_err(failure)?;
                Ok(messages.iter().any(|message| has(message, wanted)))
            }
            ended = &mut self.carrier => Err(ended.map_or_else(failure, |()| Failure::Closed)),
        }
    }

    /// Say goodbye.
    pub async fn close(self) {
        drop(self.client);
        let _ = self.carrier.await;
    }
}

fn has(message: &SimpleQueryMessage, wanted: &str) -> bool {
    match message {
        SimpleQueryMessage::Row(row) => (0..row.len()).any(|place| row.get(place) == Some(wanted)),
        _ => false,
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: tokio_postgres::Error) -> Failure {
    use std::error::Error as _;

    if let Some(refusal) = error.as_db_error() {
        return Failure::Statement {
            state: refusal.code().code().to_owned(),
            message: refusal.message().to_owned(),
        };
    }
    if error.is_closed() {
        return Failure::Closed;
    }
    let cause = error.source();
    if let Some(failure) = cause.and_then(|cause| cause.downcast_ref::<Failure>()) {
        return failure.clone();
    }
    match cause.and_then(|cause| cause.downcast_ref::<std::io::Error>()) {
        Some(call) => Failure::of_call(call),
        None => Failure::NotAReply(error.to_string()),
    }
}

/// Encrypts with the same settings as the catalogue's clients.
struct Tls(Encryption);

impl TlsConnect<Socket> for Tls {
    type Stream = Transport;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Transport, Failure>>>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = self.0.begin(socket).await?;
            Ok(Transport::Tls(Box::new(stream)))
        })
    }
}

impl tokio_postgres::tls::TlsStream for Transport {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
