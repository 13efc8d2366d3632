//! Terminals as streams of the shared load driver.
//!
//! Each terminal of a closed load is a stream: it keys its input in, waits for the answer, and
//! thinks. An open load is one stream, whose operations belong to terminals in turn. Deliveries
//! are put into a queue (clause 2.7.2), which is a stream of its own: that of a terminal ends when
//! it is in the queue.

use std::sync::{Arc, Mutex};

use headroom::recording::clock::ns_of;
use headroom::recording::load::due::Due;
use headroom::recording::load::operation::{self, Classes, Source, Stream};
use headroom::simulation::kernel::random::stream::open;
use headroom_transactions::systems::transactions::inputs::tpcb::change;
use headroom_transactions::systems::transactions::inputs::{
    Chance, DISTRICTS, Kind, Terminal, Workload,
};

use crate::database::mark::Mark;
use crate::error::DriverError;
use crate::job::{Arrivals, Run};
use crate::transactions::Asked;

/// Purposes of random numbers, above the numbers of terminals.
const TERMINALS: u64 = 1 << 40;
const ARRIVALS: u64 = 1 << 41;

/// Number of an operation's kind: those of the standard, then these.
pub const DEFERRED: usize = 5;
/// That of TPC-B.
pub const CHANGE: usize = 6;
const KINDS: usize = 7;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is asked, see [`DEFERRED`].
    pub kind: usize,
    /// Who asks.
    pub terminal: u32,
    /// When it is due (ns).
    pub due_ns: Option<u64>,
}

impl operation::Operation for Operation {
    const BLANK: Self = Self {
        kind: 0,
        terminal: 0,
        due_ns: None,
    };

    fn kind(&self) -> usize {
        self.kind
    }

    fn bytes(&self) -> u32 {
        0
    }

    fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }
}

/// The sources of all inputs, which the threads of the sessions draw from.
pub enum Inputs {
    /// Of TPC-C.
    TpcC(Vec<Mutex<Terminal>>),
    /// Of TPC-B, with the number of branches.
    TpcB(Vec<Mutex<Chance>>, u32),
}

impl Inputs {
    /// Return those of a run; terminals are spread over all districts of all warehouses.
    pub fn new(run: &Run, mark: Mark) -> Self {
        let first = run.first_terminal;
        let chance = |terminal: u32| {
            Chance::new(
                run.seed,
                TERMINALS + u64::from(first + terminal),
                mark.constants,
            )
        };
        let all = 0..run.load.terminals(mark);
        match mark.workload {
            Workload::TpcC => {
                let one = |terminal: u32| {
                    let place = first + terminal;
                    // In turn, so that few terminals do not meet in one warehouse.
                    let warehouse = place % mark.scale + 1;
                    let own = Terminal::new(
                        chance(terminal),
                        mark.scale,
                        warehouse,
                        place / mark.scale % DISTRICTS + 1,
                    );
                    Mutex::new(own)
                };
                Self::TpcC(all.map(one).collect())
            }
            Workload::TpcB => {
                Self::TpcB(all.map(|one| Mutex::new(chance(one))).collect(), mark.scale)
            }
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::TpcC(terminals) => terminals.len(),
            Self::TpcB(terminals, _) => terminals.len(),
        }
    }

    fn next_kind(&self, terminal: usize) -> usize {
        match self {
            Self::TpcC(terminals) => lock(&terminals[terminal]).next_kind() as usize,
            Self::TpcB(..) => CHANGE,
        }
    }

    /// Draw what an operation asks.
    pub fn draw(&self, operation: Operation) -> Asked {
        let number = operation.terminal as usize;
        match self {
            Self::TpcC(terminals) => {
                let kind = if operation.kind == DEFERRED {
                    Kind::Delivery as usize
                } else {
                    operation.kind
                };
                Asked::TpcC(lock(&terminals[number]).input(Kind::ALL[kind]))
            }
            Self::TpcB(terminals, branches) => {
                Asked::TpcB(change(&mut lock(&terminals[number]), *branches))
            }
        }
    }

    /// Return the time (s) between the answer of a transaction and the next one of its terminal.
    fn pause_s(&self, terminal: usize, last: usize, next: usize) -> f64 {
        match self {
            Self::TpcC(terminals) => {
                let thinks_s = lock(&terminals[terminal]).thinks_s(Kind::ALL[last]);
                thinks_s + Kind::ALL[next].keying_s()
            }
            Self::TpcB(..) => 0.0,
        }
    }
}

/// Return the mean time (s) of a deck without answers.
fn deck_s() -> f64 {
    let of = |kind: &Kind| kind.cards() as f64 * (kind.keying_s() + kind.thinking_s());
    Kind::ALL.iter().map(of).sum()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics with it")
}

/// A terminal of a closed load.
#[derive(Clone, Copy, Default)]
struct User {
    /// What it asked last; nothing before its first operation.
    last: Option<usize>,
    /// What it asks next.
    next: usize,
    /// When (s) its first operation comes.
    first_s: f64,
}

/// Streams of all terminals, and of the queue of deliveries behind them.
pub struct Operations {
    inputs: Arc<Inputs>,
    streams: Vec<Stream>,
    users: Vec<User>,
    due: Option<Due>,
    given: u32,
    has_waits: bool,
}

impl Operations {
    /// Return the operations of a run.
    ///
    /// # Errors
    ///
    /// If a number of the arrivals is outside its range.
    pub fn new(run: &Run, inputs: &Arc<Inputs>) -> Result<Self, DriverError> {
        let terminals = inputs.count();
        let named = |name: String, depth: u32| Stream { name, depth };
        let (mut streams, due, has_waits) = match &run.load {
            Arrivals::Closed { waits, .. } => {
                let all = (1..=terminals).map(|one| named(format!("terminal {one}"), 1));
                (all.collect(), None, *waits)
            }
            Arrivals::Open {
                rate_per_s,
                law,
                connections,
            } => {
                let due = Due::open(*rate_per_s, law, open(run.seed, ARRIVALS), (0, 1));
                let due = due.map_err(DriverError::Job)?;
                (
                    vec![named("terminals".to_owned(), *connections)],
                    Some(due),
                    false,
                )
            }
        };
        streams.push(named(
            "queue of deliveries".to_owned(),
            run.deliveries_at_once,
        ));
        let users = if due.is_some() {
            Vec::new()
        } else {
            vec![User::default(); terminals]
        };
        Ok(Self {
            inputs: Arc::clone(inputs),
            streams,
            users,
            due,
            given: 0,
            has_waits,
        })
    }

    /// Return the classes: one for each kind.
    pub fn classes(&self, workload: Workload) -> Classes {
        let kinds = Kind::ALL
            .iter()
            .map(|kind| kind.name().to_lowercase().replace('-', "_"));
        let (names, table) = match workload {
            Workload::TpcC => {
                let names: Vec<String> = kinds.chain(["deferred_delivery".to_owned()]).collect();
                (names, vec![0, 1, 2, 3, 4, 5, 0])
            }
            Workload::TpcB => (vec!["change".to_owned()], vec![0; KINDS]),
        };
        let count = self.streams.len();
        Classes::new(names, table.repeat(count), KINDS)
    }

    /// Return what a terminal asks first: it has been at work for a part of a deck, another part
    /// for each, so that all together ask as often at the beginning as later.
    fn first_kind(&mut self, stream: usize) -> usize {
        let past_s = deck_s() * (stream as f64 + 0.5) / self.users.len() as f64;
        let (mut elapsed_s, mut last) = (0.0, self.inputs.next_kind(stream));
        loop {
            let kind = self.inputs.next_kind(stream);
            elapsed_s += self.inputs.pause_s(stream, last, kind);
            if elapsed_s > past_s {
                self.users[stream].first_s = elapsed_s - past_s;
                return kind;
            }
            last = kind;
        }
    }

    /// Return the stream of the queue of deliveries.
    pub fn queue(&self) -> usize {
        self.streams.len() - 1
    }
}

impl Source for Operations {
    type Operation = Operation;

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn fill(&mut self, stream: usize, count: usize, operations: &mut Vec<Operation>) {
        if stream == self.queue() {
            return;
        }
        if let Some(due) = &mut self.due {
            let terminal = self.given;
            self.given = (self.given + 1) % u32::try_from(self.inputs.count()).unwrap_or(u32::MAX);
            let kind = self.inputs.next_kind(terminal as usize);
            operations.push(Operation {
                kind,
                terminal,
                due_ns: due.tick(),
            });
            return;
        }
        for _ in 0..count {
            let kind = if self.has_waits && self.users[stream].last.is_none() {
                self.first_kind(stream)
            } else {
                self.inputs.next_kind(stream)
            };
            self.users[stream].next = kind;
            let terminal = u32::try_from(stream).expect("fewer than 2^32 terminals");
            operations.push(Operation {
                kind,
                terminal,
                due_ns: None,
            });
        }
    }

    fn thinks(&self, stream: usize) -> bool {
        self.has_waits && stream != self.queue()
    }

    /// The time to think of the last answer and to key in the next input.
    fn think_ns(&mut self, stream: usize) -> u64 {
        let User {
            last,
            next,
            first_s,
        } = self.users[stream];
        self.users[stream].last = Some(next);
        let after_s = |kind: usize| self.inputs.pause_s(stream, kind, next);
        ns_of(last.map_or(first_s, after_s))
    }
}
