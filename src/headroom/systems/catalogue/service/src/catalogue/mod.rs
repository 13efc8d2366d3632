//! Directories, entries and permissions: what commands mean.
//!
//! A command is planned with what the server remembers of directories and persons. Its statement
//! compares their versions (`guard`); if one was old, nothing is changed and the command is planned
//! again. Inside a transaction of the client, directories are read again.

mod cache;
pub mod call;
mod client;
mod command_table;
mod commands;
mod constraints;
mod directory;
mod dump;
mod entries;
mod grants;
mod guard;
mod layout;
mod native;
pub mod path;
mod people;
mod reading;
pub mod rights;
mod schema;
mod scope;
mod sequences;
pub mod sessions;
mod sites;
#[cfg(test)]
mod tests;
mod tree;
mod updates;
mod upload;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;

use crate::metrics::Metrics;
use crate::refusal::{Answer, Code, Refusal};
use crate::security::password::Passwords;
use crate::security::{Proof, Who};
use crate::server::{Service, Session};
use crate::store::sql::Sql;
use crate::store::{Expect, Step, Store};
use crate::value::Value;
use crate::wire::reply::Reply;
use cache::Cache;
pub use client::Client;
use client::Unconfirmed;
use directory::{ANYUSER, Person, ROOT};
use path::Path;

/// How a catalogue treats its users.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether passwords are taken over connections without encryption.
    pub allows_plain_passwords: bool,
    /// The person of clients that prove nothing; without one they are refused.
    pub guest: Option<String>,
    /// Whether persons with a limited proxy certificate are let in.
    pub allows_limited_proxies: bool,
    /// Directories that a server remembers.
    pub max_directories: usize,
    /// Passwords that are checked at once.
    pub max_password_checks: usize,
    /// Commands that take longer are remembered.
    pub slow_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allows_plain_passwords: false,
            guest: None,
            allows_limited_proxies: false,
            max_directories: 100_000,
            max_password_checks: 2,
            slow_after: Duration::from_millis(100),
        }
    }
}

/// A catalogue in a store.
pub struct Catalogue {
    store: Store,
    cache: Cache,
    passwords: Passwords,
    metrics: Metrics,
    settings: Settings,
}

impl Catalogue {
    /// Return the catalogue of a store; the root directory and the person `root` are made if there
    /// are none. `root` has no password until [`Catalogue::set_password`].
    ///
    /// # Errors
    ///
    /// If the store cannot be used.
    pub async fn open(store: Store, settings: Settings) -> Answer<Arc<Self>> {
        let catalogue = Self {
            cache: Cache::new(settings.max_directories),
            passwords: Passwords::new(settings.max_password_checks),
            metrics: Metrics::new(commands::names(), settings.slow_after),
            store,
            settings,
        };
        for shard in 0..catalogue.store.shards() {
            // Without a change there is no lock, which a long transaction of another program may hold.
            let found = vec![Step::expecting(tree::find_root(), Expect::Something)];
            if catalogue.store.run(shard, found).await?.failed.is_some() {
                let steps = vec![Step::new(tree::make_root()), Step::new(people::make(ROOT))];
                catalogue.store.run(shard, steps).await?;
            }
        }
        Ok(Arc::new(catalogue))
    }

    /// Let `person` log in with a password.
    ///
    /// # Errors
    ///
    /// If there is no such person.
    pub async fn set_password(&self, person: &str, password: String) -> Answer<()> {
        let hash = self.passwords.hash(password).await?;
        let ran = self
            .store
            .run(0, vec![Step::new(people::set_password(person, hash))]);
        let is_known = ran
            .await?
            .outcomes
            .iter()
            .any(|outcome| outcome.changed > 0);
        is_known
            .then_some(())
            .ok_or_else(|| people::no_person(person))
    }

    /// Return the client of a person, as if it had logged in.
    ///
    /// # Errors
    ///
    /// If there is no such person.
    pub async fn client(self: &Arc<Self>, person: &str) -> Answer<Client> {
        self.person(person).await?;
        Ok(Client::new(Arc::clone(self), person.to_owned()))
    }

    /// Return the counts of commands.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Return the databases.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Return the number of the database that holds a directory and all that is below it.
    fn shard(&self, path: &Path) -> usize {
        let Some(name) = path.first() else {
            return 0;
        };
        // FNV-1a: the same in every version of the service.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        usize::try_from(hash % self.store.shards() as u64).unwrap_or(0)
    }

    /// Return a person with groups.
    async fn person(&self, name: &str) -> Answer<Arc<Person>> {
        if let Some(found) = self.cache.person(name) {
            return Ok(found);
        }
        let mut query =
            Sql::new("SELECT a.epoch, m.team FROM authority AS a JOIN person AS p ON p.name = ");
        query
            .bind(Value::Text(name.to_owned()))
            .text(" LEFT JOIN member AS m ON m.person = p.name WHERE a.id = 1");
        let rows = self.rows(query).await?;
        let Some(Value::Integer(epoch)) = rows.first().map(|row| row[0].clone()) else {
            return Err(people::no_person(name));
        };
        let groups = rows.into_iter().filter_map(|mut row| match row.pop() {
            Some(Value::Text(group)) => Some(group),
            _ => None,
        });
        let groups = groups.chain([ANYUSER.to_owned()]).collect::<BTreeSet<_>>();
        let name = name.to_owned();
        let person = Arc::new(Person {
            name,
            groups,
            epoch,
        });
        self.cache.keep_person(&person);
        Ok(person)
    }

    /// Return rows of the first database, which has users and groups.
    async fn rows(&self, query: Sql) -> Answer<Vec<Vec<Value>>> {
        let ran = self.store.run(0, vec![Step::new(query)]).await?;
        Ok(ran.outcomes.into_iter().next().unwrap_or_default().rows)
    }

    /// Let the epoch of all databases follow the first one's.
    async fn spread_epoch(&self) -> Answer<()> {
        if self.store.shards() == 1 {
            return Ok(());
        }
        let rows = self
            .rows(Sql::new("SELECT epoch FROM authority WHERE id = 1"))
            .await?;
        let Some(Value::Integer(epoch)) = rows.first().map(|row| row[0].clone()) else {
            return Err(Refusal::new(
                Code::Unavailable,
                "the catalogue has no epoch",
            ));
        };
        for shard in 1..self.store.shards() {
            let mut update = Sql::new("UPDATE authority SET epoch = ");
            update
                .bind(Value::Integer(epoch))
                .text(" WHERE id = 1 AND epoch < ")
                .bind(Value::Integer(epoch));
            self.store.run(shard, vec![Step::new(update)]).await?;
        }
        Ok(())
    }

    /// Return the person of a certificate if this server knows it: then nothing is asked, and the
    /// first command finds out whether it is still so. Only the first of several databases knows
    /// at once of a change, so then each login asks it.
    fn remembered(&self, who: &Who) -> Option<(String, Unconfirmed)> {
        let Proof::Certificate {
            subject,
            is_limited,
            ..
        } = &who.proof
        else {
            return None;
        };
        if self.store.shards() > 1 || *is_limited && !self.settings.allows_limited_proxies {
            return None;
        }
        let (name, epoch) = self.cache.subject(subject)?;
        let unconfirmed = Unconfirmed {
            subject: subject.clone(),
            login: who.login.clone(),
            epoch,
        };
        (who.login.is_empty() || name == who.login).then_some((name, unconfirmed))
    }

    /// Return whom a proof lets in.
    async fn identify(&self, who: Who) -> Answer<String> {
        let refused = |message: &str| Refusal::new(Code::LoginRefused, message);
        match who.proof {
            Proof::Password(_) if !who.is_encrypted && !self.settings.allows_plain_passwords => {
                Err(refused(
                    "a password needs an encrypted connection; choose `ssl`",
                ))
            }
            Proof::Password(password) => {
                let hash = self.rows(people::password(&who.login)).await?;
                let hash = hash.into_iter().next().and_then(|mut row| match row.pop() {
                    Some(Value::Text(hash)) => Some(hash),
                    _ => None,
                });
                let is_right = self.passwords.is_right(password, hash).await?;
                is_right
                    .then_some(who.login)
                    .ok_or_else(|| refused("the name or the password is wrong"))
            }
            Proof::Certificate { is_limited, .. }
                if is_limited && !self.settings.allows_limited_proxies =>
            {
                Err(refused("limited proxy certificates are not accepted"))
            }
            Proof::Certificate { subject, .. } => self.certified(&subject, &who.login).await,
            Proof::Token(claims) => {
                let person = claims
                    .person
                    .filter(|name| who.login.is_empty() || *name == who.login);
                person.ok_or_else(|| refused("the token belongs to no such user"))
            }
            Proof::Resumed(person) => Ok(person),
            Proof::Anonymous => self
                .settings
                .guest
                .clone()
                .ok_or_else(|| refused("log in with a password, a certificate or a token")),
        }
    }
}

/// A service that many connections share.
#[derive(Clone)]
pub struct Shared(pub Arc<Catalogue>);

impl Service for Shared {
    type Session = Client;

    async fn login(&self, who: Who) -> Answer<Client> {
        if let Some((name, unconfirmed)) = self.0.remembered(&who) {
            return Ok(Client::unconfirmed(Arc::clone(&self.0), name, unconfirmed));
        }
        let person = self.0.identify(who).await?;
        self.0
            .client(&person)
            .await
            .map_err(|refusal| match refusal.code {
                Code::NoSuchName => Refusal::new(Code::LoginRefused, refusal.message),
                _ => refusal,
            })
    }

    async fn is_ready(&self) -> bool {
        let query = Sql::new("SELECT epoch FROM authority WHERE id = 1");
        self.0.rows(query).await.is_ok()
    }
}

impl Session for Client {
    async fn execute(&mut self, line: &str, reply: &mut Reply<'_>) -> Answer<()> {
        commands::execute(self, line, reply).await
    }

    async fn end(mut self) {
        if self.is_in_transaction() {
            let _ = self.abort().await;
        }
    }

    fn person(&self) -> &str {
        &self.name
    }

    fn is_in_transaction(&self) -> bool {
        !matches!(self.open, client::Open::No)
    }
}

/// Return a random number for a directory: never that of a removed one, and made without asking.
fn new_id() -> Answer<i64> {
    let mut bytes = [0; 8];
    ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| Refusal::new(Code::Unavailable, "no random bytes for a directory"))?;
    Ok(i64::from_le_bytes(bytes) >> 1 & (i64::MAX >> 1) | 1)
}

/// Return a text as a value.
fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// Return the text of a value that is one.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Null => String::new(),
    }
}
