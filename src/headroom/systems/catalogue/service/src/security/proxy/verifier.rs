//! A verifier of clients that accepts proxies in front of a certificate that another one accepts.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use x509_parser::prelude::X509Certificate;

use super::signature::key;
use super::{ProxyError, check, is_proxy, parse};

/// Accepts proxies.
#[derive(Debug)]
pub struct ProxyVerifier {
    users: Arc<dyn ClientCertVerifier>,
    max_depth: usize,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ProxyVerifier {
    /// Return a verifier of proxies whose end entities `users` accepts.
    pub fn new(
        users: Arc<dyn ClientCertVerifier>,
        max_depth: usize,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self {
            users,
            max_depth,
            algorithms,
        }
    }

    fn verify_chain(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let leading = check(chain, self.max_depth, &self.algorithms, now).map_err(refused)?;
        let rest = &chain[leading.count..];
        self.users.verify_client_cert(&rest[0], &rest[1..], now)
    }
}

impl ClientCertVerifier for ProxyVerifier {
    fn offer_client_auth(&self) -> bool {
        self.users.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.users.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.users.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if proxy_in(end_entity).is_none() {
            let users = &self.users;
            return users.verify_client_cert(end_entity, intermediates, now);
        }
        let mut chain = vec![end_entity.clone()];
        chain.extend_from_slice(intermediates);
        self.verify_chain(&chain, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match proxy_in(certificate) {
            None => self
                .users
                .verify_tls12_signature(message, certificate, signed),
            Some(proxy) => self.verify_any(message, &proxy, signed),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match proxy_in(certificate) {
            None => self
                .users
                .verify_tls13_signature(message, certificate, signed),
            Some(proxy) => {
                let key = SubjectPublicKeyInfoDer::from(proxy.public_key().raw);
                verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.users.supported_verify_schemes()
    }
}

impl ProxyVerifier {
    /// TLS 1.2 does not state the curve of a signature: try all that fit the scheme and the key.
    fn verify_any(
        &self,
        message: &[u8],
        proxy: &X509Certificate<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let (key_kind, key) = key(proxy).ok_or_else(|| refused(ProxyError::Unreadable))?;
        let mapping = self.algorithms.mapping.iter();
        let mut fitting = mapping
            .filter(|(scheme, _)| *scheme == signed.scheme)
            .flat_map(|(_, algorithms)| *algorithms)
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == key_kind);
        let is_right = fitting.any(|algorithm| {
            algorithm
                .verify_signature(key, message, signed.signature())
                .is_ok()
        });
        if is_right {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }
}

/// Return a certificate if it is a proxy.
fn proxy_in<'a>(certificate: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    parse(certificate).ok().filter(is_proxy)
}

fn refused(error: ProxyError) -> Error {
    CertificateError::Other(OtherError(Arc::new(error))).into()
}
