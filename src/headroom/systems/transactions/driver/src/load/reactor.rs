//! Sessions with a server: all in one thread, each a task with a connection of its own.
//!
//! The shared driver hands an operation to the session of its place; the session puts the end of it
//! where the driver finds it. A thread for each session would cost a switch for each answer.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headroom::recording::clock::Clock;
use headroom::recording::load::carrier::{Backend, Completion};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::source::{Inputs, Operation};
use crate::error::DriverError;
use crate::populate::runtime;
use crate::transactions::{Plan, Session, Tally};

const NS_PER_S: u64 = 1_000_000_000;

/// Ends of operations that the driver has not seen yet.
struct Ends {
    clock: Mutex<Clock>,
    done: Mutex<Vec<Completion>>,
    some: Notify,
}

impl Ends {
    fn add(&self, place: u32, result: i32) {
        let done_ns = self.now_ns();
        self.done().push(Completion {
            place,
            result,
            done_ns,
        });
        self.some.notify_one();
    }

    fn done(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        let clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.now_ns()
    }
}

/// The sessions of a process.
pub struct Reactor {
    runtime: Runtime,
    mailboxes: Vec<UnboundedSender<(u32, Operation)>>,
    tallies: Vec<Arc<Mutex<Tally>>>,
    ends: Arc<Ends>,
    timer: AsyncFd<OwnedFd>,
    /// When (ns) it ends.
    armed_ns: u64,
    /// Operations of the next turn.
    given: Vec<(u32, Operation)>,
    /// Places whose operations end with the next turn: none may end before it has begun.
    ended: Vec<u32>,
    /// An operation that needs no database ends at once.
    is_free: fn(Operation) -> bool,
    turns: u64,
}

impl Reactor {
    /// Open so many sessions.
    ///
    /// # Errors
    ///
    /// If one cannot connect.
    pub fn open(
        plan: &Arc<Plan>,
        count: u32,
        inputs: &Arc<Inputs>,
        is_free: fn(Operation) -> bool,
    ) -> Result<Self, DriverError> {
        let runtime = runtime()?;
        let ends = Arc::new(Ends {
            clock: Mutex::new(Clock::start()),
            done: Mutex::default(),
            some: Notify::new(),
        });
        let (mut mailboxes, mut tallies) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let session = runtime.block_on(Session::open(plan))?;
            tallies.push(session.tally());
            let (sender, receiver) = unbounded_channel();
            mailboxes.push(sender);
            runtime.spawn(work(
                session,
                receiver,
                Arc::clone(inputs),
                Arc::clone(&ends),
            ));
        }
        let timer = {
            let _inside = runtime.enter();
            timer().map_err(|error| DriverError::Job(format!("the system refuses: {error}")))?
        };
        Ok(Self {
            runtime,
            mailboxes,
            tallies,
            ends,
            timer,
            armed_ns: 0,
            given: Vec::with_capacity(count as usize),
            ended: Vec::new(),
            is_free,
            turns: 0,
        })
    }

    /// Return what each session has done so far.
    pub fn tallies(&self) -> Vec<Arc<Mutex<Tally>>> {
        self.tallies.clone()
    }
}

async fn work(
    mut session: Session,
    mut mailbox: UnboundedReceiver<(u32, Operation)>,
    inputs: Arc<Inputs>,
    ends: Arc<Ends>,
) {
    while let Some((place, operation)) = mailbox.recv().await {
        let asked = inputs.draw(operation);
        let result = session.carry_out(&asked).await;
        ends.add(place, result);
    }
}

#[allow(
    deprecated,
    reason = "its successor is unsafe: the descriptor must stay open, which ownership ensures"
)]
fn timer() -> io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)
}

/// Let the timer end after a time (ns); that of the runtime counts whole milliseconds.
fn arm(timer: &AsyncFd<OwnedFd>, ns: u64) -> io::Result<()> {
    let after = Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: Timespec {
            tv_sec: (ns / NS_PER_S).cast_signed(),
            // A timer of 0 never ends.
            tv_nsec: (ns % NS_PER_S).max(1).cast_signed(),
        },
    };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &after)?;
    Ok(())
}

impl Backend<Operation> for Reactor {
    type Error = io::Error;

    fn start(&mut self) {
        let mut clock = self
            .ends
            .clock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *clock = Clock::start();
        self.armed_ns = 0;
    }

    fn now_ns(&mut self) -> u64 {
        self.ends.now_ns()
    }

    fn buffer(&mut self, _place: u32) -> &mut [u8] {
        &mut []
    }

    fn push(&mut self, place: u32, operation: Operation) {
        if (self.is_free)(operation) {
            self.ended.push(place);
            return;
        }
        self.given.push((place, operation));
    }

    fn turn(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        self.turns += 1;
        for place in self.ended.drain(..) {
            self.ends.add(place, 0);
        }
        let now_ns = self.ends.now_ns();
        let until_ns = until_ns.unwrap_or(now_ns + NS_PER_S);
        if until_ns != self.armed_ns || until_ns <= now_ns {
            arm(&self.timer, until_ns.saturating_sub(now_ns))?;
            self.armed_ns = until_ns;
        }
        let (ends, timer) = (&self.ends, &self.timer);
        let (given, mailboxes) = (&mut self.given, &self.mailboxes);
        self.runtime.block_on(async {
            // Here, because from outside each would wake the runtime by a system call.
            for (place, operation) in given.drain(..) {
                let _ = mailboxes[place as usize].send((place, operation));
            }
            tokio::select! {
                biased;
                () = ends.some.notified() => Ok(()),
                ready = timer.readable() => ready.map(|mut ready| ready.clear_ready()),
            }
        })?;
        done.append(&mut ends.done());
        Ok(())
    }

    fn call_count(&self) -> u64 {
        self.turns
    }
}
