//! TLS 1.2 and 1.3 with a certificate and a key from files.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be used.
    #[error("`{path}`: {reason}; give a PEM file")]
    File {
        /// The file.
        path: String,
        /// The fault.
        reason: String,
    },
    /// The certificate and the key do not fit, or no CA is usable.
    #[error("the certificate cannot be used: {0}")]
    Unusable(String),
}

/// Return the acceptor of TLS connections. With `client_cas`, a client may present a certificate of one
/// of these CAs; one of another CA ends the handshake.
///
/// # Errors
///
/// If a file is missing, is not PEM, or does not fit the others.
pub fn acceptor(
    certificate: &Path,
    key: &Path,
    client_cas: Option<&Path>,
) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match client_cas {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for ca in certificates(path)? {
                roots.add(ca).map_err(unusable)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier.allow_unauthenticated().build().map_err(unusable)?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| file(key, error))?;
    let config = builder.with_single_cert(certificates(certificate)?, private);
    Ok(TlsAcceptor::from(Arc::new(config.map_err(unusable)?)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| file(path, error))
}

fn file(path: &Path, reason: impl std::fmt::Display) -> TlsError {
    let (path, reason) = (path.display().to_string(), reason.to_string());
    TlsError::File { path, reason }
}

fn unusable(reason: impl std::fmt::Display) -> TlsError {
    TlsError::Unusable(reason.to_string())
}
