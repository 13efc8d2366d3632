//! A TCP socket that is read to its end, whatever urgent data there is.
//!
//! A read ends before an urgent byte although more bytes are there. Tokio takes a short read for the
//! last one and waits for the kernel, which has nothing new to announce: the connection hangs. Here
//! only the kernel's answer that it has no more bytes makes the reader wait.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connected socket.
#[derive(Debug)]
pub(crate) struct Socket(TcpStream);

impl Socket {
    /// Set a socket up. An urgent byte is part of the stream, where a cancellation is expected.
    pub(crate) fn new(stream: TcpStream, keepalive_time: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let options = SockRef::from(&stream);
        options.set_out_of_band_inline(true)?;
        options.set_tcp_keepalive(&TcpKeepalive::new().with_time(keepalive_time))?;
        Ok(Self(stream))
    }

    /// Drop urgent bytes from now on: in TLS they are not part of the stream.
    pub(crate) fn ignore_urgent(&self) -> io::Result<()> {
        SockRef::from(&self.0).set_out_of_band_inline(false)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}
