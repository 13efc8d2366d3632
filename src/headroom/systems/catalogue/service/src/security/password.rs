//! Passwords as argon2id hashes, computed away from the connections and few at once.

use std::sync::{Arc, OnceLock};

use argon2::password_hash::phc::{Output, ParamsString, Salt};
use argon2::password_hash::{Error, Result};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, Version};
use tokio::sync::Semaphore;

use crate::refusal::{Answer, Code, Refusal};

/// Room for a hash (B), of which it uses 19 MiB. The C library of Linux maps each block of more than
/// 32 MiB on its own and gives it back; of smaller ones it keeps up to three for each thread.
const ROOM_BYTES: usize = 33 << 20;

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
    hashed(password, Salt::generate(), Params::default())
        .map(|hash| hash.to_string())
        .map_err(|error| Refusal::new(Code::Unavailable, error))
}

fn is_right(password: &str, stored: Option<&str>) -> bool {
    static NOBODY: OnceLock<String> = OnceLock::new();
    let nobody = NOBODY.get_or_init(|| hash("nobody").unwrap_or_default());
    let checked = stored.unwrap_or(nobody);
    fits(password, checked).unwrap_or(false) && stored.is_some()
}

fn fits(password: &str, stored: &str) -> Result<bool> {
    let stored = PasswordHash::new(stored)?;
    let salt = stored.salt.ok_or(Error::PasswordInvalid)?;
    let again = hashed(password, salt, Params::try_from(&stored)?)?;
    // The comparison takes the same time for all.
    Ok(again.hash == stored.hash)
}

/// Hash a password in memory that the system gets back.
fn hashed(password: &str, salt: Salt, params: Params) -> Result<PasswordHash> {
    let (algorithm, version) = (Algorithm::Argon2id, Version::V0x13);
    let count = params.block_count();
    let mut memory = Vec::with_capacity(count.max(ROOM_BYTES / Block::SIZE));
    memory.resize(count, Block::default());
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    let shown = ParamsString::try_from(&params)?;
    Argon2::new(algorithm, version, params).hash_password_into_with_memory(
        password.as_bytes(),
        &salt,
        &mut output,
        &mut memory,
    )?;
    Ok(PasswordHash {
        algorithm: algorithm.ident(),
        version: Some(version.into()),
        params: shown,
        salt: Some(salt),
        hash: Some(Output::new(&output)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash of `secret` that was stored when the library chose the memory.
    const OLD: &str = "$argon2id$v=19$m=19456,t=2,p=1$myd2wi4GTLUORgQp/qdI5g\
        $psHtTJ4DHm28iBbsNVhFNOUjXb1EXQmwDYZz/78aVBA";

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_is_accepted() {
        let passwords = Passwords::new(1);
        let hash = passwords.hash("secret".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        for (password, hash, expected) in [
            ("secret", Some(hash.clone()), true),
            ("guess", Some(hash), false),
            ("nobody", None, false),
            ("secret", Some(OLD.into()), true),
            ("guess", Some(OLD.into()), false),
        ] {
            let is_right = passwords.is_right(password.into(), hash).await.unwrap();
            assert_eq!(is_right, expected, "{password}");
        }
    }
}
