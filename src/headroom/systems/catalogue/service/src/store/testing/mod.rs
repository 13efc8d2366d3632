//! Databases for tests: a file of SQLite, and a server of each other kind that this machine has.
//!
//! A server is started once per test process and ends with it, however the process ends: a shell
//! waits for the end of a pipe, stops the server and removes its folder.

mod mariadb;
mod postgres;
mod server;

use std::io::Write as _;

#[cfg(test)]
pub(in crate::store) use mariadb::ca as ca_of_mariadb;
use tempfile::TempDir;

use super::Settings;
use super::sql::Dialect;

/// A fresh, empty database.
pub struct Place {
    /// The kind of database.
    pub name: &'static str,
    /// Its URL.
    pub url: String,
    /// Settings with this database alone.
    pub settings: Settings,
    /// A folder that must stay until the database is not used any more.
    _folder: Option<TempDir>,
}

/// Return a fresh database of each kind that this machine has.
pub fn databases() -> Vec<Place> {
    [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql]
        .into_iter()
        .filter_map(database)
        .collect()
}

/// Return a fresh database of a kind. A missing server is reported and skipped.
///
/// # Panics
///
/// If a server cannot be started, and if it is missing with `CI=true`.
pub fn database(dialect: Dialect) -> Option<Place> {
    let (name, url, folder) = match dialect {
        Dialect::Sqlite => {
            let folder = TempDir::new().expect("a temporary folder can be made");
            let url = format!("sqlite:{}", folder.path().join("catalogue.db").display());
            ("SQLite", url, Some(folder))
        }
        Dialect::Postgres => ("PostgreSQL", postgres::fresh()?, None),
        Dialect::Mysql => ("MariaDB", mariadb::fresh()?, None),
    };
    let databases = vec![url.parse().expect("the URL names a database")];
    Some(Place {
        name,
        url,
        settings: Settings {
            databases,
            ..Settings::default()
        },
        _folder: folder,
    })
}

/// A database server that a test kills and starts again.
pub struct Killable {
    /// URL of a fresh database.
    pub url: String,
    server: server::Server,
}

impl Killable {
    /// Return one of each kind that this machine has.
    ///
    /// # Panics
    ///
    /// As [`database`].
    pub fn each() -> impl Iterator<Item = Self> {
        let found = [postgres::own(), mariadb::own()].into_iter().flatten();
        found.map(|(server, url)| Self { url, server })
    }

    /// End all its processes as `kill -9` does.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Start it again; it answers a moment later.
    ///
    /// # Panics
    ///
    /// If there is no shell.
    pub fn start(&mut self) {
        self.server.start_again();
    }
}

/// Report a server that this machine does not have.
fn missing(name: &str, cure: &str) {
    let is_required = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_required, "{name} is missing; {cure}");
    // Not by `eprintln`: the harness shows nothing of a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {name} is missing; {cure}");
}
