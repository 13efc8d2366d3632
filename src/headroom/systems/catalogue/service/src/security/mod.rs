//! Who is there.

pub mod certificate;
pub mod password;
pub mod proxy;
mod tickets;
pub mod tls;
pub mod tokens;
mod trust;

use std::net::SocketAddr;

pub use trust::{Reload, Settings, Trust, TrustError};

/// Who asks to be let in, and how that is proved.
pub struct Who {
    /// The name in the login block; empty if there is none.
    pub login: String,
    /// The proof.
    pub proof: Proof,
    /// Where the client is.
    pub address: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
}

/// Proof of the identity of a client. It has no `Debug`, so that no log shows a password.
pub enum Proof {
    /// A password, not checked yet.
    Password(String),
    /// A client certificate, checked.
    Certificate {
        /// Subject of the end entity in OpenSSL's form, `/C=../O=../CN=..`.
        subject: String,
        /// Whether a proxy certificate was presented.
        is_proxy: bool,
        /// Whether one of the proxies is limited.
        is_limited: bool,
    },
    /// A bearer token, checked.
    Token(Claims),
    /// The person of a resumed session.
    Resumed(String),
    /// Nothing.
    Anonymous,
}

/// Claims of a checked token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Issuer.
    pub issuer: String,
    /// Subject.
    pub subject: String,
    /// The person of the catalogue, by the settings' mapping of claims.
    pub person: Option<String>,
}
