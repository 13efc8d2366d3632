//! Chains of proxies, good ones and each fault.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use rustls_pki_types::pem::PemObject as _;

use super::*;
use crate::security::certificate::{Identity, identity};
use crate::testing::pki::{
    ALTERNATIVE_NAME, BASIC_CONSTRAINTS, COMMON_NAME, Ca, Holder, INDEPENDENT, KEY_USAGE, LIMITED,
    Proxy, UNIT, sequence, tlv,
};

const DAY_S: u64 = 86_400;
/// In 2026.
const NOW_S: u64 = 20_600 * DAY_S;

fn verifier(ca: &Ca) -> ProxyVerifier {
    let mut roots = RootCertStore::empty();
    roots.add(ca.certificate.clone()).unwrap();
    verifier_of(roots)
}

fn verifier_of(roots: RootCertStore) -> ProxyVerifier {
    let provider = Arc::new(default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let users = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    ProxyVerifier::new(users.build().unwrap(), 3, algorithms)
}

fn verify_at(ca: &Ca, holder: &Holder, now_s: u64) -> Result<(), Error> {
    let (first, rest) = holder.chain.split_first().unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now_s));
    verifier(ca)
        .verify_client_cert(first, rest, now)
        .map(|_| ())
}

fn verify(ca: &Ca, holder: &Holder) -> Result<(), Error> {
    verify_at(ca, holder, NOW_S)
}

/// Return the fault that a proxy is refused for.
fn fault(result: Result<(), Error>) -> ProxyError {
    match result {
        Err(Error::InvalidCertificate(CertificateError::Other(other))) => {
            *other.0.downcast_ref().unwrap()
        }
        other => panic!("{other:?}"),
    }
}

fn refused(proxy: &Proxy) -> ProxyError {
    let ca = Ca::new("CA");
    fault(verify(&ca, &ca.issue("alice", 1).proxy(proxy)))
}

#[test]
fn a_user_and_its_proxies_have_the_name_of_the_user() {
    let ca = Ca::new("CA");
    let mut holder = ca.issue("alice", 1);
    for count in 0..=3 {
        verify(&ca, &holder).unwrap();
        let wanted = Identity {
            subject: "/O=Grid/CN=alice".to_owned(),
            is_proxy: count > 0,
            is_limited: false,
        };
        assert_eq!(identity(&holder.chain), Some(wanted));
        holder = holder.proxy(&Proxy::default());
    }
}

/// Oracle: a limited proxy of a proxy of a user (RSA), made and accepted by OpenSSL 3.
#[test]
fn a_chain_that_openssl_made_is_accepted() {
    let chain = CertificateDer::pem_slice_iter(include_bytes!("openssl.pem"));
    let mut chain: Vec<_> = chain.collect::<Result<_, _>>().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(chain.pop().unwrap()).unwrap();
    let in_2030 = UnixTime::since_unix_epoch(Duration::from_secs(1_900_000_000));
    verifier_of(roots)
        .verify_client_cert(&chain[0], &chain[1..], in_2030)
        .unwrap();
    let wanted = Identity {
        subject: "/DC=example/DC=grid/OU=People/CN=Alice Example".to_owned(),
        is_proxy: true,
        is_limited: true,
    };
    assert_eq!(identity(&chain), Some(wanted));
}

#[test]
fn a_chain_with_one_limited_proxy_is_limited() {
    let ca = Ca::new("CA");
    let limited = Proxy {
        policy: LIMITED,
        ..Proxy::default()
    };
    let holder = ca
        .issue("alice", 1)
        .proxy(&limited)
        .proxy(&Proxy::default());
    verify(&ca, &holder).unwrap();
    assert!(identity(&holder.chain).unwrap().is_limited);
}

#[test]
fn a_chain_deeper_than_the_settings_is_refused() {
    let ca = Ca::new("CA");
    let mut holder = ca.issue("alice", 1);
    for _ in 0..4 {
        holder = holder.proxy(&Proxy::default());
    }
    assert_eq!(fault(verify(&ca, &holder)), ProxyError::TooDeep);
}

#[test]
fn a_proxy_limits_how_many_follow_it() {
    let ca = Ca::new("CA");
    let last = |max_below| Proxy {
        max_below: Some(max_below),
        ..Proxy::default()
    };
    let holder = ca.issue("alice", 1).proxy(&last(1)).proxy(&last(0));
    verify(&ca, &holder).unwrap();
    let holder = holder.proxy(&Proxy::default());
    assert_eq!(fault(verify(&ca, &holder)), ProxyError::PathLength);
}

#[test]
fn a_proxy_is_valid_in_its_time_only() {
    let ca = Ca::new("CA");
    let proxy = Proxy {
        not_before: "260528",
        not_after: "260529",
        ..Proxy::default()
    };
    let holder = ca.issue("alice", 1).proxy(&proxy);
    let begin_s = 20_601 * DAY_S;
    assert_eq!(
        fault(verify_at(&ca, &holder, begin_s - 1)),
        ProxyError::Time
    );
    verify_at(&ca, &holder, begin_s).unwrap();
    let end_s = begin_s + DAY_S;
    assert_eq!(fault(verify_at(&ca, &holder, end_s + 1)), ProxyError::Time);
}

#[test]
fn an_expired_proxy_in_the_middle_is_refused() {
    let ca = Ca::new("CA");
    let expired = Proxy {
        not_after: "250101",
        ..Proxy::default()
    };
    let holder = ca
        .issue("alice", 1)
        .proxy(&expired)
        .proxy(&Proxy::default());
    assert_eq!(fault(verify(&ca, &holder)), ProxyError::Time);
}

#[test]
fn the_name_must_be_that_of_the_issuer_and_one_common_name() {
    let other = Ca::new("CA").issue("bob", 1);
    let (_, bob) = X509Certificate::from_der(&other.chain[0]).unwrap();
    let wrong = [
        (
            Some(bob.subject().as_raw().to_vec()),
            vec![(COMMON_NAME, "1")],
        ),
        (None, vec![]),
        (None, vec![(UNIT, "1")]),
        (None, vec![(COMMON_NAME, "1"), (COMMON_NAME, "2")]),
        (Some(sequence(&[])), vec![(COMMON_NAME, "1")]),
    ];
    for (base, added) in wrong {
        let proxy = Proxy {
            base,
            added,
            ..Proxy::default()
        };
        assert_eq!(refused(&proxy), ProxyError::Name);
    }
}

#[test]
fn a_proxy_that_another_user_signed_is_refused() {
    let ca = Ca::new("CA");
    let (alice, mallory) = (ca.issue("alice", 1), ca.issue("alice", 2));
    let mut forged = mallory.proxy(&Proxy::default());
    forged.chain.truncate(1);
    forged.chain.extend(alice.chain);
    assert_eq!(fault(verify(&ca, &forged)), ProxyError::Signature);
}

#[test]
fn a_proxy_that_a_ca_signed_is_refused() {
    let ca = Ca::new("CA");
    let authority = ca.issue_with("Sub CA", 1, |params| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    let error = verify(&ca, &authority.proxy(&Proxy::default())).unwrap_err();
    assert!(matches!(error, Error::InvalidCertificate(_)), "{error}");
    assert!(
        format!("{error:?}").contains("CaUsedAsEndEntity"),
        "{error:?}"
    );
}

#[test]
fn a_proxy_of_a_user_of_another_ca_is_refused() {
    let stranger = Ca::new("CA").issue("alice", 1).proxy(&Proxy::default());
    let error = verify(&Ca::new("CA"), &stranger).unwrap_err();
    assert!(matches!(error, Error::InvalidCertificate(_)), "{error:?}");
}

#[test]
fn a_proxy_without_its_user_is_refused() {
    let ca = Ca::new("CA");
    let mut holder = ca.issue("alice", 1).proxy(&Proxy::default());
    holder.chain.truncate(1);
    assert_eq!(fault(verify(&ca, &holder)), ProxyError::NoUser);
}

#[test]
fn the_extension_of_proxies_must_be_critical_and_of_a_known_policy() {
    let not_critical = Proxy {
        is_critical: false,
        ..Proxy::default()
    };
    assert_eq!(refused(&not_critical), ProxyError::Policy);
    let independent = Proxy {
        policy: INDEPENDENT,
        ..Proxy::default()
    };
    assert_eq!(refused(&independent), ProxyError::Policy);
}

#[test]
fn a_proxy_is_no_ca_has_no_other_names_and_no_unknown_critical_extension() {
    let ca = sequence(&[&[1, 1, 0xFF]]);
    let names = sequence(&[&tlv(0x82, &[b"a.example"])]);
    let no_signatures = tlv(3, &[&[5, 0x20]]);
    for extension in [
        (BASIC_CONSTRAINTS, true, ca),
        (ALTERNATIVE_NAME, false, names),
        (KEY_USAGE, true, no_signatures),
        (&[0x2A, 3, 4][..], true, vec![5, 0]),
    ] {
        let proxy = Proxy {
            extensions: vec![extension],
            ..Proxy::default()
        };
        assert_eq!(refused(&proxy), ProxyError::Extension);
    }
}

#[test]
fn a_user_whose_key_may_not_sign_makes_no_proxies() {
    let ca = Ca::new("CA");
    let user = ca.issue_with("alice", 1, |params| {
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyEncipherment];
    });
    let result = verify(&ca, &user.proxy(&Proxy::default()));
    assert_eq!(fault(result), ProxyError::KeyUsage);
}

#[test]
fn both_algorithms_of_a_certificate_must_be_the_same() {
    let proxy = Proxy {
        has_other_inner_algorithm: true,
        ..Proxy::default()
    };
    assert_eq!(refused(&proxy), ProxyError::Signature);
}

/// Fuzzing: a chain with a changed bit in the proxy is refused, and nothing panics.
#[test]
fn changed_proxies_are_refused() {
    let ca = Ca::new("CA");
    let mut holder = ca.issue("alice", 1).proxy(&Proxy::default());
    let original = holder.chain[0].clone();
    for at in 0..original.len() * 8 {
        let mut changed = original.to_vec();
        changed[at / 8] ^= 1 << (at % 8);
        holder.chain[0] = CertificateDer::from(changed);
        assert!(verify(&ca, &holder).is_err(), "bit {at}");
        let _ = identity(&holder.chain);
    }
    for length in 0..original.len() {
        holder.chain[0] = CertificateDer::from(original[..length].to_vec());
        assert!(verify(&ca, &holder).is_err(), "cut at {length}");
    }
}
