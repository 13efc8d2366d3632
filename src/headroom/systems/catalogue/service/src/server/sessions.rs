//! Sessions that a client resumes on a new connection, at any server of the same store.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use rustls::crypto::ring;

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
    sessions: Mutex<BTreeMap<String, (String, Instant)>>,
}

impl MemorySessions {
    /// Return a store whose sessions expire this long after they began.
    pub fn new(expiry: Duration) -> Self {
        let sessions = Mutex::default();
        Self { expiry, sessions }
    }
}

impl SessionStore for MemorySessions {
    fn create<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Answer<String>> {
        Box::pin(async move {
            let id = new_id()?;
            let ends = Instant::now() + self.expiry;
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            sessions.retain(|_, (_, ends)| *ends > Instant::now());
            sessions.insert(id.clone(), (person.to_owned(), ends));
            Ok(id)
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<Option<String>>> {
        Box::pin(async move {
            let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let alive = sessions.get(id).filter(|(_, ends)| *ends > Instant::now());
            Ok(alive.map(|(person, _)| person.clone()))
        })
    }
}
