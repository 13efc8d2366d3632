//! Signatures of proxies, with the algorithms that TLS allows for certificates.

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls_pki_types::CertificateDer;
use x509_parser::asn1_rs::{Any, FromDer as _};
use x509_parser::prelude::X509Certificate;

use super::{ProxyError, only_sequence, sequence};

const BIT_STRING: u8 = 0x03;

/// The signed part of a certificate, and the signature.
pub(super) struct Signed<'a> {
    message: &'a [u8],
    algorithm: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Signed<'a> {
    pub(super) fn of(
        der: &'a CertificateDer<'_>,
        certificate: &'a X509Certificate<'_>,
    ) -> Result<Self, ProxyError> {
        let message = certificate.tbs_certificate.as_ref();
        let parts = only_sequence(der).and_then(|content| {
            let (algorithm, rest) = sequence(content.get(message.len()..)?)?;
            (rest.first() == Some(&BIT_STRING)).then_some(algorithm)
        });
        let algorithm = parts.ok_or(ProxyError::Unreadable)?;
        let is_whole = certificate.signature_value.unused_bits == 0;
        if !is_whole || certificate.signature_algorithm != certificate.tbs_certificate.signature {
            return Err(ProxyError::Signature);
        }
        Ok(Self {
            message,
            algorithm,
            signature: &certificate.signature_value.data,
        })
    }

    pub(super) fn is_signed_by(
        &self,
        issuer: &X509Certificate<'_>,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> bool {
        let Some((key_kind, key)) = key(issuer) else {
            return false;
        };
        algorithms.all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == self.algorithm
                && algorithm.public_key_alg_id().as_ref() == key_kind
                && algorithm
                    .verify_signature(key, self.message, self.signature)
                    .is_ok()
        })
    }
}

/// Return the identifier of a certificate's kind of key, and the key.
pub(super) fn key<'a>(certificate: &'a X509Certificate<'_>) -> Option<(&'a [u8], &'a [u8])> {
    let info = certificate.public_key();
    let kind = Any::from_der(only_sequence(info.raw)?).ok()?.1.data;
    Some((kind, &info.subject_public_key.data))
}
