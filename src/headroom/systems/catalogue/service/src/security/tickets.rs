//! Session tickets of TLS whose keys several servers share.
//!
//! A server that has the key of a ticket resumes its session, so a balancer may send a client to any
//! of them. The first key of the file encrypts, all of them decrypt. To rotate without losing
//! sessions, add the new key as the second one at all servers and reload them, then move it to the
//! front and reload them again; remove the old one after the lifetime of tickets. A key should
//! encrypt fewer than 2^32 tickets, as its nonces are random.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER_PERMISSIVE;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::server::ProducesTickets;

use super::TrustError;

const SECRET_BYTES: usize = 32;
const NAME_BYTES: usize = 8;
const TIME_BYTES: usize = 8;
const HEAD_BYTES: usize = NAME_BYTES + TIME_BYTES;
/// Longest lifetime that TLS 1.3 allows.
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Makes and reads tickets.
pub struct Tickets {
    keys: Vec<Key>,
    lifetime_s: u32,
    random: SystemRandom,
    now_s: fn() -> u64,
}

struct Key {
    name: [u8; NAME_BYTES],
    seal: LessSafeKey,
}

impl fmt::Debug for Tickets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tickets with {} keys", self.keys.len())
    }
}

impl Tickets {
    /// Read the keys of a file: lines of 64 hexadecimal digits, and comments after `#`.
    ///
    /// # Errors
    ///
    /// If the file is missing, all users may read it, or a line is not a key.
    pub fn load(path: &Path, lifetime: Duration) -> Result<Self, TrustError> {
        let fault = |reason: String| TrustError::file(path, reason);
        check_mode(path).map_err(fault)?;
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        Self::parse(&text, lifetime).map_err(fault)
    }

    fn parse(text: &str, lifetime: Duration) -> Result<Self, String> {
        let lines = text.lines().enumerate();
        let lines = lines.map(|(at, line)| (at + 1, line.split('#').next().unwrap_or("").trim()));
        let keys: Vec<_> = lines
            .filter(|(_, line)| !line.is_empty())
            .map(|(at, line)| Key::parse(line).ok_or(at))
            .collect::<Result<_, _>>()
            .map_err(|at| format!("line {at} is not a key of 64 hexadecimal digits"))?;
        if keys.is_empty() {
            return Err("there is no key; make one with `openssl rand -hex 32`".to_owned());
        }
        Ok(Self {
            keys,
            lifetime_s: u32::try_from(lifetime.min(MAX_LIFETIME).as_secs()).unwrap_or(u32::MAX),
            random: SystemRandom::new(),
            now_s: unix_time_s,
        })
    }

    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys.first()?;
        let mut ticket = Vec::with_capacity(HEAD_BYTES + NONCE_LEN + plain.len() + 16);
        ticket.extend_from_slice(&key.name);
        ticket.extend_from_slice(&(self.now_s)().to_be_bytes());
        let head = Aad::from(ticket.clone());
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let once = Nonce::assume_unique_for_key(nonce);
        key.seal
            .seal_in_place_append_tag(once, head, &mut sealed)
            .ok()?;
        ticket.extend_from_slice(&nonce);
        ticket.extend_from_slice(&sealed);
        Some(ticket)
    }

    fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (head, rest) = ticket.split_at_checked(HEAD_BYTES)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let (name, time) = head.split_first_chunk::<NAME_BYTES>()?;
        let age_s = (self.now_s)().checked_sub(u64::from_be_bytes(time.try_into().ok()?))?;
        if age_s > u64::from(self.lifetime_s) {
            return None;
        }
        let key = self.keys.iter().find(|key| key.name == *name)?;
        let mut plain = sealed.to_vec();
        let once = Nonce::assume_unique_for_key(*nonce);
        let opened = key.seal.open_in_place(once, Aad::from(head), &mut plain);
        let length = opened.ok()?.len();
        plain.truncate(length);
        Some(plain)
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime_s
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher)
    }
}

impl Key {
    fn parse(line: &str) -> Option<Self> {
        let secret = HEXLOWER_PERMISSIVE.decode(line.as_bytes()).ok()?;
        if secret.len() != SECRET_BYTES {
            return None;
        }
        let secret = Salt::new(HKDF_SHA256, b"headroom catalogue tickets").extract(&secret);
        let key = UnboundKey::new(&AES_256_GCM, &derive::<SECRET_BYTES>(&secret, b"key")?);
        Some(Self {
            name: derive(&secret, b"name")?,
            seal: LessSafeKey::new(key.ok()?),
        })
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const COUNT: usize>(secret: &Prk, purpose: &[u8]) -> Option<[u8; COUNT]> {
    let mut derived = [0; COUNT];
    let purposes = [purpose];
    let output = secret.expand(&purposes, Length(COUNT)).ok()?;
    output.fill(&mut derived).ok()?;
    Some(derived)
}

fn unix_time_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_secs())
}

/// Refuse a file that all users may read: its keys decrypt the connections of the past.
#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;

    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if found.permissions().mode() & 0o007 != 0 {
        return Err("all users may read or write it; run `chmod 640` on it".to_owned());
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn tickets(secrets: &[char]) -> Tickets {
        let lines = secrets.iter().map(|digit| digit.to_string().repeat(64));
        let text = lines.collect::<Vec<_>>().join(" # a key\n");
        let mut tickets = Tickets::parse(&text, DAY).unwrap();
        tickets.now_s = || 1_000_000;
        tickets
    }

    #[test]
    fn another_server_reads_a_ticket_during_each_step_of_a_rotation() {
        let steps = [&['a'][..], &['a', 'b'], &['b', 'a'], &['b']];
        for pair in steps.windows(2) {
            for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                if to.contains(&from[0]) {
                    let ticket = tickets(from).seal(b"session").unwrap();
                    let opened = tickets(to).open(&ticket);
                    assert_eq!(opened.as_deref(), Some(&b"session"[..]), "{from:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn a_ticket_of_a_removed_key_is_not_read() {
        let ticket = tickets(&['a']).seal(b"session").unwrap();
        assert_eq!(tickets(&['b', 'c']).open(&ticket), None);
    }

    #[test]
    fn a_ticket_expires() {
        let mut server = tickets(&['a']);
        let ticket = server.seal(b"session").unwrap();
        server.now_s = || 1_000_000 + 86_401;
        assert_eq!(server.open(&ticket), None);
        server.now_s = || 1_000_000 + 86_400;
        assert!(server.open(&ticket).is_some());
    }

    #[test]
    fn a_changed_or_cut_ticket_is_not_read() {
        let server = tickets(&['a']);
        let ticket = server.seal(b"session").unwrap();
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(server.open(&changed), None, "byte {at}");
            assert_eq!(server.open(&ticket[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn a_file_without_good_keys_is_refused() {
        for text in ["", "# none\n", "abc", &"x".repeat(64), &"a".repeat(66)] {
            assert!(Tickets::parse(text, DAY).is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_all_users_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "a".repeat(64)).unwrap();
        assert!(Tickets::load(file.path(), DAY).is_ok());
        let all = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&file, all).unwrap();
        let error = Tickets::load(file.path(), DAY).unwrap_err().to_string();
        assert!(error.contains("all users may read"), "{error}");
    }
}
