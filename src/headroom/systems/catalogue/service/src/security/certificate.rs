//! The subject of a client's certificate, in the form of `user_subject_add`.

use std::fmt::Write as _;

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Return the subject in OpenSSL's form of one line, `/C=../O=../CN=..`; nothing if the
/// certificate cannot be read, or a part of its name is not text or could be read as two parts.
pub fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let mut line = String::new();
    for part in certificate.subject().iter_attributes() {
        let value = part.as_str().ok()?;
        let key = short_name(&part.attr_type().to_id_string())?;
        // `host/a.example` is common; `a/CN=b` could be read as two parts.
        if value.contains(char::is_control) || (value.contains('/') && value.contains('=')) {
            return None;
        }
        let _ = write!(line, "/{key}={value}");
    }
    (!line.is_empty()).then_some(line)
}

fn short_name(oid: &str) -> Option<&'static str> {
    Some(match oid {
        "2.5.4.3" => "CN",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "0.9.2342.19200300.100.1.25" => "DC",
        "0.9.2342.19200300.100.1.1" => "UID",
        "1.2.840.113549.1.9.1" => "emailAddress",
        _ => return None,
    })
}
