//! A socket that never blocks, whose client is asked again when something happened to it.
//!
//! It stores no waker: the reactor polls a client whenever its socket has an event, and a client has
//! one socket at a time.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, connect, getpeername, socket_with, sockopt,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::meter::Meter;

/// Reports events of the sockets of all clients, and the ends of their pauses.
#[derive(Clone, Debug)]
pub struct Poller(pub(super) Rc<OwnedFd>, Rc<RefCell<Pauses>>);

/// When a pause ends and whose it is, the earliest first.
type Pauses = BinaryHeap<Reverse<(Instant, u64)>>;

impl Poller {
    /// Return a poller without sockets.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self(Rc::new(poller), Rc::default()))
    }

    /// Let `client` do nothing for some time.
    pub async fn pause(&self, client: u64, time: Duration) {
        let end = Instant::now() + time;
        self.1.borrow_mut().push(Reverse((end, client)));
        poll_fn(|_| {
            if Instant::now() < end {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    }

    /// Return the time until the next pause ends.
    pub(super) fn next_pause(&self) -> Option<Duration> {
        let pauses = self.1.borrow();
        let Reverse((end, _)) = pauses.peek()?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    /// Return a client whose pause has ended, and forget the pause.
    pub(super) fn ended_pause(&self) -> Option<u64> {
        let mut pauses = self.1.borrow_mut();
        let Reverse((end, client)) = *pauses.peek()?;
        if end > Instant::now() {
            return None;
        }
        pauses.pop();
        Some(client)
    }

    fn add(&self, socket: impl AsFd, client: u64) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        let data = epoll::EventData::new_u64(client);
        Ok(epoll::add(&*self.0, socket, data, flags)?)
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    meter: Rc<Meter>,
}

impl Socket {
    /// Connect to `address` for the client with this number.
    ///
    /// # Errors
    ///
    /// If the system or the server refuses.
    pub async fn connect(
        address: SocketAddr,
        poller: &Poller,
        client: u64,
        meter: &Rc<Meter>,
    ) -> io::Result<Self> {
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        poller.add(&socket, client)?;
        poll_fn(|_| is_connected(&socket)).await?;
        meter.connected();
        Ok(Self {
            stream: TcpStream::from(socket),
            meter: Rc::clone(meter),
        })
    }
}

fn is_connected(socket: &OwnedFd) -> Poll<io::Result<()>> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) => {}
        Ok(Err(error)) | Err(error) => return Poll::Ready(Err(error.into())),
    }
    match getpeername(socket) {
        Ok(_) => Poll::Ready(Ok(())),
        Err(Errno::NOTCONN) => Poll::Pending,
        Err(error) => Poll::Ready(Err(error.into())),
    }
}

/// Repeat a call that a signal interrupted; one that would block is repeated after an event.
fn attempt<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Poll::Pending,
            result => return Poll::Ready(result),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = attempt(|| (&self.stream).read(buffer.initialize_unfilled()));
        read.map_ok(|count| {
            buffer.advance(count);
            self.meter.received(count);
        })
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = attempt(|| (&self.stream).write(bytes));
        written.map_ok(|count| {
            self.meter.sent(count);
            count
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}
