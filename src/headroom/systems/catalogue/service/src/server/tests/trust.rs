//! Tickets, tokens, and the exchange of certificates and keys while the server runs.

use std::path::Path;

use rustls::{HandshakeKind, version};
use serde_json::json;

use super::security::{
    ALICE, PROXY, VERSIONS, client, encrypt, proof, proof_in, settings, trust, with_proxies,
};
use super::*;
use crate::security::{tls, tokens};
use crate::testing::pki::{Ca, Proxy};
use crate::testing::tokens::Signer;

fn with_tickets(folder: &Path) -> impl Fn(&mut tls::Settings) {
    use std::os::unix::fs::PermissionsExt as _;

    let path = folder.join("tickets");
    std::fs::write(&path, "0123456789abcdef".repeat(4)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    move |tls| {
        with_proxies(tls);
        tls.ticket_keys = Some(path.clone());
    }
}

#[tokio::test]
async fn a_session_resumes_at_another_server_with_its_identity() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let load = || trust(folder.path(), &ca, with_tickets(folder.path()));
    let first = start_with(Settings::default(), load()).await;
    let second = start_with(Settings::default(), load()).await;
    let proxy = ca.issue("alice", 2).proxy(&Proxy::default());
    for version in VERSIONS {
        let client = client(&ca, Some(&proxy), version);
        for (server, wanted) in [
            (&first, HandshakeKind::Full),
            (&second, HandshakeKind::Resumed),
            (&first, HandshakeKind::Resumed),
        ] {
            let mut stream = encrypt(server, &client).await.unwrap();
            assert_eq!(proof_in(&mut stream).await.as_deref(), Some(PROXY));
            assert_eq!(
                stream.get_ref().1.handshake_kind(),
                Some(wanted),
                "{version:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_session_does_not_resume_at_a_server_with_other_keys() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let load = || trust(folder.path(), &ca, |_| {});
    let first = start_with(Settings::default(), load()).await;
    let second = start_with(Settings::default(), load()).await;
    for version in VERSIONS {
        let client = client(&ca, Some(&ca.issue("alice", 2)), version);
        for server in [&first, &second] {
            let mut stream = encrypt(server, &client).await.unwrap();
            assert_eq!(proof_in(&mut stream).await.as_deref(), Some(ALICE));
            let kind = stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(HandshakeKind::Full));
        }
    }
}

/// A ticket says that the certificate was valid once; since then it may be revoked.
#[tokio::test]
async fn a_resumed_session_of_a_revoked_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let crl = folder.path().join("ca.r0");
    std::fs::write(&crl, ca.crl(&[], 2400)).unwrap();
    let with_tickets = with_tickets(folder.path());
    let settings = settings(folder.path(), &ca, |tls| {
        with_tickets(tls);
        tls.crls = Some(crl.clone());
    });
    let trust = Trust::load(&settings).unwrap();
    let server = start_with(Settings::default(), trust).await;
    let clients = VERSIONS.map(|version| client(&ca, Some(&ca.issue("alice", 2)), version));
    for client in &clients {
        assert_eq!(proof(&server, client).await.as_deref(), Some(ALICE));
    }
    std::fs::write(&crl, ca.crl(&[2], 2400)).unwrap();
    server.reload.load(&settings).unwrap();
    for client in &clients {
        let reply = proof(&server, client).await.unwrap();
        assert!(
            reply.starts_with("5 the certificate of the resumed session"),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn trust_is_exchanged_while_connections_stay_open() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Ca::new("Old CA"), Ca::new("New CA"));
    let trust = trust(folder.path(), &old, |_| {});
    let server = start_with(Settings::default(), trust).await;
    let old_client = client(&old, Some(&old.issue("alice", 2)), &version::TLS13);
    let mut open = encrypt(&server, &old_client).await.unwrap();
    assert_eq!(proof_in(&mut open).await.as_deref(), Some(ALICE));
    std::fs::remove_file(folder.path().join("localhost.pem")).unwrap();
    let settings = settings(folder.path(), &new, |_| {});
    server.reload.load(&settings).unwrap();
    let new_client = client(&new, Some(&new.issue("alice", 2)), &version::TLS13);
    assert_eq!(proof(&server, &new_client).await.as_deref(), Some(ALICE));
    assert_eq!(proof(&server, &old_client).await, None);
    assert_eq!(ask(&mut open, b"whoami\n").await, "0\nalice\n\x04\x04");
    std::fs::write(folder.path().join("localhost.key"), "rubbish").unwrap();
    let error = server.reload.load(&settings).unwrap_err().to_string();
    assert!(error.contains("localhost.key"), "{error}");
    assert_eq!(proof(&server, &new_client).await.as_deref(), Some(ALICE));
}

#[tokio::test]
async fn a_token_logs_in_over_tls_only() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, signer) = (Ca::new("CA"), Signer::new());
    let keys = folder.path().join("keys.json");
    write_keys(&keys, &signer);
    let mut settings = settings(folder.path(), &ca, |_| {});
    settings.tokens.issuers.push(tokens::Issuer {
        issuer: "https://issuer.example/".to_owned(),
        audiences: vec!["catalogue".to_owned()],
        keys: keys.clone(),
        ..tokens::Issuer::default()
    });
    let claims = json!({
        "iss": "https://issuer.example/", "sub": "1234", "aud": "catalogue", "exp": 9_999_999_999_u64,
    });
    let token = signer.sign(&json!({"alg": "ES256", "kid": "1"}), &claims);
    let login = format!("0 alice\n6 {token}\n\nproof\n");
    let server = start_with(Settings::default(), Trust::load(&settings).unwrap()).await;
    let client = client(&ca, None, &version::TLS13);
    let mut stream = encrypt(&server, &client).await.unwrap();
    let reply = ask(&mut stream, login.as_bytes()).await;
    assert_eq!(reply, "0\ntoken of 1234\n\x04\x04");
    let mut stream = connect(&server).await;
    let reply = ask(&mut stream, format!("plain\n\n{login}").as_bytes()).await;
    assert_eq!(
        reply,
        "OK\n5 a token must be encrypted; choose `ssl`\n\x04\x04"
    );
    write_keys(&keys, &Signer::new());
    server.reload.load(&settings).unwrap();
    let mut stream = encrypt(&server, &client).await.unwrap();
    let reply = ask(&mut stream, login.as_bytes()).await;
    assert!(
        reply.starts_with("5 the token's signature is wrong"),
        "{reply}"
    );
}

fn write_keys(path: &Path, signer: &Signer) {
    let set = json!({"keys": [signer.public("1")]});
    std::fs::write(path, set.to_string()).unwrap();
}
