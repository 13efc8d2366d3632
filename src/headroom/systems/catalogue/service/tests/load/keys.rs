//! Certificates of a test: an authority, a server and a client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Files with keys; the folder lives as long as this.
pub struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    /// Make them.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(DnType::CommonName, "CA");
        let certificate = ca.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(ca, key);
        for name in ["localhost", "alice"] {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            let certificate = params.signed_by(&key, &issuer).unwrap();
            let path = |end: &str| folder.path().join(format!("{name}.{end}"));
            std::fs::write(path("pem"), certificate.pem()).unwrap();
            std::fs::write(path("key"), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    /// Return the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Return the settings of a server that wants a client certificate.
    pub fn server(&self) -> Arc<ServerConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.path("ca.pem"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let key = PrivateKeyDer::from_pem_file(self.path("localhost.key")).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(vec![certificate(&self.path("localhost.pem"))], key);
        Arc::new(config.unwrap())
    }

    /// Return a job's part about encryption.
    pub fn client(&self, version: &str, resumes: bool) -> serde_json::Value {
        serde_json::json!({
            "ca": self.path("ca.pem"),
            "certificate": self.path("alice.pem"),
            "key": self.path("alice.key"),
            "name": "localhost",
            "version": version,
            "resumes": resumes,
        })
    }
}

fn certificate(path: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(path).unwrap()
}
