//! Proxy certificates: short-lived ones that a user's certificate, or a proxy of it, has signed.
//!
//! Source: RFC 3820, sections 3 and 4; limited proxies are a policy of Globus. The chain must be in
//! order: proxies, the user's certificate (the end entity), then CAs.
//!
//! The invariant: `leading` finds the end entity that `check` has checked, because both count as a
//! proxy whatever has the extension of proxies.

mod name;
mod signature;
#[cfg(test)]
mod tests;
mod verifier;

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::asn1_rs::{Any, Oid, Tag};
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{ASN1Time, FromDer as _, X509Certificate, X509Version};

use signature::Signed;
pub use verifier::ProxyVerifier;

/// Whether proxies are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether a proxy certificate is accepted at all.
    pub is_enabled: bool,
    /// Most proxies in one chain.
    pub max_depth: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_enabled: false,
            max_depth: 8,
        }
    }
}

/// Why a proxy is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// A certificate cannot be read.
    #[error("a certificate cannot be read")]
    Unreadable,
    /// No end entity follows the proxies.
    #[error("the certificate of the user is missing after the proxies")]
    NoUser,
    /// More proxies than the settings allow.
    #[error("too many proxies in a row")]
    TooDeep,
    /// More proxies follow a proxy than its path length allows.
    #[error("more proxies follow a proxy than it allows")]
    PathLength,
    /// The name of a proxy is not that of its issuer and one CN.
    #[error("the name of a proxy does not continue the name of its issuer")]
    Name,
    /// A proxy is not valid yet, or no longer.
    #[error("a proxy has expired or is not valid yet")]
    Time,
    /// A signature is wrong or of an unknown kind.
    #[error("the signature of a proxy is wrong")]
    Signature,
    /// The proxyCertInfo is wrong or states rights other than all or limited ones.
    #[error("the policy of a proxy is not supported")]
    Policy,
    /// An extension that a proxy must not have, or an unknown critical one.
    #[error("a proxy has an extension that is not allowed")]
    Extension,
    /// The key of the issuer, or of the proxy, may not sign.
    #[error("a key in the chain may not be used to sign")]
    KeyUsage,
}

const SEQUENCE: u8 = 0x30;
const INFO: &str = "1.3.6.1.5.5.7.1.14";
const ALL_RIGHTS: &str = "1.3.6.1.5.5.7.21.1";
const LIMITED: &str = "1.3.6.1.4.1.3536.1.1.1.9";

/// The proxies at the begin of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leading {
    /// How many there are; the end entity follows.
    pub count: usize,
    /// Whether one of them is limited.
    pub is_limited: bool,
}

/// Return the proxies at the begin of a checked chain.
pub fn leading(chain: &[CertificateDer<'_>]) -> Leading {
    let mut found = Leading::default();
    for der in chain {
        let info = match X509Certificate::from_der(der) {
            Ok((_, certificate)) if is_proxy(&certificate) => Info::of(&certificate),
            _ => break,
        };
        found.count += 1;
        found.is_limited |= info.is_ok_and(|info| info.is_limited);
    }
    found
}

fn is_proxy(certificate: &X509Certificate<'_>) -> bool {
    let mut extensions = certificate.extensions().iter();
    extensions.any(|extension| extension.oid.to_id_string() == INFO)
}

/// Check the proxies at the begin of a chain, up to the signature of the end entity on the last of
/// them. The end entity itself is checked like any client's certificate.
///
/// # Errors
///
/// The first fault found.
pub fn check(
    chain: &[CertificateDer<'_>],
    max_depth: usize,
    algorithms: &WebPkiSupportedAlgorithms,
    now: UnixTime,
) -> Result<Leading, ProxyError> {
    let leading = leading(chain);
    if leading.count > max_depth {
        return Err(ProxyError::TooDeep);
    }
    if leading.count >= chain.len() {
        return Err(ProxyError::NoUser);
    }
    let parsed = chain[..=leading.count].iter().map(|der| parse(der));
    let parsed: Vec<_> = parsed.collect::<Result<_, _>>()?;
    for (below, pair) in parsed.windows(2).enumerate() {
        let [proxy, issuer] = pair else { continue };
        check_proxy(proxy, below, now)?;
        name::check(proxy, issuer)?;
        check_may_sign(issuer)?;
        let signed = Signed::of(&chain[below], proxy)?;
        if !signed.is_signed_by(issuer, algorithms) {
            return Err(ProxyError::Signature);
        }
    }
    Ok(leading)
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, ProxyError> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err(ProxyError::Unreadable),
    }
}

fn check_proxy(proxy: &X509Certificate<'_>, below: usize, now: UnixTime) -> Result<(), ProxyError> {
    let info = Info::of(proxy)?;
    if info.max_below.is_some_and(|limit| below > limit as usize) {
        return Err(ProxyError::PathLength);
    }
    let now = i64::try_from(now.as_secs()).map_err(|_| ProxyError::Time)?;
    let now = ASN1Time::from_timestamp(now).map_err(|_| ProxyError::Time)?;
    if !proxy.validity().is_valid_at(now) {
        return Err(ProxyError::Time);
    }
    if proxy.version() != X509Version::V3 {
        return Err(ProxyError::Extension);
    }
    check_extensions(proxy)
}

fn check_extensions(proxy: &X509Certificate<'_>) -> Result<(), ProxyError> {
    // A second extension of a kind could contradict the first one.
    proxy
        .tbs_certificate
        .extensions_map()
        .map_err(|_| ProxyError::Extension)?;
    for extension in proxy.extensions() {
        let is_allowed = match extension.parsed_extension() {
            ParsedExtension::BasicConstraints(constraints) => !constraints.ca,
            ParsedExtension::KeyUsage(usage) => usage.digital_signature(),
            ParsedExtension::ExtendedKeyUsage(usage) => usage.any || usage.client_auth,
            ParsedExtension::SubjectAlternativeName(_)
            | ParsedExtension::IssuerAlternativeName(_)
            | ParsedExtension::NameConstraints(_)
            | ParsedExtension::ParseError { .. } => false,
            _ => !extension.critical || extension.oid.to_id_string() == INFO,
        };
        if !is_allowed {
            return Err(ProxyError::Extension);
        }
    }
    Ok(())
}

fn check_may_sign(issuer: &X509Certificate<'_>) -> Result<(), ProxyError> {
    let usage = issuer.key_usage().map_err(|_| ProxyError::Extension)?;
    match usage {
        Some(usage) if !usage.value.digital_signature() => Err(ProxyError::KeyUsage),
        _ => Ok(()),
    }
}

/// The extension of a proxy.
struct Info {
    max_below: Option<u32>,
    is_limited: bool,
}

impl Info {
    fn of(certificate: &X509Certificate<'_>) -> Result<Self, ProxyError> {
        let mut extensions = certificate.extensions().iter();
        let extension = extensions.find(|extension| extension.oid.to_id_string() == INFO);
        let extension = extension.filter(|extension| extension.critical);
        extension
            .and_then(|extension| Self::parse(extension.value))
            .ok_or(ProxyError::Policy)
    }

    /// `ProxyCertInfo`, section 3.8. A policy other than "all rights" and "limited" is refused: it
    /// would grant less than all, or nothing.
    fn parse(value: &[u8]) -> Option<Self> {
        let mut content = only_sequence(value)?;
        let (after, first) = Any::from_der(content).ok()?;
        let mut max_below = None;
        if first.tag() == Tag::Integer {
            max_below = Some(first.u32().ok()?);
            content = after;
        }
        let policy = only_sequence(content)?;
        let ([], language) = Oid::from_der(policy).ok()? else {
            return None;
        };
        match language.to_id_string().as_str() {
            ALL_RIGHTS => Some(false),
            LIMITED => Some(true),
            _ => None,
        }
        .map(|is_limited| Self {
            max_below,
            is_limited,
        })
    }
}

fn only_sequence(der: &[u8]) -> Option<&[u8]> {
    match sequence(der)? {
        (content, []) => Some(content),
        _ => None,
    }
}

/// Return the content of a sequence and what follows. The parser ignores the class of a tag.
fn sequence(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, any) = Any::from_der(der).ok()?;
    (der.first() == Some(&SEQUENCE)).then_some((any.data, rest))
}
