//! Passwords as argon2id hashes, computed away from the connections and few at once.

use std::sync::{Arc, OnceLock};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;

use crate::refusal::{Answer, Code, Refusal};

/// Hashes passwords; a hash needs 19 MiB of memory while it is computed.
#[derive(Clone, Debug)]
pub struct Passwords {
    places: Arc<Semaphore>,
}

impl Passwords {
    /// Return a hasher that computes at most `max_at_once` hashes at once.
    pub fn new(max_at_once: usize) -> Self {
        let places = Arc::new(Semaphore::new(max_at_once));
        Self { places }
    }

    /// Return the hash to be stored.
    ///
    /// # Errors
    ///
    /// If the password cannot be hashed.
    pub async fn hash(&self, password: String) -> Answer<String> {
        self.away(move || hash(&password)).await?
    }

    /// Return whether a password belongs to a hash. Without a hash (the user is unknown) the work
    /// is the same, so that its time does not show which users exist.
    ///
    /// # Errors
    ///
    /// If the server stops.
    pub async fn is_right(&self, password: String, hash: Option<String>) -> Answer<bool> {
        self.away(move || is_right(&password, hash.as_deref()))
            .await
    }

    async fn away<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Answer<T> {
        let stopped = |_| Refusal::new(Code::Unavailable, "the server stops");
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(stopped)?;
        let task = tokio::task::spawn_blocking(move || {
            // The place is free when the work ends, even if its client has left before.
            let _place = place;
            work()
        });
        task.await
            .map_err(|_| Refusal::new(Code::Unavailable, "a password check failed"))
    }
}

fn hash(password: &str) -> Answer<String> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    hashed
        .map(|hash| hash.to_string())
        .map_err(|error| Refusal::new(Code::Unavailable, error))
}

fn is_right(password: &str, stored: Option<&str>) -> bool {
    static NOBODY: OnceLock<String> = OnceLock::new();
    let nobody = NOBODY.get_or_init(|| hash("nobody").unwrap_or_default());
    let checked = stored.unwrap_or(nobody);
    let fits = Argon2::default()
        .verify_password(password.as_bytes(), checked)
        .is_ok();
    fits && stored.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_is_accepted() {
        let passwords = Passwords::new(1);
        let hash = passwords.hash("secret".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert!(
            passwords
                .is_right("secret".into(), Some(hash.clone()))
                .await
                .unwrap()
        );
        assert!(
            !passwords
                .is_right("guess".into(), Some(hash))
                .await
                .unwrap()
        );
        assert!(!passwords.is_right("nobody".into(), None).await.unwrap());
    }
}
