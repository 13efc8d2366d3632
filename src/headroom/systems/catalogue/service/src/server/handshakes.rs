//! How TLS connections began.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustls::HandshakeKind;
use tokio_rustls::server::TlsStream;

use crate::refusal::Answer;
use crate::security::certificate::Identity;

/// Counts handshakes.
#[derive(Debug, Default)]
pub(crate) struct Handshakes {
    full: AtomicU64,
    resumed: AtomicU64,
    failed: AtomicU64,
}

impl Handshakes {
    /// Do a handshake and count it.
    pub(crate) async fn count<T>(
        &self,
        handshake: impl Future<Output = io::Result<(TlsStream<T>, Answer<Option<Identity>>)>>,
    ) -> io::Result<(TlsStream<T>, Answer<Option<Identity>>)> {
        let ended = handshake.await;
        let kind = match &ended {
            Err(_) => &self.failed,
            Ok((stream, _)) => match stream.get_ref().1.handshake_kind() {
                Some(HandshakeKind::Resumed) => &self.resumed,
                _ => &self.full,
            },
        };
        kind.fetch_add(1, Relaxed);
        ended
    }

    /// Return the counts by kind.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 3] {
        let of = |count: &AtomicU64| count.load(Relaxed);
        [
            ("full", of(&self.full)),
            ("resumed", of(&self.resumed)),
            ("failed", of(&self.failed)),
        ]
    }
}
