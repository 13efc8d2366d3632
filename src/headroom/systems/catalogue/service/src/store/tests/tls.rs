//! TLS to PostgreSQL, against a server that refuses all clients once the handshake is done; and to
//! MariaDB itself.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::security::tls::{Settings as TlsSettings, Tls};
use crate::store::Database;
use crate::store::testing::ca_of_mariadb;

/// An error of the server: fields with a letter, each ended by a zero.
const REFUSED: &[u8] = b"SFATAL\0VFATAL\0C28000\0Mnobody is let in\0\0";

#[tokio::test]
async fn a_certificate_of_the_named_ca_for_the_named_host_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    for ca in ["right", "wrong"] {
        certify(folder.path(), ca);
    }
    let path = |name: &str| folder.path().join(name);
    let tls = Tls::load(&TlsSettings {
        certificate: path("right-server.pem"),
        key: path("right-server.key"),
        ..TlsSettings::default()
    });
    let tls = tls.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(refuse_all(listener, tls));
    for (host, ca, reason) in [
        ("localhost", "right", "nobody is let in"),
        ("localhost", "wrong", "certificate"),
        ("127.0.0.1", "right", "certificate"),
    ] {
        let ca = path(&format!("{ca}.pem"));
        let url = format!(
            "postgres://me@{host}:{port}/name?sslrootcert={}",
            ca.display()
        );
        let settings = Settings {
            databases: vec![url.parse().unwrap()],
            ..Settings::default()
        };
        match Store::open(settings).await.err() {
            Some(StoreError::Away(told)) if told.contains(reason) => {}
            other => panic!("{host} with the {} CA: {other:?}", ca.display()),
        }
    }
}

#[tokio::test]
async fn mariadb_is_encrypted_for_the_named_ca_and_host() {
    let (Some(place), Some(ca)) = (database(Dialect::Mysql), ca_of_mariadb()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path(), "wrong");
    let wrong = folder.path().join("wrong.pem");
    let Database::Mysql(plain) = &place.settings.databases[0] else {
        panic!("another database");
    };
    let cipher = async |url: String| {
        let settings = Settings {
            databases: vec![url.parse().unwrap()],
            ..Settings::default()
        };
        let store = Store::open(settings).await?;
        let query = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS \
                     WHERE VARIABLE_NAME = 'SSL_CIPHER'";
        let found = one(&store, Sql::new(query)).await?;
        Ok::<_, StoreError>(found.rows[0][0].clone())
    };
    assert_eq!(cipher(plain.clone()).await, Ok(text("")));
    let named = plain.replace("127.0.0.1", "localhost");
    let url = format!("{named}?sslrootcert={}", ca.display());
    let found = cipher(url).await.unwrap();
    assert_ne!(found, text(""));
    for (url, ca) in [
        (&named, &wrong),
        (plain, &ca),
        (&named, &folder.path().join("no")),
    ] {
        let url = format!("{url}?sslrootcert={}", ca.display());
        let refused = cipher(url.clone()).await;
        assert!(
            matches!(refused, Err(StoreError::Away(_))),
            "{url}: {refused:?}"
        );
    }
}

fn certify(folder: &Path, name: &str) {
    let key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = ca.self_signed(&key).unwrap();
    std::fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
    let issuer = Issuer::new(ca, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(folder.join(format!("{name}-server.pem")), certificate.pem()).unwrap();
    std::fs::write(
        folder.join(format!("{name}-server.key")),
        key.serialize_pem(),
    )
    .unwrap();
}

async fn refuse_all(listener: TcpListener, tls: Tls) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        // A client that does not trust the certificate is gone before the end.
        let _ = refuse(stream, &tls).await;
    }
}

async fn refuse(mut stream: TcpStream, tls: &Tls) -> std::io::Result<()> {
    let mut request = [0; 8];
    stream.read_exact(&mut request).await?;
    assert_eq!(
        request[4..],
        80_877_103_u32.to_be_bytes(),
        "the client wants TLS first"
    );
    stream.write_all(b"S").await?;
    let (mut stream, _) = tls.accept(stream).await?;
    let length = stream.read_u32().await?;
    let mut start = vec![0; length as usize - 4];
    stream.read_exact(&mut start).await?;
    stream.write_u8(b'E').await?;
    stream
        .write_u32(4 + u32::try_from(REFUSED.len()).unwrap())
        .await?;
    stream.write_all(REFUSED).await?;
    stream.shutdown().await
}
