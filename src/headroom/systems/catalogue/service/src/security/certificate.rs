//! Identities in certificates, with subjects in the form of `user_subject_add`.

use std::fmt::Write as _;

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::proxy;

/// The identity of a client that presented certificates, which are checked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Subject of the end entity in OpenSSL's form, `/C=../O=../CN=..`.
    pub subject: String,
    /// Whether a proxy certificate was presented.
    pub is_proxy: bool,
    /// Whether one of the proxies is limited.
    pub is_limited: bool,
}

/// Return the identity of a checked chain; nothing if its subject has no form of one line.
pub fn identity(chain: &[CertificateDer<'_>]) -> Option<Identity> {
    let proxies = proxy::leading(chain);
    Some(Identity {
        subject: subject(chain.get(proxies.count)?)?,
        is_proxy: proxies.count > 0,
        is_limited: proxies.is_limited,
    })
}

/// Return the subject in OpenSSL's form of one line, `/C=../O=../CN=..`; nothing if the
/// certificate cannot be read, or a part of its name is not text or could be read as two parts.
pub fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let mut line = String::new();
    for parts in certificate.subject().iter_rdn() {
        let mut parts = parts.iter();
        // The form shows two attributes of one part like two parts.
        let (Some(part), None) = (parts.next(), parts.next()) else {
            return None;
        };
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
        "2.5.4.5" => "serialNumber",
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

#[cfg(test)]
mod tests {
    use rcgen::{DistinguishedName, DnType};

    use super::*;
    use crate::testing::pki::Ca;

    fn subject_of(parts: &[(DnType, &str)]) -> Option<String> {
        let mut name = DistinguishedName::new();
        for (kind, value) in parts {
            name.push(kind.clone(), *value);
        }
        let change = |params: &mut rcgen::CertificateParams| params.distinguished_name = name;
        subject(&Ca::new("CA").issue_with("alice", 1, change).chain[0])
    }

    #[test]
    fn a_name_has_the_form_of_openssl() {
        let host = [
            (DnType::CountryName, "CH"),
            (DnType::OrganizationName, "Grid"),
            (DnType::CommonName, "host/a.example"),
        ];
        let wanted = "/C=CH/O=Grid/CN=host/a.example";
        assert_eq!(subject_of(&host).as_deref(), Some(wanted));
    }

    #[test]
    fn a_name_that_could_be_read_as_another_has_no_form() {
        for value in ["Grid/CN=alice", "Grid\nCN", "Grid\0"] {
            assert_eq!(subject_of(&[(DnType::OrganizationName, value)]), None);
        }
        let unknown = DnType::CustomDnType(vec![2, 5, 4, 99]);
        assert_eq!(subject_of(&[(unknown, "alice")]), None);
        assert_eq!(subject_of(&[]), None);
    }
}
