//! Tokens of an issuer made for each test, and the examples of RFC 7515.

use serde_json::json;

use super::*;
use crate::testing::tokens::{Signer, unsigned};

const NOW_S: u64 = 1_800_000_000;
const ISSUER: &str = "https://issuer.example/";

fn header() -> Value {
    json!({"alg": "ES256", "typ": "JWT", "kid": "1"})
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "1234", "aud": "catalogue", "exp": NOW_S + 600,
        "nbf": NOW_S, "scope": "openid catalogue.write", "nick": "alice",
    })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

fn without(mut object: Value, name: &str) -> Value {
    object.as_object_mut().unwrap().remove(name);
    object
}

fn issuer() -> Issuer {
    Issuer {
        issuer: ISSUER.to_owned(),
        audiences: vec!["catalogue".to_owned()],
        person_claim: Some("nick".to_owned()),
        scope: Some("catalogue.write".to_owned()),
        ..Issuer::default()
    }
}

fn tokens(keys: &[Value]) -> Tokens {
    let keys = Keys::parse(&json!({ "keys": keys }).to_string()).unwrap();
    Tokens {
        issuers: vec![(issuer(), keys)],
        leeway: Duration::from_secs(60),
    }
}

fn check(tokens: &Tokens, token: &str) -> Answer<Claims> {
    tokens.check_at(token, Duration::from_secs(NOW_S))
}

fn message(tokens: &Tokens, token: &str) -> String {
    check(tokens, token).unwrap_err().message
}

#[test]
fn a_good_token_gives_its_claims() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let found = check(&tokens, &signer.sign(&header(), &claims())).unwrap();
    let wanted = Claims {
        issuer: ISSUER.to_owned(),
        subject: "1234".to_owned(),
        person: Some("alice".to_owned()),
    };
    assert_eq!(found, wanted);
}

#[test]
fn several_audiences_fractions_of_seconds_and_no_key_id_are_understood() {
    let signer = Signer::new();
    let tokens = tokens(&[Signer::new().public("0"), signer.public("1")]);
    let claims = with(claims(), "aud", json!(["other", "catalogue"]));
    let claims = with(claims, "exp", json!(1_800_000_000.5));
    let token = signer.sign(&without(header(), "kid"), &without(claims, "nbf"));
    assert!(check(&tokens, &token).is_ok());
}

#[test]
fn claims_that_do_not_hold_are_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let cases = [
        ("exp", json!(NOW_S - 60), "the token has expired"),
        ("nbf", json!(NOW_S + 61), "the token is not valid yet"),
        ("aud", json!("other"), "the token is for another audience"),
        ("aud", json!([]), "the token is for another audience"),
        (
            "scope",
            json!("catalogue.writer"),
            "the token lacks the scope for this catalogue",
        ),
        ("sub", json!(""), "the token names no subject"),
        (
            "iss",
            json!("https://other.example/"),
            "the token's issuer is not known",
        ),
    ];
    for (name, value, wanted) in cases {
        let token = signer.sign(&header(), &with(claims(), name, value));
        assert_eq!(message(&tokens, &token), wanted);
    }
}

/// A library once took a time of the wrong type as absent, so that the token never expired.
#[test]
fn claims_of_the_wrong_type_or_absent_are_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    for name in ["iss", "sub", "aud", "exp"] {
        let token = signer.sign(&header(), &without(claims(), name));
        assert_eq!(
            message(&tokens, &token),
            "the token cannot be read",
            "{name}"
        );
    }
    for (name, value) in [
        ("exp", json!("1900000000")),
        ("exp", json!(null)),
        ("nbf", json!("0")),
        ("aud", json!({"catalogue": 1})),
        ("sub", json!(7)),
    ] {
        let token = signer.sign(&header(), &with(claims(), name, value));
        assert_eq!(
            message(&tokens, &token),
            "the token cannot be read",
            "{name}"
        );
    }
}

#[test]
fn the_clock_of_the_issuer_may_differ_a_little() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    for (name, value) in [("exp", NOW_S - 59), ("nbf", NOW_S + 60)] {
        let token = signer.sign(&header(), &with(claims(), name, json!(value)));
        assert!(check(&tokens, &token).is_ok(), "{name}");
    }
}

#[test]
fn a_token_without_signature_is_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let none = json!({"alg": "none", "kid": "1"});
    for token in [
        format!("{}.", unsigned(&none, &claims())),
        format!("{}.", unsigned(&header(), &claims())),
        unsigned(&header(), &claims()),
    ] {
        assert!(check(&tokens, &token).is_err(), "{token}");
    }
}

/// An attacker signs with the public key as a shared secret, and says so in the header.
#[test]
fn a_public_key_is_no_shared_secret() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let content = unsigned(&json!({"alg": "HS256", "kid": "1"}), &claims());
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, signer.point());
    let signature = ring::hmac::sign(&secret, content.as_bytes());
    let token = format!("{content}.{}", BASE64URL_NOPAD.encode(signature.as_ref()));
    let wanted = "the token's algorithm is not RS256 or ES256";
    assert_eq!(message(&tokens, &token), wanted);
}

#[test]
fn the_algorithm_must_be_that_of_the_key() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let token = signer.sign(&with(header(), "alg", json!("RS256")), &claims());
    assert!(message(&tokens, &token).contains("signature is wrong"));
}

#[test]
fn another_key_or_key_id_is_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let forged = Signer::new().sign(&header(), &claims());
    let unknown = signer.sign(&with(header(), "kid", json!("2")), &claims());
    for token in [forged, unknown] {
        assert!(message(&tokens, &token).contains("signature is wrong"));
    }
}

#[test]
fn headers_of_other_kinds_of_tokens_are_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let critical = with(header(), "crit", json!(["exp"]));
    let critical = signer.sign(&critical, &claims());
    assert_eq!(
        message(&tokens, &critical),
        "the token has critical extensions"
    );
    let logout = with(header(), "typ", json!("logout+jwt"));
    let logout = signer.sign(&logout, &claims());
    assert_eq!(
        message(&tokens, &logout),
        "the token is not an access token"
    );
}

/// Fuzzing: a token with a changed byte is refused, and nothing panics.
#[test]
fn changed_tokens_are_refused() {
    let signer = Signer::new();
    let tokens = tokens(&[signer.public("1")]);
    let token = signer.sign(&header(), &claims());
    let mut random = crate::testing::Random::new(3);
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = b"ABCabc019-_.={"[random.below(14)];
        let changed = String::from_utf8(changed).unwrap();
        assert!(
            changed == token || check(&tokens, &changed).is_err(),
            "{changed}"
        );
    }
    for _ in 0..500 {
        let bytes = random.bytes_of(60, b"eyJ.{}\"-_ \xc3\xa9");
        let _ = check(&tokens, &String::from_utf8_lossy(&bytes)).unwrap_err();
    }
}

#[test]
fn secret_keys_and_keys_for_encryption_are_skipped() {
    let signer = Signer::new();
    let secret = json!({"kty": "oct", "alg": "HS256", "k": "c2VjcmV0"});
    let encryption = with(signer.public("1"), "use", json!("enc"));
    let only = json!({"keys": [secret, encryption]}).to_string();
    assert!(Keys::parse(&only).is_err());
    let both = json!({"keys": [secret, signer.public("1")]}).to_string();
    assert_eq!(
        Keys::parse(&both)
            .unwrap()
            .of(Algorithm::Es256, None)
            .count(),
        1
    );
}

#[test]
fn without_issuers_no_token_is_taken() {
    let refusal = Tokens::default().check("a.b.c").unwrap_err();
    assert_eq!(refusal.message, "this server takes no tokens");
}

/// Oracle: the example of RFC 7515, section A.2.
#[test]
fn a_published_rs256_signature_is_verified() {
    let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0\
             Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXn\
             dS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5Ih\
             lJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl\
                 LmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZm\
                 h7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyT\
                 yWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqt\
                 FZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_Io\
                 ypGlUPQGe77Rw";
    let set = json!({"keys": [{"kty": "RSA", "n": n, "e": "AQAB"}]}).to_string();
    let keys = Keys::parse(&set).unwrap();
    let parts = Parts::of(token).unwrap();
    let key = keys.of(Algorithm::Rs256, None).next().unwrap();
    assert!(key.is_signature(parts.signed.as_bytes(), &parts.signature));
    assert!(!key.is_signature(b"other", &parts.signature));
}

/// Oracle: the example of RFC 7515, section A.3.
#[test]
fn a_published_es256_signature_is_verified() {
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl\
                 LmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISl\
                 SApmWQxfKTUJqPP3-Kg6NU1Q";
    let set = json!({"keys": [{
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }]})
    .to_string();
    let keys = Keys::parse(&set).unwrap();
    let parts = Parts::of(token).unwrap();
    let key = keys.of(Algorithm::Es256, None).next().unwrap();
    assert!(key.is_signature(parts.signed.as_bytes(), &parts.signature));
}
