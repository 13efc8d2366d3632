//! TLS 1.2 and 1.3 with files for certificate, key, CAs, CRLs and keys of tickets.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ProducesTickets, WebPkiClientVerifier};
use rustls::{CipherSuite, HandshakeKind, RootCertStore, ServerConfig, ServerConnection};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::TrustError;
use super::certificate::{Identity, identity};
use super::proxy::{self, ProxyVerifier};
use super::tickets::Tickets;
use crate::refusal::{Answer, Code, Refusal};

/// Files and rules of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The server's certificate and its chain (PEM).
    pub certificate: PathBuf,
    /// The server's private key (PEM).
    pub key: PathBuf,
    /// CAs of clients: a PEM file, or a folder of files `*.pem` and `*.0`. Without them, the
    /// server requests no certificates.
    pub client_cas: Option<PathBuf>,
    /// Revoked certificates of clients: a PEM file, or a folder of files `*.pem` and `*.r0`.
    pub crls: Option<PathBuf>,
    /// Whether a client's certificate is accepted if no CRL is there for its CA.
    pub is_missing_crl_allowed: bool,
    /// Whether a CRL counts after its next update is due.
    pub is_expired_crl_allowed: bool,
    /// Proxy certificates.
    pub proxies: proxy::Settings,
    /// Keys of session tickets that servers share. Without them, a session can be resumed at this
    /// server only, until it reloads.
    pub ticket_keys: Option<PathBuf>,
    /// How long a session can be resumed, if there are keys. The maximum is 7 days.
    pub ticket_lifetime: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            client_cas: None,
            crls: None,
            is_missing_crl_allowed: false,
            is_expired_crl_allowed: false,
            proxies: proxy::Settings::default(),
            ticket_keys: None,
            ticket_lifetime: Duration::from_secs(12 * 3600),
        }
    }
}

/// Accepts TLS connections.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

impl Tls {
    /// Read the files. A client may then present a certificate of one of the CAs; one of another CA
    /// ends the handshake.
    ///
    /// # Errors
    ///
    /// If a file is missing, is not PEM, or does not fit the others.
    pub fn load(settings: &Settings) -> Result<Self, TrustError> {
        let mut provider = ring::default_provider();
        // Processors have instructions for AES and SHA-256, but few have them for SHA-384, with
        // which a handshake takes a twentieth longer.
        let quickest = CipherSuite::TLS13_AES_128_GCM_SHA256;
        provider
            .cipher_suites
            .sort_by_key(|suite| suite.suite() != quickest);
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let clients = clients(settings, &provider)?;
        let builder = match &clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(Arc::clone(clients)),
        };
        let key = PrivateKeyDer::from_pem_file(&settings.key)
            .map_err(|error| TrustError::file(&settings.key, error))?;
        let chain = items::<CertificateDer<'static>>(&settings.certificate, &[])?;
        let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
        config.ticketer = ticketer(settings)?;
        config.ignore_client_order = true;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            clients,
        })
    }

    /// Do the handshake. The client's identity is refused, in a connection that works, if it was
    /// valid when the resumed session began, but is no longer.
    ///
    /// # Errors
    ///
    /// If the handshake fails.
    pub async fn accept<T: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: T,
    ) -> io::Result<(TlsStream<T>, Answer<Option<Identity>>)> {
        let stream = self.acceptor.accept(stream).await?;
        let identity = self.identity(stream.get_ref().1);
        Ok((stream, identity))
    }

    fn identity(&self, connection: &ServerConnection) -> Answer<Option<Identity>> {
        let (Some(clients), Some([first, rest @ ..])) =
            (&self.clients, connection.peer_certificates())
        else {
            return Ok(None);
        };
        // A full handshake has checked the chain; a ticket only says that it was checked once.
        if connection.handshake_kind() != Some(HandshakeKind::Full)
            && connection.handshake_kind() != Some(HandshakeKind::FullWithHelloRetryRequest)
        {
            clients
                .verify_client_cert(first, rest, UnixTime::now())
                .map_err(|error| no_longer_valid(&error))?;
        }
        let chain = connection.peer_certificates().unwrap_or_default();
        Ok(identity(chain))
    }
}

fn no_longer_valid(error: &rustls::Error) -> Refusal {
    let message = format!("the certificate of the resumed session is not valid now: {error}");
    Refusal::new(Code::LoginRefused, message)
}

fn clients(
    settings: &Settings,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TrustError> {
    let Some(path) = &settings.client_cas else {
        return Ok(None);
    };
    let mut roots = RootCertStore::empty();
    for ca in items::<CertificateDer<'static>>(path, &["pem", "0"])? {
        roots
            .add(ca)
            .map_err(|error| TrustError::file(path, error))?;
    }
    let mut builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .allow_unauthenticated();
    if let Some(path) = &settings.crls {
        builder = builder.with_crls(items::<CertificateRevocationListDer<'static>>(
            path,
            &["pem", "r0"],
        )?);
        if !settings.is_expired_crl_allowed {
            builder = builder.enforce_revocation_expiration();
        }
    }
    if settings.is_missing_crl_allowed {
        builder = builder.allow_unknown_revocation_status();
    }
    let users = builder.build().map_err(unusable)?;
    if !settings.proxies.is_enabled {
        return Ok(Some(users));
    }
    let algorithms = provider.signature_verification_algorithms;
    let proxies = ProxyVerifier::new(users, settings.proxies.max_depth, algorithms);
    Ok(Some(Arc::new(proxies)))
}

fn ticketer(settings: &Settings) -> Result<Arc<dyn ProducesTickets>, TrustError> {
    match &settings.ticket_keys {
        Some(path) => Ok(Arc::new(Tickets::load(path, settings.ticket_lifetime)?)),
        None => ring::Ticketer::new().map_err(unusable),
    }
}

/// Read the items of a PEM file, or of a folder's files with one of these extensions.
fn items<T: PemObject>(path: &Path, extensions: &[&str]) -> Result<Vec<T>, TrustError> {
    let mut all = Vec::new();
    for path in files(path, extensions)? {
        let fault = |error| TrustError::file(&path, error);
        for item in T::pem_file_iter(&path).map_err(fault)? {
            all.push(item.map_err(fault)?);
        }
    }
    if all.is_empty() {
        return Err(TrustError::file(path, "there is nothing of the kind in it"));
    }
    Ok(all)
}

fn files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, TrustError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fault = |error: io::Error| TrustError::file(path, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fault)? {
        let file = entry.map_err(fault)?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extensions.contains(&extension)) {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

fn unusable(reason: impl fmt::Display) -> TrustError {
    TrustError::Unusable(reason.to_string())
}
