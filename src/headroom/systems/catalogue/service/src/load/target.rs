//! The server under load, and how clients log in.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// The server under load.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// A catalogue that speaks AMGA's protocol.
    Amga(AmgaTarget),
    /// PostgreSQL, directly.
    Postgres(PostgresTarget),
    /// Nothing: each operation ends at once, so that the cost of the tool itself is measured.
    Nothing {},
}

/// A catalogue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmgaTarget {
    /// Where it listens.
    pub address: SocketAddr,
    /// The user.
    pub login: String,
    /// The user's password; without one, a certificate or the address must suffice.
    #[serde(default)]
    pub password: Option<Secret>,
    /// Encryption; None: plain.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Whether a new connection resumes the client's session, if the server gave one.
    #[serde(default)]
    pub resumes: bool,
    /// Directory of the entries.
    #[serde(default = "directory")]
    pub directory: String,
}

fn directory() -> String {
    "/bench".to_owned()
}

/// A database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresTarget {
    /// Where it listens.
    pub address: SocketAddr,
    /// The user.
    pub user: String,
    /// The user's password, if the server asks for one.
    #[serde(default)]
    pub password: Option<Secret>,
    /// The database.
    pub database: String,
    /// Encryption; None: plain.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Statements of an insertion; `{name}` and `{guid}` stand for the entry's.
    pub insert: Vec<String>,
    /// Statements of a query; a row of one must hold the GUID.
    pub query: Vec<String>,
}

/// Encryption of connections.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// File with the certificates (PEM) of trusted authorities.
    pub ca: PathBuf,
    /// Name that the server's certificate must have.
    pub name: String,
    /// File with the client's certificate (PEM) and those of its issuers.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// File with the client's key (PEM).
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// Version: 1.2 or 1.3.
    #[serde(default)]
    pub version: TlsVersion,
    /// Whether a new connection shortens its handshake by a ticket of an earlier one.
    #[serde(default)]
    pub resumes: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum TlsVersion {
    /// With two round trips.
    #[serde(rename = "1.2")]
    V12,
    /// With one.
    #[default]
    #[serde(rename = "1.3")]
    V13,
}

/// A text that no message shows.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let target = r#"{"kind": "amga", "address": "127.0.0.1:1", "login": "a", "password": "b"}"#;
        let target: Target = serde_json::from_str(target).unwrap();
        assert!(format!("{target:?}").contains("password: Some(Secret)"));
    }
}
