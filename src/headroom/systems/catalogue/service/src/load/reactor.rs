//! The backend of the shared load driver: many clients in one thread.
//!
//! Each client is a task that owns one socket. The driver hands an operation to a client by its
//! mailbox; the client puts the end of it where the driver finds it. Tasks need no wakers of their
//! own, because an event of a socket says whose it is, which saves a runtime's queues and wake-ups:
//! an operation costs the calls on its socket and its share of a wait.
//!
//! Invariant: a client has at most one piece of work, and is polled only while it has one.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use headroom::recording::clock::Clock;
use headroom::recording::load::carrier::{Backend, Completion};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::error::LoadError;
use super::socket::Poller;
use super::source::Operation;

/// Events taken at once.
const EVENT_LIMIT: usize = 256;
/// Longest wait (ns) while connections are opened.
const OPENING_LOOK_NS: u64 = 50_000_000;

/// Work of a client.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Be ready for operations: a client that keeps its connection opens it.
    Open,
    /// Carry out an operation.
    Carry(Operation),
}

/// Where a client finds its work, with the place that its end is reported for.
#[derive(Debug, Default)]
pub struct Mailbox(Cell<Option<(u32, Work)>>);

impl Mailbox {
    /// Return the next work.
    pub async fn next(&self) -> (u32, Work) {
        poll_fn(|_| self.0.take().map_or(Poll::Pending, Poll::Ready)).await
    }
}

/// Ends of work that the driver has not seen yet.
#[derive(Debug)]
pub struct Ends {
    clock: Cell<Clock>,
    done: RefCell<Vec<Completion>>,
}

impl Ends {
    /// Note the end of the work for `place`: 0, or the negative number of its failure.
    pub fn add(&self, place: u32, result: i32) {
        let done_ns = self.clock.get().now_ns();
        self.done.borrow_mut().push(Completion {
            place,
            result,
            done_ns,
        });
    }
}

/// Notes that a task asked to be polled again at once.
#[derive(Debug, Default)]
struct Again(AtomicBool);

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    future: Pin<Box<dyn Future<Output = Infallible>>>,
    mailbox: Rc<Mailbox>,
    is_busy: bool,
}

/// The clients of a process.
pub struct Reactor {
    poller: Poller,
    tasks: Vec<Task>,
    ends: Rc<Ends>,
    /// Clients with new work.
    given: Vec<usize>,
    /// The client that works for each place.
    at_place: Vec<usize>,
    events: Vec<epoll::Event>,
    again: Arc<Again>,
    waker: Waker,
    wait_count: u64,
}

impl Reactor {
    /// Return a reactor without clients.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub fn new() -> Result<Self, LoadError> {
        let again = Arc::new(Again::default());
        Ok(Self {
            poller: Poller::new().map_err(LoadError::system("creating a poller"))?,
            tasks: Vec::new(),
            ends: Rc::new(Ends {
                clock: Cell::new(Clock::start()),
                done: RefCell::default(),
            }),
            given: Vec::new(),
            at_place: Vec::new(),
            events: Vec::with_capacity(EVENT_LIMIT),
            waker: Waker::from(Arc::clone(&again)),
            again,
            wait_count: 0,
        })
    }

    /// Return the poller for sockets.
    pub fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Add the client that `task` makes; its number is how many there were before.
    pub fn add<F: Future<Output = Infallible> + 'static>(
        &mut self,
        task: impl FnOnce(Rc<Mailbox>, Rc<Ends>) -> F,
    ) {
        let mailbox = Rc::new(Mailbox::default());
        let future = task(Rc::clone(&mailbox), Rc::clone(&self.ends));
        self.tasks.push(Task {
            future: Box::pin(future),
            mailbox,
            is_busy: false,
        });
        self.at_place.push(0);
    }

    /// Let all clients be ready, at most `limit` of them at once. Return the first number of a client
    /// that cannot, and that of its failure.
    ///
    /// # Errors
    ///
    /// If the poller breaks.
    pub fn open(&mut self, limit: usize) -> Result<Option<(usize, i32)>, LoadError> {
        let (mut begun, mut ended) = (0, 0);
        let mut done = Vec::new();
        while ended < self.tasks.len() {
            while begun < self.tasks.len() && begun - ended < limit.max(1) {
                self.give(begun, begun, Work::Open);
                begun += 1;
            }
            let until_ns = self.now_ns() + OPENING_LOOK_NS;
            self.turn(Some(until_ns), &mut done)
                .map_err(LoadError::system("waiting for connections"))?;
            if let Some(failed) = done.iter().find(|one| one.result < 0) {
                return Ok(Some((failed.place as usize, -failed.result)));
            }
            ended += done.drain(..).len();
        }
        Ok(None)
    }

    #[allow(clippy::cast_possible_truncation, reason = "places are 32-bit numbers")]
    fn give(&mut self, place: usize, client: usize, work: Work) {
        let task = &mut self.tasks[client];
        assert!(!task.is_busy, "client {client} has work already");
        task.mailbox.0.set(Some((place as u32, work)));
        task.is_busy = true;
        self.at_place[place] = client;
        self.given.push(client);
    }

    fn poll(&mut self, client: usize) {
        let task = &mut self.tasks[client];
        let mut context = Context::from_waker(&self.waker);
        loop {
            let Poll::Pending = task.future.as_mut().poll(&mut context);
            if !self.again.0.swap(false, Ordering::Relaxed) {
                return;
            }
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        let pause_ns = self.poller.next_pause().map(ns_of);
        let timeout_ns = [timeout_ns, pause_ns].into_iter().flatten().min();
        let timeout = timeout_ns.map(timespec);
        self.events.clear();
        self.wait_count += 1;
        let events = spare_capacity(&mut self.events);
        match epoll::wait(&*self.poller.0, events, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "clients fit into memory")]
    fn poll_those_with_events(&mut self) {
        for number in 0..self.events.len() {
            let client = self.events[number].data.u64() as usize;
            // A server may close the connection of a client that has nothing to do.
            if self.tasks[client].is_busy {
                self.poll(client);
            }
        }
        while let Some(client) = self.poller.ended_pause() {
            if self.tasks[client as usize].is_busy {
                self.poll(client as usize);
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a pause is short")]
fn ns_of(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[allow(
    clippy::cast_possible_wrap,
    reason = "a wait is shorter than 292 years"
)]
fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    }
}

impl Backend<Operation> for Reactor {
    type Error = io::Error;

    fn start(&mut self) {
        self.ends.clock.set(Clock::start());
        self.wait_count = 0;
    }

    fn now_ns(&mut self) -> u64 {
        self.ends.clock.get().now_ns()
    }

    fn buffer(&mut self, _place: u32) -> &mut [u8] {
        &mut []
    }

    fn push(&mut self, place: u32, step: Operation) {
        let place = place as usize;
        let client = step.client.map_or(place, |client| client as usize);
        self.give(place, client, Work::Carry(step));
    }

    fn turn(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let mut given = std::mem::take(&mut self.given);
        for client in given.drain(..) {
            self.poll(client);
        }
        self.given = given;
        let has_ended = !self.ends.done.borrow().is_empty();
        let timeout_ns = until_ns.map(|until_ns| until_ns.saturating_sub(self.now_ns()));
        self.wait(if has_ended { Some(0) } else { timeout_ns })?;
        self.poll_those_with_events();
        for completion in self.ends.done.borrow_mut().drain(..) {
            let client = self.at_place[completion.place as usize];
            self.tasks[client].is_busy = false;
            done.push(completion);
        }
        Ok(())
    }

    fn call_count(&self) -> u64 {
        self.wait_count
    }
}
