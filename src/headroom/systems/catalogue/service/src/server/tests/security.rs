//! Certificates, proxies, tickets, tokens, and their exchange while the server runs.

use std::path::Path;

use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{HandshakeKind, SupportedProtocolVersion, version};
use serde_json::json;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::security::{self, proxy, tls, tokens};
use crate::testing::pki::{Ca, Holder, LIMITED, Proxy};
use crate::testing::tokens::Signer;

type Version = &'static SupportedProtocolVersion;
const VERSIONS: [Version; 2] = [&version::TLS13, &version::TLS12];

fn settings(folder: &Path, ca: &Ca, change: impl FnOnce(&mut tls::Settings)) -> security::Settings {
    std::fs::write(folder.join("ca.pem"), &ca.pem).unwrap();
    let name = "localhost";
    if !folder.join("localhost.pem").exists() {
        ca.issue(name, 1).write(folder, name);
    }
    let mut tls = tls::Settings {
        certificate: folder.join("localhost.pem"),
        key: folder.join("localhost.key"),
        client_cas: Some(folder.join("ca.pem")),
        ..tls::Settings::default()
    };
    change(&mut tls);
    security::Settings {
        tls: Some(tls),
        ..security::Settings::default()
    }
}

/// Load the trust in a CA, with a certificate for the server in `folder`.
pub(super) fn trust(folder: &Path, ca: &Ca, change: impl FnOnce(&mut tls::Settings)) -> Trust {
    Trust::load(&settings(folder, ca, change)).unwrap()
}

fn with_proxies(tls: &mut tls::Settings) {
    tls.proxies = proxy::Settings {
        is_enabled: true,
        max_depth: 2,
    };
}

fn client(ca: &Ca, holder: Option<&Holder>, version: Version) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let keys = provider.key_provider;
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots);
    let config = match holder {
        None => builder.with_no_client_auth(),
        Some(holder) => {
            let key = keys.load_private_key(holder.private_key()).unwrap();
            // Not checked by the client, whose library does not know proxies.
            let certified = CertifiedKey::new(holder.chain.clone(), key);
            let resolver = Arc::new(SingleCertAndKey::from(certified));
            builder.with_client_cert_resolver(resolver)
        }
    };
    Arc::new(config).into()
}

async fn encrypt(server: &Running, client: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let mut stream = connect(server).await;
    stream.write_all(b"ssl\n\n").await?;
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    client
        .connect("localhost".try_into().unwrap(), stream)
        .await
}

/// Ask how the client proved who it is; nothing if the connection is refused.
async fn proof(server: &Running, client: &TlsConnector) -> Option<String> {
    let mut stream = encrypt(server, client).await.ok()?;
    proof_in(&mut stream).await
}

async fn proof_in(stream: &mut TlsStream<TcpStream>) -> Option<String> {
    stream.write_all(b"0 alice\n\nproof\n").await.ok()?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\x04\x04") {
        reply.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(reply).unwrap())
}

const ALICE: &str = "0\n/O=Grid/CN=alice proxy=false limited=false\n\x04\x04";
const PROXY: &str = "0\n/O=Grid/CN=alice proxy=true limited=false\n\x04\x04";

#[tokio::test]
async fn a_certificate_logs_in() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let trust = trust(folder.path(), &ca, |_| {});
    let server = start_with(Settings::default(), trust).await;
    for version in VERSIONS {
        let alice = client(&ca, Some(&ca.issue("alice", 2)), version);
        assert_eq!(proof(&server, &alice).await.as_deref(), Some(ALICE));
        let stranger = Ca::new("CA").issue("alice", 2);
        let stranger = client(&ca, Some(&stranger), version);
        assert_eq!(proof(&server, &stranger).await, None);
        let nobody = proof(&server, &client(&ca, None, version)).await;
        assert_eq!(nobody.as_deref(), Some("5 wrong password\n\x04\x04"));
    }
}

#[tokio::test]
async fn a_proxy_logs_in_as_its_user_if_proxies_are_enabled() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let with = start_with(Settings::default(), trust(folder.path(), &ca, with_proxies)).await;
    let without = start_with(Settings::default(), trust(folder.path(), &ca, |_| {})).await;
    let limited = Proxy {
        policy: LIMITED,
        ..Proxy::default()
    };
    let user = ca.issue("alice", 2);
    let (first, limited) = (user.proxy(&Proxy::default()), user.proxy(&limited));
    let (second, third) = (
        first.proxy(&Proxy::default()),
        limited.proxy(&Proxy::default()),
    );
    for version in VERSIONS {
        for (holder, is_limited) in [
            (&first, false),
            (&second, false),
            (&limited, true),
            (&third, true),
        ] {
            let reply = proof(&with, &client(&ca, Some(holder), version)).await;
            let wanted = PROXY.replace("limited=false", &format!("limited={is_limited}"));
            assert_eq!(reply, Some(wanted), "{version:?}");
        }
        let deep = second.proxy(&Proxy::default());
        assert_eq!(proof(&with, &client(&ca, Some(&deep), version)).await, None);
        assert_eq!(
            proof(&without, &client(&ca, Some(&first), version)).await,
            None
        );
        let reply = proof(&with, &client(&ca, Some(&user), version)).await;
        assert_eq!(reply.as_deref(), Some(ALICE));
    }
}

/// A thief of the public chain has no key of the proxy.
#[tokio::test]
async fn a_proxy_without_its_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let server = start_with(Settings::default(), trust(folder.path(), &ca, with_proxies)).await;
    let user = ca.issue("alice", 2);
    let mut thief = user.proxy(&Proxy::default());
    thief.chain = user.proxy(&Proxy::default()).chain;
    for version in VERSIONS {
        let client = client(&ca, Some(&thief), version);
        assert_eq!(proof(&server, &client).await, None);
    }
}

#[tokio::test]
async fn revoked_certificates_and_their_proxies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let crl = folder.path().join("ca.r0");
    std::fs::write(&crl, ca.crl(&[2], 2400)).unwrap();
    let trust = trust(folder.path(), &ca, |tls| {
        with_proxies(tls);
        tls.crls = Some(crl);
    });
    let server = start_with(Settings::default(), trust).await;
    let (revoked, good) = (ca.issue("alice", 2), ca.issue("alice", 3));
    for (holder, wanted) in [
        (&revoked, None),
        (&revoked.proxy(&Proxy::default()), None),
        (&good, Some(ALICE)),
        (&good.proxy(&Proxy::default()), Some(PROXY)),
    ] {
        let reply = proof(&server, &client(&ca, Some(holder), &version::TLS13)).await;
        assert_eq!(reply.as_deref(), wanted);
    }
}

#[tokio::test]
async fn a_ca_needs_a_current_crl_unless_the_settings_allow_it() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, other) = (Ca::new("CA"), Ca::new("Other CA"));
    let write = |name: &str, crl: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, crl).unwrap();
        Some(path)
    };
    let expired = write("expired.r0", ca.crl(&[], 2021));
    let of_other = write("other.r0", other.crl(&[], 2400));
    for (crls, is_allowed) in [
        (&expired, false),
        (&expired, true),
        (&of_other, false),
        (&of_other, true),
    ] {
        let trust = trust(folder.path(), &ca, |tls| {
            tls.crls.clone_from(crls);
            tls.is_expired_crl_allowed = is_allowed;
            tls.is_missing_crl_allowed = is_allowed;
        });
        let server = start_with(Settings::default(), trust).await;
        let alice = client(&ca, Some(&ca.issue("alice", 2)), &version::TLS13);
        assert_eq!(
            proof(&server, &alice).await.is_some(),
            is_allowed,
            "{crls:?}"
        );
    }
}

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
    std::fs::write(&keys, json!({"keys": [signer.public("1")]}).to_string()).unwrap();
    let mut settings = settings(folder.path(), &ca, |_| {});
    settings.tokens.issuers.push(tokens::Issuer {
        issuer: "https://issuer.example/".to_owned(),
        audiences: vec!["catalogue".to_owned()],
        keys,
        ..tokens::Issuer::default()
    });
    let claims = json!({
        "iss": "https://issuer.example/", "sub": "1234", "aud": "catalogue", "exp": 9_999_999_999_u64,
    });
    let token = signer.sign(&json!({"alg": "ES256", "kid": "1"}), &claims);
    let login = format!("0 alice\n6 {token}\n\nproof\n");
    let server = start_with(Settings::default(), Trust::load(&settings).unwrap()).await;
    let mut stream = encrypt(&server, &client(&ca, None, &version::TLS13))
        .await
        .unwrap();
    let reply = ask(&mut stream, login.as_bytes()).await;
    assert_eq!(reply, "0\ntoken of 1234\n\x04\x04");
    let mut stream = connect(&server).await;
    let reply = ask(&mut stream, format!("plain\n\n{login}").as_bytes()).await;
    assert_eq!(
        reply,
        "OK\n5 a token must be encrypted; choose `ssl`\n\x04\x04"
    );
}

/// Urgent data is not part of TLS: the kernel must not mix it in.
#[tokio::test]
async fn an_urgent_byte_does_not_harm_an_encrypted_connection() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let server = start_with(Settings::default(), trust(folder.path(), &ca, |_| {})).await;
    let alice = client(&ca, Some(&ca.issue("alice", 2)), &version::TLS13);
    let mut stream = encrypt(&server, &alice).await.unwrap();
    assert_eq!(proof_in(&mut stream).await.as_deref(), Some(ALICE));
    for _ in 0..20 {
        let socket = socket2::SockRef::from(stream.get_ref().0);
        socket.send_out_of_band(&[crate::wire::CAN]).unwrap();
        assert_eq!(ask(&mut stream, b"whoami\n").await, "0\nalice\n\x04\x04");
    }
}

#[test]
fn files_that_do_not_exist_or_hold_nothing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    std::fs::write(folder.path().join("empty"), "").unwrap();
    for name in ["missing", "empty"] {
        let path = folder.path().join(name);
        for change in [
            |tls: &mut tls::Settings, path: &Path| tls.certificate = path.to_owned(),
            |tls: &mut tls::Settings, path: &Path| tls.key = path.to_owned(),
            |tls: &mut tls::Settings, path: &Path| tls.client_cas = Some(path.to_owned()),
            |tls: &mut tls::Settings, path: &Path| tls.crls = Some(path.to_owned()),
            |tls: &mut tls::Settings, path: &Path| tls.ticket_keys = Some(path.to_owned()),
        ] {
            let settings = settings(folder.path(), &ca, |tls| change(tls, &path));
            let error = Trust::load(&settings).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
