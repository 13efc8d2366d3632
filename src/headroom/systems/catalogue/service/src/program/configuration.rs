//! The settings of the program, a TOML file. Times are in seconds, sizes in bytes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headroom_catalogue::security::{self, proxy, tls, tokens};
use headroom_catalogue::server::sessions::Sessions;
use headroom_catalogue::wire::lines::Limits;
use headroom_catalogue::{catalogue, http, server, store};
use serde::{Deserialize, Serialize};

/// Tables without defaults, as comments below the others.
pub const OPTIONAL: &str = "
# [tls]
# certificate = 'server.pem'
# key = 'server.key'
# client_cas = 'cas.pem'
# crls = 'crls.pem'
# is_missing_crl_allowed = false
# allows_proxies = false
# ticket_keys = 'tickets'

# [http]
# listen = '127.0.0.1:8880'
# allows_plain = false
# are_metrics_open = true
# max_body_bytes = 8388608
# max_page = 1000
# request_timeout_s = 60

# [[token]]
# issuer = 'https://issuer.example'
# audiences = ['https://catalogue.example']
# keys = 'keys.json'
# scope = 'catalogue'
# person_claim = 'sub'
";

/// Rows of a page at most: their names are parameters of a statement, and databases limit those.
const MAX_PAGE: usize = 30_000;

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("`{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// The fault.
        reason: String,
    },
    /// A setting cannot be used.
    #[error("`{key}`: {reason}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// The fault.
        reason: String,
    },
}

/// All settings.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// Connections of clients.
    pub server: ServerTable,
    /// Databases.
    pub database: DatabaseTable,
    /// Users.
    pub catalogue: CatalogueTable,
    /// Encryption; without it only plain connections are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsTable>,
    /// HTTP; without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTable>,
    /// Issuers of bearer tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token: Vec<TokenTable>,
}

/// The table `server`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerTable {
    /// Where the server listens; port 0: a free one, which is printed.
    pub listen: SocketAddr,
    /// First line of the greeting.
    pub name: String,
    /// Number of the protocol, 1 or 2.
    pub protocol: u8,
    /// Session ids: `no`, `allow` or `force`.
    pub sessions: String,
    /// How long a session can be resumed (s).
    pub session_lifetime_s: u64,
    /// Whether plain connections are refused.
    pub is_tls_required: bool,
    /// Number of the login line with a bearer token.
    pub token_number: u8,
    /// Networks of balancers, whose connections begin with a PROXY header, version 2.
    pub balancers: Vec<String>,
    /// Connections at once.
    pub max_connections: usize,
    /// Connections at once of an address.
    pub max_connections_per_address: usize,
    /// Connections at once of a person.
    pub max_connections_per_person: usize,
    /// Longest line (B).
    pub max_line_bytes: usize,
    /// Time from the first bytes of a line to its end (s).
    pub line_timeout_s: u64,
    /// Least speed of a client that sends a long line (B/s).
    pub min_bytes_per_s: u32,
    /// Time for greeting, TLS and login (s).
    pub opening_timeout_s: u64,
    /// Time between commands (s).
    pub idle_timeout_s: u64,
    /// Time for a reply to leave (s).
    pub write_timeout_s: u64,
    /// Time that open transactions have when the server stops (s).
    pub drain_timeout_s: u64,
    /// Threads; 0: one for each processor.
    pub threads: usize,
    /// Processes at once, each of which serves one client with a database connection of its own, as
    /// in AMGA; further clients wait. The three limits of connections do not count then. 0: no
    /// processes, and a pool of database connections for all clients.
    pub processes: usize,
    /// Processes that are there before the first client comes.
    pub processes_at_start: usize,
}

impl Default for ServerTable {
    fn default() -> Self {
        let known = server::Settings::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8822)),
            name: known.name,
            protocol: known.protocol,
            sessions: "no".to_owned(),
            session_lifetime_s: 3600,
            is_tls_required: known.is_tls_required,
            token_number: known.token_number,
            balancers: Vec::new(),
            max_connections: known.max_connections,
            max_connections_per_address: known.max_connections_per_address,
            max_connections_per_person: known.max_connections_per_person,
            max_line_bytes: known.lines.max_line_bytes,
            line_timeout_s: known.lines.line_timeout.as_secs(),
            min_bytes_per_s: known.lines.min_bytes_per_s,
            opening_timeout_s: known.opening_timeout.as_secs(),
            idle_timeout_s: known.idle_timeout.as_secs(),
            write_timeout_s: known.write_timeout.as_secs(),
            drain_timeout_s: known.drain_timeout.as_secs(),
            threads: 0,
            processes: 0,
            processes_at_start: 2,
        }
    }
}

/// The table `database`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseTable {
    /// `sqlite:PATH`, `postgres://…` or `mysql://…`; several divide the directories among them.
    pub urls: Vec<String>,
    /// Connections to each database.
    pub max_connections: usize,
    /// Longest wait for a connection (s).
    pub wait_timeout_s: u64,
    /// Longest wait for a lock (s).
    pub lock_timeout_s: u64,
    /// Longest time of a statement (s).
    pub statement_timeout_s: u64,
    /// How often a transaction is repeated after a conflict.
    pub max_retries: u32,
}

impl Default for DatabaseTable {
    fn default() -> Self {
        let known = store::Settings::default();
        Self {
            urls: vec!["sqlite:catalogue.db".to_owned()],
            max_connections: known.max_connections,
            wait_timeout_s: known.wait_timeout.as_secs(),
            lock_timeout_s: known.lock_timeout.as_secs(),
            statement_timeout_s: known.statement_timeout.as_secs(),
            max_retries: known.max_retries,
        }
    }
}

/// The table `catalogue`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueTable {
    /// Whether passwords are taken over plain connections.
    pub allows_plain_passwords: bool,
    /// The user of clients that prove nothing; empty: they are refused.
    pub guest: String,
    /// Whether limited proxy certificates are accepted.
    pub allows_limited_proxies: bool,
    /// Directories that the server remembers.
    pub max_directories: usize,
    /// Passwords that are checked at once.
    pub max_password_checks: usize,
    /// Commands that take longer are shown on the admin page (ms).
    pub slow_after_ms: u64,
}

impl Default for CatalogueTable {
    fn default() -> Self {
        let known = catalogue::Settings::default();
        Self {
            allows_plain_passwords: known.allows_plain_passwords,
            guest: String::new(),
            allows_limited_proxies: known.allows_limited_proxies,
            max_directories: known.max_directories,
            max_password_checks: known.max_password_checks,
            slow_after_ms: u64::try_from(known.slow_after.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The table `tls`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// The server's certificate and its chain (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
    /// CAs of clients: a file or a folder.
    pub client_cas: Option<PathBuf>,
    /// Revoked certificates: a file or a folder.
    pub crls: Option<PathBuf>,
    /// Whether a CA may have no list of revoked certificates.
    #[serde(default)]
    pub is_missing_crl_allowed: bool,
    /// Whether proxy certificates are accepted.
    #[serde(default)]
    pub allows_proxies: bool,
    /// Keys of session tickets that servers share.
    pub ticket_keys: Option<PathBuf>,
}

/// The table `http`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTable {
    /// Where the server listens; port 0: a free one, which is printed.
    pub listen: SocketAddr,
    /// Whether others than this machine may be served without TLS.
    #[serde(default)]
    pub allows_plain: bool,
    /// Whether everyone gets `/metrics`, not root alone.
    pub are_metrics_open: Option<bool>,
    /// Longest body of a request, and of a page of entries (B).
    pub max_body_bytes: Option<usize>,
    /// Entries of a page.
    pub max_page: Option<usize>,
    /// Time for a request (s).
    pub request_timeout_s: Option<u64>,
}

/// A table `token`: an issuer.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenTable {
    /// The claim `iss`.
    pub issuer: String,
    /// One of these is in the claim `aud`.
    pub audiences: Vec<String>,
    /// File with its public keys, a JSON web key set.
    pub keys: PathBuf,
    /// A scope that a token needs.
    pub scope: Option<String>,
    /// The claim that names the user.
    pub person_claim: Option<String>,
}

impl Configuration {
    /// Return the settings of a file; without one, the defaults.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has a key that does not exist.
    pub fn read(path: Option<&Path>) -> Result<Self, ConfigurationError> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let fault = |reason: String| ConfigurationError::File {
            path: path.display().to_string(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        toml::from_str(&text).map_err(|error| fault(error.to_string()))
    }

    /// Return how the server behaves.
    ///
    /// # Errors
    ///
    /// If a setting cannot be used.
    pub fn server(&self) -> Result<server::Settings, ConfigurationError> {
        let table = &self.server;
        if !matches!(table.protocol, 1 | 2) {
            return Err(unusable("server.protocol", "use 1 or 2"));
        }
        let balancers = table.balancers.iter().map(|network| {
            let parsed = network.parse();
            parsed.map_err(|error| unusable("server.balancers", format!("`{network}`: {error}")))
        });
        Ok(server::Settings {
            name: table.name.clone(),
            protocol: table.protocol,
            sessions: match table.sessions.as_str() {
                "no" => Sessions::No,
                "allow" => Sessions::Allow,
                "force" => Sessions::Force,
                _ => return Err(unusable("server.sessions", "use `no`, `allow` or `force`")),
            },
            is_tls_required: table.is_tls_required,
            token_number: table.token_number,
            balancers: balancers.collect::<Result<_, _>>()?,
            max_connections: table.max_connections,
            max_connections_per_address: table.max_connections_per_address,
            max_connections_per_person: table.max_connections_per_person,
            lines: Limits {
                max_line_bytes: table.max_line_bytes,
                line_timeout: Duration::from_secs(table.line_timeout_s),
                min_bytes_per_s: table.min_bytes_per_s,
            },
            opening_timeout: Duration::from_secs(table.opening_timeout_s),
            idle_timeout: Duration::from_secs(table.idle_timeout_s),
            write_timeout: Duration::from_secs(table.write_timeout_s),
            drain_timeout: Duration::from_secs(table.drain_timeout_s),
            ..server::Settings::default()
        })
    }

    /// Return the databases.
    ///
    /// # Errors
    ///
    /// If one cannot be understood.
    pub fn store(&self) -> Result<store::Settings, ConfigurationError> {
        let table = &self.database;
        let databases = table.urls.iter().map(|url| {
            let parsed = url.parse();
            parsed.map_err(|error: store::StoreError| unusable("database.urls", error.to_string()))
        });
        Ok(store::Settings {
            databases: databases.collect::<Result<_, _>>()?,
            max_connections: table.max_connections,
            wait_timeout: Duration::from_secs(table.wait_timeout_s),
            lock_timeout: Duration::from_secs(table.lock_timeout_s),
            statement_timeout: Duration::from_secs(table.statement_timeout_s),
            max_retries: table.max_retries,
            ..store::Settings::default()
        })
    }

    /// Return how users are treated.
    pub fn catalogue(&self) -> catalogue::Settings {
        let table = &self.catalogue;
        catalogue::Settings {
            allows_plain_passwords: table.allows_plain_passwords,
            guest: Some(table.guest.clone()).filter(|name| !name.is_empty()),
            allows_limited_proxies: table.allows_limited_proxies,
            max_directories: table.max_directories,
            max_password_checks: table.max_password_checks,
            slow_after: Duration::from_millis(table.slow_after_ms),
        }
    }

    /// Return where and how HTTP is served, if it is.
    ///
    /// # Errors
    ///
    /// If requests of other machines would come without TLS.
    pub fn http(&self) -> Result<Option<(SocketAddr, http::Settings)>, ConfigurationError> {
        let Some(table) = &self.http else {
            return Ok(None);
        };
        if self.tls.is_none() && !table.allows_plain && !table.listen.ip().is_loopback() {
            let reason = "other machines would be served without TLS: add a table `tls`, listen on \
                127.0.0.1, or set `http.allows_plain`";
            return Err(unusable("http.listen", reason));
        }
        let known = http::Settings::default();
        let timeout = table.request_timeout_s.map(Duration::from_secs);
        let settings = http::Settings {
            max_body_bytes: table.max_body_bytes.unwrap_or(known.max_body_bytes),
            max_page: table.max_page.unwrap_or(known.max_page).clamp(1, MAX_PAGE),
            request_timeout: timeout.unwrap_or(known.request_timeout),
            are_metrics_open: table.are_metrics_open.unwrap_or(known.are_metrics_open),
        };
        Ok(Some((table.listen, settings)))
    }

    /// Return whom the server trusts.
    pub fn trust(&self) -> security::Settings {
        let tls = self.tls.as_ref().map(|table| tls::Settings {
            certificate: table.certificate.clone(),
            key: table.key.clone(),
            client_cas: table.client_cas.clone(),
            crls: table.crls.clone(),
            is_missing_crl_allowed: table.is_missing_crl_allowed,
            proxies: proxy::Settings {
                is_enabled: table.allows_proxies,
                ..proxy::Settings::default()
            },
            ticket_keys: table.ticket_keys.clone(),
            ..tls::Settings::default()
        });
        let issuers = self.token.iter().map(|table| tokens::Issuer {
            issuer: table.issuer.clone(),
            audiences: table.audiences.clone(),
            keys: table.keys.clone(),
            scope: table.scope.clone(),
            person_claim: table.person_claim.clone(),
        });
        security::Settings {
            tls,
            tokens: tokens::Settings {
                issuers: issuers.collect(),
                ..tokens::Settings::default()
            },
        }
    }
}

fn unusable(key: &'static str, reason: impl Into<String>) -> ConfigurationError {
    let reason = reason.into();
    ConfigurationError::Setting { key, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_a_file_that_can_be_read() {
        let text = toml::to_string(&Configuration::default()).unwrap();
        let read: Configuration = toml::from_str(&text).unwrap();
        assert_eq!(read.server.listen.port(), 8822);
        assert!(read.server().is_ok());
        assert!(read.store().is_ok());
    }

    #[test]
    fn the_optional_tables_can_be_read_without_their_marks() {
        let text = OPTIONAL.replace("# ", "");
        let read: Configuration = toml::from_str(&text).unwrap();
        assert!(read.http().unwrap().is_some());
        let trust = read.trust();
        assert_eq!(trust.tls.unwrap().key.to_str(), Some("server.key"));
        assert_eq!(trust.tokens.issuers.len(), 1);
    }

    #[test]
    fn a_setting_that_does_not_exist_is_named() {
        let read = toml::from_str::<Configuration>("[server]\nmax_conections = 5\n");
        let fault = read.unwrap_err().to_string();
        assert!(fault.contains("max_conections"), "{fault}");
        assert!(fault.contains("max_connections"), "{fault}");
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named() {
        let of = |text: &str| toml::from_str::<Configuration>(text).unwrap();
        for (text, key) in [
            ("[server]\nsessions = 'maybe'", "server.sessions"),
            ("[server]\nprotocol = 3", "server.protocol"),
            ("[server]\nbalancers = ['a/b']", "server.balancers"),
        ] {
            let fault = of(text).server().unwrap_err().to_string();
            assert!(fault.contains(key), "{fault}");
        }
        let fault = of("[database]\nurls = ['oracle://x']").store().unwrap_err();
        assert!(fault.to_string().contains("database.urls"), "{fault}");
    }
}
