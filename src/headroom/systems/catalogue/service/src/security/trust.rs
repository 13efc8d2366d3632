//! Trust, which a running server can exchange: certificates, CAs, CRLs, keys of tickets and of tokens.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use super::Proof;
use super::certificate::Identity;
use super::tls::{self, Tls};
use super::tokens::{self, Tokens};
use crate::refusal::{Answer, Code, Refusal};

/// Files and rules of security.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// TLS; without it only plain connections are offered.
    pub tls: Option<tls::Settings>,
    /// Bearer tokens.
    pub tokens: tokens::Settings,
}

/// Why trust cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file cannot be used.
    #[error("`{path}`: {reason}")]
    File {
        /// The file.
        path: String,
        /// The fault.
        reason: String,
    },
    /// Files that can be read do not fit each other.
    #[error("the certificate cannot be used: {0}")]
    Unusable(String),
}

impl TrustError {
    pub(super) fn file(path: &Path, reason: impl fmt::Display) -> Self {
        let (path, reason) = (path.display().to_string(), reason.to_string());
        Self::File { path, reason }
    }
}

/// Loaded files: whom the server trusts, and how it proves itself.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// TLS, if there is a certificate.
    pub tls: Option<Tls>,
    /// Bearer tokens.
    pub tokens: Tokens,
}

impl Trust {
    /// Read all files.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used.
    pub fn load(settings: &Settings) -> Result<Self, TrustError> {
        Ok(Self {
            tls: settings.tls.as_ref().map(Tls::load).transpose()?,
            tokens: Tokens::load(&settings.tokens)?,
        })
    }

    /// Return what a client offers as a proof. A token or a password counts before a certificate: its
    /// sender wants it to be checked.
    ///
    /// # Errors
    ///
    /// If it is a token that is not encrypted or not valid.
    pub fn proof(
        &self,
        is_encrypted: bool,
        password: Option<String>,
        token: Option<String>,
        identity: Option<&Identity>,
    ) -> Answer<Proof> {
        match (token, password, identity) {
            (Some(_), _, _) if !is_encrypted => {
                let message = "a token must be encrypted; choose `ssl`";
                Err(Refusal::new(Code::LoginRefused, message))
            }
            (Some(token), _, _) => self.tokens.check(&token).map(Proof::Token),
            (None, Some(password), _) => Ok(Proof::Password(password)),
            (None, None, Some(identity)) => Ok(Proof::Certificate {
                subject: identity.subject.clone(),
                is_proxy: identity.is_proxy,
                is_limited: identity.is_limited,
            }),
            (None, None, None) => Ok(Proof::Anonymous),
        }
    }
}

/// Exchanges the trust of a running server. New connections use the new one; those that are open
/// keep the identity that was proved when they began.
#[derive(Clone, Debug)]
pub struct Reload(watch::Sender<Arc<Trust>>);

impl Reload {
    /// Return a handle, with the trust to begin with.
    pub fn new(trust: Trust) -> Self {
        Self(watch::Sender::new(Arc::new(trust)))
    }

    /// Exchange the trust.
    pub fn replace(&self, trust: Trust) {
        self.0.send_replace(Arc::new(trust));
    }

    /// Read all files again. If one of them cannot be used, the old trust stays.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used.
    pub fn load(&self, settings: &Settings) -> Result<(), TrustError> {
        self.replace(Trust::load(settings)?);
        Ok(())
    }

    /// Return the trust of now.
    pub fn current(&self) -> Arc<Trust> {
        Arc::clone(&self.0.borrow())
    }
}
