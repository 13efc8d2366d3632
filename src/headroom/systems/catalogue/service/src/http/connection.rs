//! A connection, from TLS to its last request.

use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::Http;
use super::login::Remembered;
use crate::refusal::Answer;
use crate::security::Trust;
use crate::security::certificate::Identity;
use crate::server::connection::{Admitted, admit};

/// Bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// What requests of a connection share.
pub(super) struct Line {
    pub(super) address: SocketAddr,
    pub(super) is_encrypted: bool,
    /// Of the client's certificate, checked.
    pub(super) identity: Answer<Option<Identity>>,
    pub(super) trust: Arc<Trust>,
    /// The last password that was right.
    pub(super) remembered: Mutex<Option<Remembered>>,
}

/// Serve a client until it leaves or the server ends.
pub(super) async fn run(
    http: &Http,
    router: Router,
    stream: TcpStream,
    peer: SocketAddr,
    is_ending: watch::Receiver<bool>,
) -> io::Result<()> {
    let server = &http.server;
    let Admitted {
        socket,
        address,
        mut opening,
        trust,
        place: _place,
    } = admit(server, stream, peer, is_ending.clone()).await?;
    let _open = Open::new(http);
    socket.ignore_urgent()?;
    let mut line = Line {
        address,
        is_encrypted: trust.tls.is_some(),
        identity: Ok(None),
        trust: Arc::clone(&trust),
        remembered: Mutex::default(),
    };
    match &trust.tls {
        None => converse(http, router, socket, line, is_ending).await,
        Some(tls) => {
            let handshake = Box::pin(server.handshakes.count(tls.accept(socket)));
            let (stream, identity) = opening.within(handshake).await?;
            line.identity = identity;
            converse(http, router, stream, line, is_ending).await
        }
    }
}

async fn converse<T: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    http: &Http,
    router: Router,
    stream: T,
    line: Line,
    mut is_ending: watch::Receiver<bool>,
) -> io::Result<()> {
    let settings = &http.server.settings;
    let (line, router) = (Arc::new(line), TowerToHyperService::new(router));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&line));
        router.call(request)
    });
    let stream = TokioIo::new(Patient {
        stream,
        patience: settings.write_timeout,
        waiting: None,
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.opening_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { drop(is_ending.wait_for(|is_ending| *is_ending).await) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    ended.map_err(io::Error::other)
}

/// Counts an open connection.
struct Open<'a>(&'a Http);

impl<'a> Open<'a> {
    fn new(http: &'a Http) -> Self {
        http.open.fetch_add(1, Relaxed);
        Self(http)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

/// A stream whose peer has only so much time to take something in.
struct Patient<T> {
    stream: T,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    fn watch<V>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<V>>,
    ) -> Poll<io::Result<V>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.watch(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
