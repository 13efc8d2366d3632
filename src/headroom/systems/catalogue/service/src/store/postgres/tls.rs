//! Where a server is and how its certificate is checked.
//!
//! The settings in its URL are those of [`split_tls`].

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Config, Socket};
use tokio_rustls::{TlsConnector, client};

use super::super::error::StoreError;
use super::super::settings::split_tls;

/// A server.
pub struct Target {
    /// How to connect.
    pub config: Config,
    /// How to encrypt.
    pub tls: Tls,
}

impl Target {
    /// Return the server of a URL.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (url, roots) = split_tls(url)?;
        // The error of the library may repeat the password.
        let unclear = |_| StoreError::Fault("the URL of PostgreSQL cannot be read".to_owned());
        let mut config: Config = url.parse().map_err(unclear)?;
        let tls = Tls(roots.as_deref().map(connector).transpose()?);
        let has_tls = tls.0.is_some();
        config.ssl_mode(if has_tls {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        Ok(Self { config, tls })
    }
}

fn connector(path: &str) -> Result<TlsConnector, StoreError> {
    let unusable = |reason: &dyn std::fmt::Display| {
        StoreError::Fault(format!("`sslrootcert={path}`: {reason}; give a PEM file"))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"no certificate"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Encrypts connections, unless it holds nothing.
#[derive(Clone)]
pub struct Tls(Option<TlsConnector>);

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        // The library asks for it even if it does not use TLS.
        Ok(Handshake(self.0.clone(), host.to_owned()))
    }
}

/// A handshake with a host.
pub struct Handshake(Option<TlsConnector>, String);

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = self.0.ok_or(io::ErrorKind::Unsupported)?;
            let host = ServerName::try_from(self.1).map_err(io::Error::other)?;
            Ok(Encrypted(Box::new(connector.connect(host, socket).await?)))
        })
    }
}

/// An encrypted connection.
pub struct Encrypted(Box<client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
