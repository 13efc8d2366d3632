//! Bearer tokens: signed JSON web tokens of known issuers.
//!
//! Source: RFC 7515 (signatures), 7517 (keys), 7519 (claims), 8725 (current practice).
//!
//! The invariant: the key decides the algorithm, not the token. Only RS256 and ES256 exist here, so
//! neither `none` nor a public key used as a shared secret can pass.

mod keys;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Claims, TrustError};
use crate::refusal::{Answer, Code, Refusal};
use keys::{Algorithm, Keys};

/// Longest token (bytes).
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Rules of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who may issue tokens. Without issuers, all tokens are refused.
    pub issuers: Vec<Issuer>,
    /// Allowed difference between the clocks of the issuer and of this server.
    pub leeway: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            leeway: Duration::from_secs(60),
        }
    }
}

/// An issuer of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issuer {
    /// Its name, as in the claim `iss`.
    pub issuer: String,
    /// A token must be for one of these audiences.
    pub audiences: Vec<String>,
    /// File with its public keys, a JSON web key set.
    pub keys: PathBuf,
    /// A scope that a token must have, if any.
    pub scope: Option<String>,
    /// The claim that names the person of the catalogue, if any.
    pub person_claim: Option<String>,
}

/// Checks tokens.
#[derive(Clone, Default)]
pub struct Tokens {
    issuers: Vec<(Issuer, Keys)>,
    leeway: Duration,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tokens of {} issuers", self.issuers.len())
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// Claims with a meaning of their own. A claim of the wrong type makes the token unreadable.
#[derive(Deserialize)]
struct Registered {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    #[serde(default)]
    scope: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Tokens {
    /// Read the keys of all issuers.
    ///
    /// # Errors
    ///
    /// If a file cannot be used, or an issuer has no name or no audience.
    pub fn load(settings: &Settings) -> Result<Self, TrustError> {
        let load = |issuer: &Issuer| {
            if issuer.issuer.is_empty() || issuer.audiences.is_empty() {
                let message = "an issuer of tokens needs a name and an audience";
                return Err(TrustError::file(&issuer.keys, message));
            }
            let text = std::fs::read_to_string(&issuer.keys);
            let text = text.map_err(|error| TrustError::file(&issuer.keys, error))?;
            let keys = Keys::parse(&text).map_err(|error| TrustError::file(&issuer.keys, error))?;
            Ok((issuer.clone(), keys))
        };
        Ok(Self {
            issuers: settings
                .issuers
                .iter()
                .map(load)
                .collect::<Result<_, _>>()?,
            leeway: settings.leeway,
        })
    }

    /// Check a token.
    ///
    /// # Errors
    ///
    /// If it is not valid now. The message never shows the token.
    pub fn check(&self, token: &str) -> Answer<Claims> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.check_at(token, now.unwrap_or_default())
    }

    fn check_at(&self, token: &str, now: Duration) -> Answer<Claims> {
        if self.issuers.is_empty() {
            return Err(refused("this server takes no tokens"));
        }
        let unreadable = || refused("the token cannot be read");
        let parts = Parts::of(token).ok_or_else(unreadable)?;
        let header: Header = json(parts.header).ok_or_else(unreadable)?;
        let claims: Registered = json(parts.claims).ok_or_else(unreadable)?;
        let known = self
            .issuers
            .iter()
            .find(|(known, _)| known.issuer == claims.iss);
        let (issuer, keys) = known.ok_or_else(|| refused("the token's issuer is not known"))?;
        check_header(&header)?;
        let algorithm = Algorithm::named(&header.alg)
            .ok_or_else(|| refused("the token's algorithm is not RS256 or ES256"))?;
        let is_signed = keys
            .of(algorithm, header.kid.as_deref())
            .any(|key| key.is_signature(parts.signed.as_bytes(), &parts.signature));
        if !is_signed {
            return Err(refused(
                "the token's signature is wrong or its key is not known",
            ));
        }
        self.check_claims(&claims, issuer, now)?;
        Ok(accepted(claims, issuer))
    }

    fn check_claims(&self, claims: &Registered, issuer: &Issuer, now: Duration) -> Answer<()> {
        let (now, leeway) = (now.as_secs_f64(), self.leeway.as_secs_f64());
        let audiences = match &claims.aud {
            Audience::One(one) => std::slice::from_ref(one),
            Audience::Several(several) => several,
        };
        let is_for_us = audiences.iter().any(|name| issuer.audiences.contains(name));
        let mut scopes = claims.scope.split(' ');
        let has_scope = match &issuer.scope {
            None => true,
            Some(needed) => scopes.any(|scope| scope == needed),
        };
        let message = match () {
            () if now >= claims.exp + leeway => "the token has expired",
            () if claims.nbf.is_some_and(|begin| now < begin - leeway) => {
                "the token is not valid yet"
            }
            () if !is_for_us => "the token is for another audience",
            () if !has_scope => "the token lacks the scope for this catalogue",
            () if claims.sub.is_empty() => "the token names no subject",
            () => return Ok(()),
        };
        Err(refused(message))
    }
}

fn check_header(header: &Header) -> Answer<()> {
    if header.crit.is_some() {
        return Err(refused("the token has critical extensions"));
    }
    let typ = header.typ.as_deref().unwrap_or("jwt").to_ascii_lowercase();
    let typ = typ.strip_prefix("application/").unwrap_or(&typ);
    if !["jwt", "at+jwt"].contains(&typ) {
        return Err(refused("the token is not an access token"));
    }
    Ok(())
}

fn accepted(claims: Registered, issuer: &Issuer) -> Claims {
    let person = match issuer.person_claim.as_deref() {
        None => None,
        Some("sub") => Some(claims.sub.clone()),
        Some(name) => claims
            .others
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned),
    };
    Claims {
        issuer: claims.iss,
        subject: claims.sub,
        person,
    }
}

struct Parts<'a> {
    header: &'a str,
    claims: &'a str,
    /// Both of them, as they are signed.
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> Parts<'a> {
    fn of(token: &'a str) -> Option<Self> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        Some(Self {
            header,
            claims,
            signed,
            signature: BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?,
        })
    }
}

fn json<T: DeserializeOwned>(part: &str) -> Option<T> {
    let text = BASE64URL_NOPAD.decode(part.as_bytes()).ok()?;
    serde_json::from_slice(&text).ok()
}

fn refused(message: &str) -> Refusal {
    Refusal::new(Code::LoginRefused, message)
}
