//! Where a database is: a URL without a password, which comes from a file.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::DriverError;

/// A database server, or a file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `postgres://user@host:port`, `mysql://user@host:port` or `sqlite:FOLDER`.
    pub url: String,
    /// File whose first line is the password.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// PEM file of the authorities that may have signed the server's certificate; with it, the
    /// connection is encrypted and the server's name is checked.
    #[serde(default)]
    pub tls_roots: Option<PathBuf>,
}

/// What speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, or MySQL.
    Mariadb,
    /// SQLite, in this process.
    Sqlite,
}

/// A target, read.
#[derive(Clone)]
pub struct Place {
    /// What speaks.
    pub product: Product,
    /// Without scheme: `user@host:port`, or the folder of files.
    pub address: String,
    /// The password.
    pub password: Option<String>,
    /// See [`Target::tls_roots`].
    pub tls_roots: Option<PathBuf>,
}

impl Target {
    /// Return where it is.
    ///
    /// # Errors
    ///
    /// If the URL has another form, holds a password, or a file cannot be read.
    pub fn place(&self) -> Result<Place, DriverError> {
        let (scheme, rest) = self.url.split_once(':').unwrap_or_default();
        let product = match scheme {
            "postgres" | "postgresql" => Product::Postgres,
            "mysql" | "mariadb" => Product::Mariadb,
            "sqlite" => Product::Sqlite,
            _ => {
                return Err(DriverError::Job(
                    "a URL begins with `postgres://`, `mysql://` or `sqlite:`".to_owned(),
                ));
            }
        };
        let address = rest
            .strip_prefix("//")
            .unwrap_or(rest)
            .trim_end_matches('/')
            .to_owned();
        if product != Product::Sqlite {
            check_address(&address)?;
        }
        let password = self.password_file.as_deref().map(first_line).transpose()?;
        Ok(Place {
            product,
            address,
            password,
            tls_roots: self.tls_roots.clone(),
        })
    }
}

fn check_address(address: &str) -> Result<(), DriverError> {
    let user = address.split_once('@').map_or("", |(user, _)| user);
    if user.contains(':') {
        // The text is not repeated: it holds a password.
        return Err(DriverError::Job(
            "the URL holds a password; write it into a file and name that in `password_file`"
                .to_owned(),
        ));
    }
    if address.is_empty() || address.contains(['/', '?']) {
        return Err(DriverError::Job(format!(
            "`{address}` is not USER@HOST:PORT; the database is named apart"
        )));
    }
    Ok(())
}

fn first_line(path: &Path) -> Result<String, DriverError> {
    let text =
        fs::read_to_string(path).map_err(|error| DriverError::file(path.display(), error))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

impl Place {
    /// Return user, host and port; the defaults of the product where they are missing.
    pub fn server(&self) -> (&str, &str, u16) {
        let (user, host) = self
            .address
            .split_once('@')
            .unwrap_or((self.default_user(), &self.address));
        match host.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => {
                (user, host, port.parse().unwrap_or_default())
            }
            _ => (user, host, self.default_port()),
        }
    }

    const fn default_user(&self) -> &'static str {
        match self.product {
            Product::Postgres => "postgres",
            _ => "root",
        }
    }

    const fn default_port(&self) -> u16 {
        match self.product {
            Product::Postgres => 5432,
            _ => 3306,
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} at {}", self.product, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target {
            url: url.to_owned(),
            password_file: None,
            tls_roots: None,
        }
    }

    #[test]
    fn a_url_is_read_with_the_defaults_of_its_product() {
        let place = target("postgres://me@db.example:6000")
            .place()
            .expect("a place");
        assert_eq!(place.server(), ("me", "db.example", 6000));
        let place = target("mysql://localhost").place().expect("a place");
        assert_eq!(place.server(), ("root", "localhost", 3306));
        let place = target("sqlite:/tmp/some/folder/").place().expect("a place");
        assert_eq!(place.address, "/tmp/some/folder");
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        let error = target("postgres://me:secret@host")
            .place()
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("password_file") && !error.contains("secret"),
            "{error}"
        );
        assert!(target("oracle://me@host").place().is_err());
        assert!(target("postgres://me@host/other").place().is_err());
    }

    #[test]
    fn a_password_comes_from_a_file() {
        let file = std::env::temp_dir().join(format!("headroom-password-{}", std::process::id()));
        fs::write(&file, "secret\n").expect("written");
        let target = Target {
            password_file: Some(file.clone()),
            ..target("postgres://me@host")
        };
        let place = target.place().expect("a place");
        fs::remove_file(file).expect("removed");
        assert_eq!(place.password.as_deref(), Some("secret"));
        assert!(!format!("{place:?}").contains("secret"));
    }
}
