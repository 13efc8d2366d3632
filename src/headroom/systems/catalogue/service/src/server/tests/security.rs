//! Certificates of clients, their proxies, and lists of revoked ones.

use std::path::Path;

use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CipherSuite, SupportedProtocolVersion, version};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::security::{self, proxy, tls};
use crate::testing::pki::{Ca, Holder, LIMITED, Proxy};

pub(super) type Version = &'static SupportedProtocolVersion;
pub(super) const VERSIONS: [Version; 2] = [&version::TLS13, &version::TLS12];

pub(super) fn settings(
    folder: &Path,
    ca: &Ca,
    change: impl FnOnce(&mut tls::Settings),
) -> security::Settings {
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

pub(super) fn with_proxies(tls: &mut tls::Settings) {
    tls.proxies = proxy::Settings {
        is_enabled: true,
        max_depth: 2,
    };
}

pub(super) fn client(ca: &Ca, holder: Option<&Holder>, version: Version) -> TlsConnector {
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

pub(super) async fn encrypt(
    server: &Running,
    client: &TlsConnector,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut stream = connect(server).await;
    stream.write_all(b"ssl\n\n").await?;
    assert_eq!(read_until(&mut stream, b"\n").await, "OK\n");
    client
        .connect("localhost".try_into().unwrap(), stream)
        .await
}

/// Ask how the client proved who it is; nothing if the connection is refused.
pub(super) async fn proof(server: &Running, client: &TlsConnector) -> Option<String> {
    let mut stream = encrypt(server, client).await.ok()?;
    proof_in(&mut stream).await
}

pub(super) async fn proof_in(stream: &mut TlsStream<TcpStream>) -> Option<String> {
    stream.write_all(b"0 alice\n\nproof\n").await.ok()?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\x04\x04") {
        reply.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(reply).unwrap())
}

pub(super) const ALICE: &str = "0\n/O=Grid/CN=alice proxy=false limited=false\n\x04\x04";
pub(super) const PROXY: &str = "0\n/O=Grid/CN=alice proxy=true limited=false\n\x04\x04";

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
async fn the_server_chooses_the_suite_with_the_quickest_hash() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let server = start_with(Settings::default(), trust(folder.path(), &ca, |_| {})).await;
    // By itself this client would take AES-256 with SHA-384.
    let client = client(&ca, None, &version::TLS13);
    let stream = encrypt(&server, &client).await.unwrap();
    let suite = stream.get_ref().1.negotiated_cipher_suite().unwrap();
    assert_eq!(suite.suite(), CipherSuite::TLS13_AES_128_GCM_SHA256);
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

#[tokio::test]
async fn an_encrypted_client_that_reads_no_reply_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("CA");
    let settings = Settings {
        write_timeout: Duration::from_millis(20),
        ..Settings::default()
    };
    let server = start_with(settings, trust(folder.path(), &ca, |_| {})).await;
    let alice = client(&ca, Some(&ca.issue("alice", 2)), &version::TLS13);
    let mut stream = encrypt(&server, &alice).await.unwrap();
    assert_eq!(proof_in(&mut stream).await.as_deref(), Some(ALICE));
    let flood = async { while stream.write_all(&b"rows\n".repeat(100)).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), flood)
        .await
        .expect("the server closes");
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
