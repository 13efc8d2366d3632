//! Sessions in the database: a client resumes at any server. The database holds hashes of their ids,
//! so who reads it cannot resume them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use ring::digest;

use super::{Catalogue, shown, text};
use crate::refusal::Answer;
use crate::server::sessions::{SessionStore, new_id};
use crate::store::Step;
use crate::store::sql::Sql;
use crate::value::Value;

/// Sessions of a catalogue.
pub struct StoredSessions {
    catalogue: Arc<Catalogue>,
    lifetime: Duration,
}

impl StoredSessions {
    /// Return a store whose sessions expire this long after they began.
    pub fn new(catalogue: Arc<Catalogue>, lifetime: Duration) -> Self {
        Self {
            catalogue,
            lifetime,
        }
    }

    async fn begin(&self, person: &str) -> Answer<String> {
        let (id, now) = (new_id()?, seconds());
        let lifetime = i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX);
        let mut expired = Sql::new("DELETE FROM session WHERE expires < ");
        expired.bind(Value::Integer(now));
        let mut insert = Sql::new("INSERT INTO session (token, person, expires) VALUES (");
        insert
            .bind(text(hash(&id)))
            .text(", ")
            .bind(text(person))
            .text(", ");
        insert
            .bind(Value::Integer(now.saturating_add(lifetime)))
            .text(")");
        let steps = vec![Step::new(expired), Step::new(insert)];
        self.catalogue.store.run(0, steps).await?;
        Ok(id)
    }

    async fn person(&self, id: &str) -> Answer<Option<String>> {
        let mut query = Sql::new("SELECT person FROM session WHERE token = ");
        query.bind(text(hash(id))).text(" AND expires >= ");
        query.bind(Value::Integer(seconds()));
        let rows = self.catalogue.rows(query).await?;
        Ok(rows.first().map(|row| shown(&row[0])))
    }
}

impl SessionStore for StoredSessions {
    fn create<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Answer<String>> {
        Box::pin(self.begin(person))
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<Option<String>>> {
        Box::pin(self.person(id))
    }
}

fn hash(id: &str) -> String {
    let hash = digest::digest(&digest::SHA256, id.as_bytes());
    data_encoding::HEXLOWER.encode(hash.as_ref())
}

fn seconds() -> i64 {
    let passed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(passed.as_secs()).unwrap_or(i64::MAX)
}
