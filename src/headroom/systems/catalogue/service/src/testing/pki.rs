//! CAs, users and proxies, made for a test.
//!
//! Proxies are encoded here by hand: each part can be wrong, which a library for certificates would
//! not allow.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData as _,
    RevokedCertParams, SerialNumber, SigningKey as _, date_time_ymd,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// A certificate authority.
pub struct Ca {
    pub pem: String,
    pub certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key and the certificates that follow it.
pub struct Holder {
    pub chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

fn name(organization: &str, common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, organization);
    name.push(DnType::CommonName, common_name);
    name
}

impl Ca {
    pub fn new(common_name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = name("Grid", common_name);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Issue a certificate of `/O=Grid/CN=..`, also good for a server of this name.
    pub fn issue(&self, common_name: &str, serial: u64) -> Holder {
        self.issue_with(common_name, serial, |_| {})
    }

    pub fn issue_with(
        &self,
        common_name: &str,
        serial: u64,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Holder {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![common_name.to_owned()]).unwrap();
        params.distinguished_name = name("Grid", common_name);
        params.serial_number = Some(SerialNumber::from(serial));
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Holder {
            chain: vec![certificate.der().clone()],
            key,
        }
    }

    /// Issue a list of revoked certificates that is current until the begin of a year.
    pub fn crl(&self, serials: &[u64], next_update: i32) -> String {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(next_update, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}

impl Holder {
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    /// Write `NAME.pem` and `NAME.key`.
    pub fn write(&self, folder: &Path, name: &str) {
        let blocks = self.chain.iter().map(|der| {
            let text = data_encoding::BASE64_MIME.encode(der);
            format!("-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n")
        });
        std::fs::write(
            folder.join(format!("{name}.pem")),
            blocks.collect::<String>(),
        )
        .unwrap();
        let key = self.key.serialize_pem();
        std::fs::write(folder.join(format!("{name}.key")), key).unwrap();
    }

    /// Sign a proxy.
    pub fn proxy(&self, proxy: &Proxy) -> Holder {
        let key = KeyPair::generate().unwrap();
        let (_, issuer) = X509Certificate::from_der(&self.chain[0]).unwrap();
        let issuer = issuer.subject().as_raw().to_vec();
        let certificate = proxy.encode(&issuer, &key.subject_public_key_info(), &self.key);
        let mut chain = vec![CertificateDer::from(certificate)];
        chain.extend_from_slice(&self.chain);
        Holder { chain, key }
    }
}

pub const ALL_RIGHTS: &[u8] = &[0x2B, 6, 1, 5, 5, 7, 21, 1];
pub const INDEPENDENT: &[u8] = &[0x2B, 6, 1, 5, 5, 7, 21, 2];
pub const LIMITED: &[u8] = &[0x2B, 6, 1, 4, 1, 0x9B, 0x50, 1, 1, 1, 9];
pub const INFO: &[u8] = &[0x2B, 6, 1, 5, 5, 7, 1, 14];
pub const COMMON_NAME: &[u8] = &[0x55, 4, 3];
pub const UNIT: &[u8] = &[0x55, 4, 11];
pub const BASIC_CONSTRAINTS: &[u8] = &[0x55, 29, 19];
pub const KEY_USAGE: &[u8] = &[0x55, 29, 15];
pub const ALTERNATIVE_NAME: &[u8] = &[0x55, 29, 17];
const ECDSA_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];
const ECDSA_SHA384: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 3];

/// A proxy to be signed. The default is a good one.
#[derive(Clone)]
pub struct Proxy {
    /// The name if it is not that of the issuer.
    pub base: Option<Vec<u8>>,
    /// Parts after it: object identifier and value.
    pub added: Vec<(&'static [u8], &'static str)>,
    /// `YYMMDD`.
    pub not_before: &'static str,
    pub not_after: &'static str,
    pub policy: &'static [u8],
    pub max_below: Option<u8>,
    pub is_critical: bool,
    /// More extensions: object identifier, critical, value.
    pub extensions: Vec<(&'static [u8], bool, Vec<u8>)>,
    pub has_other_inner_algorithm: bool,
}

impl Default for Proxy {
    fn default() -> Self {
        Self {
            base: None,
            added: vec![(COMMON_NAME, "4711")],
            not_before: "200101",
            not_after: "490101",
            policy: ALL_RIGHTS,
            max_below: None,
            is_critical: true,
            extensions: Vec::new(),
            has_other_inner_algorithm: false,
        }
    }
}

impl Proxy {
    fn encode(&self, issuer: &[u8], public_key: &[u8], key: &KeyPair) -> Vec<u8> {
        let algorithm = sequence(&[&oid(ECDSA_SHA256)]);
        let other = sequence(&[&oid(ECDSA_SHA384)]);
        let inner = if self.has_other_inner_algorithm {
            &other
        } else {
            &algorithm
        };
        let tbs = sequence(&[
            &tlv(0xA0, &[&integer(2)]),
            &integer(77),
            inner,
            issuer,
            &sequence(&[&time(self.not_before), &time(self.not_after)]),
            &self.subject(issuer),
            public_key,
            &tlv(0xA3, &[&self.extensions()]),
        ]);
        let signature = key.sign(&tbs).unwrap();
        sequence(&[&tbs, &algorithm, &tlv(3, &[&[0], &signature])])
    }

    fn subject(&self, issuer: &[u8]) -> Vec<u8> {
        let base = self.base.as_deref().unwrap_or(issuer);
        let added = self.added.iter().map(|(kind, value)| {
            let attribute = sequence(&[&oid(kind), &tlv(12, &[value.as_bytes()])]);
            tlv(0x31, &[&attribute])
        });
        let added = added.collect::<Vec<_>>().concat();
        sequence(&[content(base), &added])
    }

    fn extensions(&self) -> Vec<u8> {
        let policy = sequence(&[&oid(self.policy)]);
        let info = match self.max_below {
            None => sequence(&[&policy]),
            Some(limit) => sequence(&[&integer(limit), &policy]),
        };
        let mut all = extension(INFO, self.is_critical, &info);
        for (kind, is_critical, value) in &self.extensions {
            all.extend(extension(kind, *is_critical, value));
        }
        sequence(&[&all])
    }
}

fn extension(kind: &[u8], is_critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if is_critical { &[1, 1, 0xFF] } else { &[] };
    sequence(&[&oid(kind), critical, &tlv(4, &[value])])
}

/// Encode a value with its tag and length.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).unwrap();
    let mut der = vec![tag];
    match length.to_be_bytes() {
        [0, low] if low < 128 => der.push(low),
        [0, low] => der.extend([0x81, low]),
        [high, low] => der.extend([0x82, high, low]),
    }
    der.extend(content);
    der
}

pub fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, parts)
}

fn oid(content: &[u8]) -> Vec<u8> {
    tlv(6, &[content])
}

fn integer(value: u8) -> Vec<u8> {
    tlv(2, &[&[value]])
}

fn time(day: &str) -> Vec<u8> {
    tlv(23, &[day.as_bytes(), b"000000Z"])
}

fn content(sequence: &[u8]) -> &[u8] {
    match sequence[1] {
        0x81 => &sequence[3..],
        0x82 => &sequence[4..],
        _ => &sequence[2..],
    }
}
