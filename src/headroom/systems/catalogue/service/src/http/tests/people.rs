//! Who is let in, and by which proof.

use std::path::Path;

use tokio_rustls::TlsConnector;

use super::*;
use crate::security::{tls, tokens};
use crate::testing::pki::{Ca, Holder};
use crate::testing::tokens::Signer;

#[tokio::test]
async fn persons_prove_who_they_are_and_have_their_rights() {
    let options = Options {
        is_without_guest: true,
        ..Options::default()
    };
    let server = started(options).await;
    let basic = |pair: &str| {
        let pair = data_encoding::BASE64.encode(pair.as_bytes());
        format!("Authorization: Basic {pair}\r\n")
    };
    let root = basic("root:secret");
    let line = "GET /v1/directories?path=/";
    let nobody = server.ask(line, None).await;
    assert_eq!((nobody.status, &nobody.body["code"]), (401, &json!(5)));
    assert!(nobody.head.contains("www-authenticate: bearer"));
    for wrong in [
        basic("root:guess"),
        "Authorization: Bearer a.b.c\r\n".to_owned(),
    ] {
        assert_eq!(
            server.ask_as(&wrong, line, None).await.status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(server.ask_as(&root, line, None).await.status, 200);
    let catalogue = &server.server.service.0;
    let mut client = catalogue.client("root").await.unwrap();
    let words = vec!["ann".to_owned(), "hush".to_owned()];
    client
        .call(&catalogue::call::Call::Command("user_create", words), 100)
        .await
        .unwrap();
    let ann = basic("ann:hush");
    let new = json!({"path": "/d"});
    let refused = server
        .ask_as(&ann, "POST /v1/directories", new.clone())
        .await;
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!(4)));
    assert_eq!(server.ask_as(&ann, "GET /v1/admin", None).await.status, 403);
    let state = server.ask_as(&root, "GET /v1/admin", None).await;
    assert_eq!(state.body["persons"], json!([{"name": "root", "count": 1}]));
    let shown = state.body["slow"].to_string();
    assert!(
        shown.contains("user_create") && !shown.contains("hush"),
        "{shown}"
    );
}

/// Files of a server that trusts a CA and an issuer of tokens.
fn trust(folder: &Path, ca: &Ca, signer: &Signer) -> Trust {
    ca.issue("localhost", 1).write(folder, "localhost");
    std::fs::write(folder.join("ca.pem"), &ca.pem).unwrap();
    let keys = json!({"keys": [signer.public("k")]});
    std::fs::write(folder.join("keys.json"), keys.to_string()).unwrap();
    let issuer = tokens::Issuer {
        issuer: "https://issuer".to_owned(),
        audiences: vec!["catalogue".to_owned()],
        keys: folder.join("keys.json"),
        scope: None,
        person_claim: Some("sub".to_owned()),
    };
    Trust::load(&crate::security::Settings {
        tls: Some(tls::Settings {
            certificate: folder.join("localhost.pem"),
            key: folder.join("localhost.key"),
            client_cas: Some(folder.join("ca.pem")),
            ..tls::Settings::default()
        }),
        tokens: tokens::Settings {
            issuers: vec![issuer],
            ..tokens::Settings::default()
        },
    })
    .unwrap()
}

fn connector(ca: &Ca, holder: Option<&Holder>) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca.certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match holder {
        None => builder.with_no_client_auth(),
        Some(holder) => builder
            .with_client_auth_cert(holder.chain.clone(), holder.private_key())
            .unwrap(),
    };
    Arc::new(config).into()
}

#[tokio::test]
async fn tokens_and_certificates_let_in_over_tls_only() {
    let folder = tempfile::tempdir().unwrap();
    let (ca, signer) = (Ca::new("CA"), Signer::new());
    let server = started(Options {
        trust: trust(folder.path(), &ca, &signer),
        is_without_guest: true,
        ..Options::default()
    })
    .await;
    let header = json!({"alg": "ES256", "kid": "k"});
    let claims = json!({
        "iss": "https://issuer", "aud": "catalogue", "sub": "root", "exp": 4_000_000_000_u64,
    });
    let bearer = format!(
        "Authorization: Bearer {}\r\n",
        signer.sign(&header, &claims)
    );
    let ask = async |holder: Option<&Holder>, headers: &str| {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let stream = connector(&ca, holder).connect(name, stream).await.unwrap();
        exchange(stream, "GET /v1/directories?path=/", headers, None).await
    };
    assert_eq!(ask(None, "").await.status, 401);
    assert_eq!(ask(None, &bearer).await.status, 200);
    let holder = ca.issue("root", 2);
    assert_eq!(
        ask(Some(&holder), "").await.status,
        401,
        "no one has its subject"
    );
    let catalogue = &server.server.service.0;
    let mut root = catalogue.client("root").await.unwrap();
    let words = vec!["root".to_owned(), "/O=Grid/CN=root".to_owned()];
    let call = catalogue::call::Call::Command("user_subject_add", words);
    root.call(&call, 100).await.unwrap();
    assert_eq!(ask(Some(&holder), "").await.status, 200);
    let counts = server.server.handshakes.counts();
    assert_eq!(counts[0], ("full", 4));
    let plain = started(Options {
        is_without_guest: true,
        ..Options::default()
    })
    .await;
    let refused = plain
        .ask_as(&bearer, "GET /v1/directories?path=/", None)
        .await;
    assert_eq!(refused.status, 401);
    let detail = refused.body["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("must be encrypted"), "{detail}");
}
