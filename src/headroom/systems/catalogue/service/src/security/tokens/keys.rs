//! Public keys of an issuer, and signatures.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

/// An algorithm of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSA, PKCS 1.5, SHA-256.
    Rs256,
    /// ECDSA on P-256, SHA-256.
    Es256,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }
}

/// Keys of a JSON web key set.
#[derive(Clone, Default)]
pub(super) struct Keys(Vec<(Option<String>, Key)>);

#[derive(Clone)]
pub(super) enum Key {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<WebKey>,
}

#[derive(Deserialize)]
struct WebKey {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Read a key set. Keys for other purposes and algorithms are skipped: issuers publish them too.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let set: KeySet = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let keys = set.keys.into_iter();
        let keys: Vec<_> = keys
            .filter_map(|key| Some((key.kid.clone(), Key::of(&key)?)))
            .collect();
        if keys.is_empty() {
            return Err("there is no key for RS256 or ES256 signatures".to_owned());
        }
        Ok(Self(keys))
    }

    /// Return the keys that may have signed: of the algorithm, and with the id if one is stated.
    pub(super) fn of(&self, algorithm: Algorithm, id: Option<&str>) -> impl Iterator<Item = &Key> {
        let keys = self.0.iter();
        keys.filter(move |(known, _)| id.is_none() || known.as_deref() == id)
            .map(|(_, key)| key)
            .filter(move |key| key.algorithm() == algorithm)
    }
}

impl Key {
    fn of(key: &WebKey) -> Option<Self> {
        if key
            .purpose
            .as_deref()
            .is_some_and(|purpose| purpose != "sig")
        {
            return None;
        }
        let found = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => Self::Rsa {
                n: number(key.n.as_deref()?)?,
                e: number(key.e.as_deref()?)?,
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (
                    coordinate(key.x.as_deref()?)?,
                    coordinate(key.y.as_deref()?)?,
                );
                Self::P256([&[4][..], &x, &y].concat())
            }
            _ => return None,
        };
        let stated = key.alg.as_deref().map(Algorithm::named);
        let fits = stated.is_none_or(|stated| stated == Some(found.algorithm()));
        fits.then_some(found)
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
        }
    }

    /// Return whether the owner of the key signed a message.
    pub(super) fn is_signature(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(message, signature)
                .is_ok(),
        }
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text.as_bytes()).ok()
}

/// Some issuers write a leading zero byte, as of a signed number.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = bytes(text)?;
    let begin = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[begin..].to_vec())
}

fn coordinate(text: &str) -> Option<[u8; 32]> {
    bytes(text)?.try_into().ok()
}
