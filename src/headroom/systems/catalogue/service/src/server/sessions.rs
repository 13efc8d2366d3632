//! Sessions that a client resumes on a new connection, at any server of the same store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustls::crypto::ring;
use tokio::time::Instant;

use crate::refusal::{Answer, Code, Refusal};

/// Whether clients get session ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// Never; resuming is refused.
    #[default]
    No,
    /// On encrypted connections, whose opening is expensive.
    Allow,
    /// On all connections.
    Force,
}

/// Where sessions are kept.
pub trait SessionStore: Send + Sync + 'static {
    /// Begin a session and return its id: decimal digits of 128 random bits.
    fn create<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Answer<String>>;
    /// Return the person of a session that has not expired.
    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<Option<String>>>;
}

/// Return the id of a new session.
///
/// # Errors
///
/// If the system gives no random bytes.
pub fn new_id() -> Answer<String> {
    let mut bytes = [0; 16];
    ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| Refusal::new(Code::Unavailable, "no random bytes for a session"))?;
    Ok(u128::from_le_bytes(bytes).to_string())
}

/// Sessions of one server, in memory.
#[derive(Debug)]
pub struct MemorySessions {
    expiry: Duration,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    persons: BTreeMap<String, (String, Instant)>,
    /// Ids by their age: all live equally long.
    ends: VecDeque<(Instant, String)>,
}

impl Known {
    fn forget_expired(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|(ends, _)| *ends <= now) {
            if let Some((_, id)) = self.ends.pop_front() {
                self.persons.remove(&id);
            }
        }
    }
}

impl MemorySessions {
    /// Return a store whose sessions expire this long after they began.
    pub fn new(expiry: Duration) -> Self {
        let known = Mutex::default();
        Self { expiry, known }
    }
}

impl SessionStore for MemorySessions {
    fn create<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Answer<String>> {
        Box::pin(async move {
            let id = new_id()?;
            let now = Instant::now();
            let ends = now + self.expiry;
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.forget_expired(now);
            known.persons.insert(id.clone(), (person.to_owned(), ends));
            known.ends.push_back((ends, id.clone()));
            Ok(id)
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<Option<String>>> {
        Box::pin(async move {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let alive = known.persons.get(id);
            let alive = alive.filter(|(_, ends)| *ends > Instant::now());
            Ok(alive.map(|(person, _)| person.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_expires_and_is_forgotten() {
        let sessions = MemorySessions::new(Duration::from_secs(60));
        let old = sessions.create("alice").await.unwrap();
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(sessions.find(&old).await.unwrap().as_deref(), Some("alice"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(sessions.find(&old).await.unwrap(), None);
        let new = sessions.create("alice").await.unwrap();
        assert_ne!(new, old);
        assert_eq!(sessions.known.lock().unwrap().persons.len(), 1);
    }
}
