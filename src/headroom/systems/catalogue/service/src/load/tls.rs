//! The client's side of TLS.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::LoadError;
use super::failure::Failure;
use super::meter::{Meter, add};
use super::target::{Tls, TlsVersion};

/// Makes the connections of one client encrypted.
#[derive(Clone)]
pub struct Encryption {
    connector: TlsConnector,
    name: ServerName<'static>,
    meter: Rc<Meter>,
}

/// Settings that the clients of a process share.
pub struct Shared {
    config: ClientConfig,
    name: ServerName<'static>,
    resumes: bool,
}

impl Shared {
    /// Return the settings of a job.
    ///
    /// # Errors
    ///
    /// If a file is missing, is not PEM, or does not fit the others.
    pub fn new(tls: &Tls) -> Result<Self, LoadError> {
        let mut roots = RootCertStore::empty();
        for ca in certificates(&tls.ca)? {
            roots.add(ca).map_err(|error| file(&tls.ca, error))?;
        }
        let version = match tls.version {
            TlsVersion::V12 => &TLS12,
            TlsVersion::V13 => &TLS13,
        };
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .map_err(|error| LoadError::job(error.to_string()))?
            .with_root_certificates(roots);
        let config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => {
                let private =
                    PrivateKeyDer::from_pem_file(key).map_err(|error| file(key, error))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, private)
                    .map_err(|error| file(certificate, error))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err(LoadError::job("a client certificate needs its key")),
        };
        let name = ServerName::try_from(tls.name.clone());
        Ok(Self {
            config,
            name: name.map_err(|error| LoadError::job(format!("`{}`: {error}", tls.name)))?,
            resumes: tls.resumes,
        })
    }

    /// Return the encryption of a client. Each has its own tickets: a few clients would exhaust a
    /// shared store.
    pub fn for_client(&self, meter: &Rc<Meter>) -> Encryption {
        let mut config = self.config.clone();
        config.resumption = if self.resumes {
            Resumption::in_memory_sessions(1)
        } else {
            Resumption::disabled()
        };
        Encryption {
            connector: TlsConnector::from(Arc::new(config)),
            name: self.name.clone(),
            meter: Rc::clone(meter),
        }
    }
}

impl Encryption {
    /// Do the handshake on `stream`.
    ///
    /// # Errors
    ///
    /// If the server or its certificate is refused, or refuses.
    pub async fn begin<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> Result<TlsStream<S>, Failure> {
        let connecting = self.connector.connect(self.name.clone(), stream);
        let stream = connecting.await.map_err(|error| match error.get_ref() {
            Some(inner) => Failure::Tls(inner.to_string()),
            None => Failure::of_call(&error),
        })?;
        let count = match stream.get_ref().1.handshake_kind() {
            Some(HandshakeKind::Resumed) => &self.meter.resumed_handshakes,
            _ => &self.meter.full_handshakes,
        };
        add(count, 1);
        Ok(stream)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| file(path, error))
}

fn file(path: &Path, reason: impl std::fmt::Display) -> LoadError {
    LoadError::File {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}
