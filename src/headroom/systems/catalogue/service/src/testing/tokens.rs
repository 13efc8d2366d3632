//! Tokens of an issuer, made for a test.

use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// Signs tokens with ES256.
pub struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        Self { key, random }
    }

    /// Return the public key as a point of its curve.
    pub fn point(&self) -> &[u8] {
        self.key.public_key().as_ref()
    }

    /// Return the public key as a JSON web key.
    pub fn public(&self, id: &str) -> Value {
        let (x, y) = self.point()[1..].split_at(32);
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": id,
            "x": BASE64URL_NOPAD.encode(x), "y": BASE64URL_NOPAD.encode(y),
        })
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self.key.sign(&self.random, signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}

/// Return the part of a token that is signed.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let encode = |part: &Value| BASE64URL_NOPAD.encode(part.to_string().as_bytes());
    format!("{}.{}", encode(header), encode(claims))
}
