//! Which databases a store uses, and its limits.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::error::StoreError;
use super::sql::Dialect;

/// How a store behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The databases, all of one dialect: the first is shard 0.
    pub databases: Vec<Database>,
    /// Connections to each database. SQLite has one writer and at least one reader.
    pub max_connections: usize,
    /// Longest wait for a free connection, a new one included.
    pub wait_timeout: Duration,
    /// Longest wait for a row, a table or a file that another transaction holds.
    pub lock_timeout: Duration,
    /// Longest time of a statement.
    pub statement_timeout: Duration,
    /// How often a transaction is repeated after a conflict or a lost connection.
    pub max_retries: u32,
    /// Prepared statements that each connection keeps.
    pub max_statements: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            databases: Vec::new(),
            max_connections: 8,
            wait_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(60),
            max_retries: 5,
            max_statements: 256,
        }
    }
}

impl Settings {
    /// Return the dialect of all databases.
    ///
    /// # Errors
    ///
    /// If there are no databases, two dialects, no connection or no statement.
    pub fn dialect(&self) -> Result<Dialect, StoreError> {
        let fault = |message: &str| Err(StoreError::Fault(message.to_owned()));
        let Some(first) = self.databases.first() else {
            return fault("no database is named; give at least one, such as `sqlite:catalogue.db`");
        };
        let dialect = first.dialect();
        if self.databases.iter().any(|next| next.dialect() != dialect) {
            return fault("the databases have several dialects; give databases of one");
        }
        if self.max_connections == 0 || self.max_statements == 0 {
            return fault("`max_connections` and `max_statements` must be at least 1");
        }
        Ok(dialect)
    }
}

/// A database. Its text may hold a password, so `Debug` and `Display` show only its kind and place.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A URL of PostgreSQL.
    Postgres(String),
    /// A URL of MariaDB.
    Mysql(String),
}

impl Database {
    /// Return its dialect.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
            Self::Mysql(_) => Dialect::Mysql,
        }
    }
}

impl FromStr for Database {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        match scheme {
            "sqlite" if text.len() > "sqlite:".len() => {
                Ok(Self::Sqlite(text["sqlite:".len()..].into()))
            }
            "postgres" | "postgresql" => Ok(Self::Postgres(text.to_owned())),
            "mysql" | "mariadb" => Ok(Self::Mysql(text.replacen(scheme, "mysql", 1))),
            _ => Err(StoreError::Fault(
                "a database must be `sqlite:PATH`, `postgres://…` or `mysql://…`".to_owned(),
            )),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(out, "sqlite:{}", path.display()),
            Self::Postgres(url) => write!(out, "postgres://{}", place(url)),
            Self::Mysql(url) => write!(out, "mysql://{}", place(url)),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Return a URL without its settings of TLS, and the file of the CAs that its server's certificate is
/// checked with, if connections are to be encrypted.
///
/// A URL with `sslrootcert=FILE` wants TLS and a certificate of one of these CAs for the name of the
/// host; `sslmode=disable`, the default without that file, wants none. There is no TLS that trusts
/// every certificate: it does not protect from attackers who change packets.
pub(super) fn split_tls(url: &str) -> Result<(String, Option<String>), StoreError> {
    let (place, settings) = url.split_once('?').unwrap_or((url, ""));
    let mut roots = None;
    let mut mode = None;
    let mut others = Vec::new();
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        match setting.split_once('=') {
            Some(("sslrootcert", path)) => roots = Some(path.to_owned()),
            Some(("sslmode", value)) => mode = Some(value),
            _ => others.push(setting),
        }
    }
    match (mode, &roots) {
        (None | Some("disable"), None)
        | (None | Some("require" | "verify-ca" | "verify-full"), Some(_)) => {
            Ok((format!("{place}?{}", others.join("&")), roots))
        }
        _ => {
            let mode = mode.unwrap_or_default();
            Err(StoreError::Fault(format!(
                "`sslmode={mode}` does not fit; give `sslrootcert=FILE` to use TLS, or \
                 `sslmode=disable`"
            )))
        }
    }
}

/// Return host, port and name: a URL without user, password and settings.
fn place(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    rest.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_by_its_url_and_shown_without_its_password() {
        let database: Database = "postgres://me:se@cret@db.example/name?x=1".parse().unwrap();
        assert_eq!(database.dialect(), Dialect::Postgres);
        assert_eq!(format!("{database:?}"), "postgres://db.example/name");
        let database: Database = "sqlite:some/file.db".parse().unwrap();
        assert_eq!(database, Database::Sqlite("some/file.db".into()));
        let database: Database = "mariadb://me@db/name".parse().unwrap();
        assert_eq!(database, Database::Mysql("mysql://me@db/name".to_owned()));
        assert!("sqlite:".parse::<Database>().is_err());
        assert!("oracle://db".parse::<Database>().is_err());
    }

    #[test]
    fn encryption_needs_a_file_of_cas() {
        let plain = Ok(("mysql://db/name?a=b".to_owned(), None));
        assert_eq!(split_tls("mysql://db/name?sslmode=disable&a=b"), plain);
        let checked = Ok(("mysql://db/name?".to_owned(), Some("ca.pem".to_owned())));
        assert_eq!(
            split_tls("mysql://db/name?sslrootcert=ca.pem&sslmode=verify-ca"),
            checked
        );
        for refused in ["sslmode=require", "sslmode=disable&sslrootcert=ca.pem"] {
            let url = format!("mysql://db/name?{refused}");
            let error = split_tls(&url).unwrap_err().to_string();
            assert!(error.contains("`sslrootcert=FILE`"), "{error}");
        }
    }

    #[test]
    fn databases_of_one_store_have_one_dialect() {
        let of = |names: &[&str]| Settings {
            databases: names.iter().map(|name| name.parse().unwrap()).collect(),
            ..Settings::default()
        };
        assert!(of(&[]).dialect().is_err());
        assert!(of(&["sqlite:a", "mysql://b/c"]).dialect().is_err());
        assert_eq!(of(&["sqlite:a", "sqlite:b"]).dialect(), Ok(Dialect::Sqlite));
    }
}
