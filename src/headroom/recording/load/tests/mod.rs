//! Known answers of the load driver: given operations, on a server whose clock jumps.
//!
//! All times of a script are whole milliseconds, so results are compared exactly.

mod closed;
mod ends;
mod open;
mod threads;

use std::collections::VecDeque;
use std::io;

use super::carrier::{Backend, Carrier, Completion};
use super::drive::Drive;
use super::operation::{Classes, Operation, Source, Stream};
use super::outcome::Outcome;
use super::patience::Patience;
use super::record::Record;
use super::{Limits, Load, StopReason};
use crate::simulation::kernel::run::result::Table;

/// A millisecond (ns).
const MS: u64 = 1_000_000;
/// Duration (ms) of an operation without an end.
const NEVER: u64 = 1 << 40;
/// Bytes (B) of each operation.
const BYTES: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Op {
    kind: usize,
    due_ms: Option<u64>,
    takes_ms: u64,
    result: i32,
}

/// Return an operation that succeeds after `takes_ms`.
const fn takes(takes_ms: u64) -> Op {
    Op {
        kind: 0,
        due_ms: None,
        takes_ms,
        result: 0,
    }
}

impl Op {
    const fn due(self, due_ms: u64) -> Self {
        Self {
            due_ms: Some(due_ms),
            ..self
        }
    }

    const fn fails(self, errno: i32) -> Self {
        Self {
            result: -errno,
            ..self
        }
    }

    const fn write(self) -> Self {
        Self { kind: 1, ..self }
    }
}

impl Operation for Op {
    const BLANK: Self = takes(0);

    fn kind(&self) -> usize {
        self.kind
    }

    fn bytes(&self) -> u32 {
        BYTES
    }

    fn due_ns(&self) -> Option<u64> {
        self.due_ms.map(|due_ms| due_ms * MS)
    }
}

/// Streams with given operations, or a user with given think times (ms).
#[derive(Default)]
struct Script {
    streams: Vec<Stream>,
    operations: Vec<VecDeque<Op>>,
    allowance_ms: Option<u64>,
    thinks_ms: VecDeque<u64>,
}

/// Return a script of streams: depth and operations of each.
fn script<const COUNT: usize>(streams: [(u32, Vec<Op>); COUNT]) -> Script {
    let mut script = Script::default();
    for (number, (depth, operations)) in streams.into_iter().enumerate() {
        script.streams.push(Stream {
            name: number.to_string(),
            depth,
        });
        script.operations.push(operations.into());
    }
    script
}

impl Source for Script {
    type Operation = Op;

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn fill(&mut self, stream: usize, count: usize, operations: &mut Vec<Op>) {
        for _ in 0..count {
            let Some(next) = self.operations[stream].pop_front() else {
                return;
            };
            operations.push(next);
            if next.due_ms.is_some() {
                return;
            }
        }
    }

    fn allowance_ns(&self, _stream: usize) -> Option<u64> {
        self.allowance_ms.map(|allowance_ms| allowance_ms * MS)
    }

    fn thinks(&self, _stream: usize) -> bool {
        !self.thinks_ms.is_empty()
    }

    fn think_ns(&mut self, _stream: usize) -> u64 {
        self.thinks_ms.pop_front().expect("a think time") * MS
    }
}

/// Carries an operation out in equal steps; a careful one lets writes begin alone.
#[derive(Clone, Copy)]
struct Steps {
    count: u32,
    is_careful: bool,
    running: u32,
}

impl Carrier for Steps {
    type Source = Script;
    type Step = Op;

    fn is_careful(&self) -> bool {
        self.is_careful
    }

    fn admits(&mut self, operation: &Op) -> bool {
        operation.kind == 0 || self.running == 0
    }

    fn begin<'b>(
        &mut self,
        load: &Load<Script>,
        place: u32,
        _buffer: impl FnOnce() -> &'b mut [u8],
    ) -> Op {
        self.running += 1;
        *load.operation(place)
    }

    fn end<'b>(
        &mut self,
        load: &mut Load<Script>,
        Completion {
            place,
            result,
            done_ns,
        }: Completion,
        _buffer: impl FnOnce() -> &'b [u8],
    ) -> Option<Op> {
        if load.progress(place, 1) < self.count {
            return Some(*load.operation(place));
        }
        assert_eq!(load.done(place), self.count);
        self.running -= 1;
        if result < 0 {
            load.fail(place, -result, done_ns);
        } else {
            load.succeed(place, done_ns);
        }
        None
    }
}

/// Serves every step at once, and notes when (ms) each began and how long it takes (ms).
#[derive(Default)]
struct Server {
    now_ns: u64,
    busy: Vec<Completion>,
    begun: Vec<(u64, u64)>,
}

impl Backend<Op> for Server {
    type Error = io::Error;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn buffer(&mut self, _place: u32) -> &mut [u8] {
        &mut []
    }

    fn push(&mut self, place: u32, step: Op) {
        self.begun.push((self.now_ns / MS, step.takes_ms));
        let done_ns = self.now_ns + step.takes_ms * MS;
        self.busy.push(Completion {
            place,
            result: step.result,
            done_ns,
        });
    }

    fn turn(&mut self, until_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let ends = self.busy.iter().map(|one| one.done_ns);
        self.now_ns = ends.chain(until_ns).min().expect("an end of the wait");
        let is_done = |one: &mut Completion| one.done_ns <= self.now_ns;
        done.extend(self.busy.extract_if(.., is_done));
        Ok(())
    }
}

/// A run, and how long its parts are patient.
struct Plan {
    script: Script,
    limits: Limits,
    places: u32,
    carrier: Steps,
    drain_s: f64,
    silence_s: f64,
    sample_ms: Option<u64>,
    /// At which question whether to continue the answer is no.
    is_unwanted_at: u32,
}

fn plan(script: Script) -> Plan {
    Plan {
        script,
        limits: Limits {
            failures_in_a_row: 3,
            ..Limits::default()
        },
        places: 4,
        carrier: Steps {
            count: 1,
            is_careful: false,
            running: 0,
        },
        drain_s: 0.2,
        silence_s: 10.0,
        sample_ms: None,
        is_unwanted_at: u32::MAX,
    }
}

impl Plan {
    fn load(self) -> Load<Script> {
        let names = ["read", "write"].map(str::to_owned).into();
        let table = [0, 1].repeat(self.script.streams.len());
        Load::new(
            self.script,
            Classes::new(names, table, 2),
            self.limits,
            self.places,
        )
    }

    /// Run to the end; return the outcome, and begin and duration (ms) of each step.
    fn run(self) -> (Outcome<Op>, Vec<(u64, u64)>) {
        let (carrier, mut server, mut asked) = (self.carrier, Server::default(), 0);
        let is_unwanted_at = self.is_unwanted_at;
        let mut drive = Drive {
            record: Record::new(self.sample_ms.map(|sample_ms| sample_ms * MS)),
            patience: Patience::new(self.drain_s, self.silence_s),
            load: self.load(),
            carrier,
            is_wanted: &mut || {
                asked += 1;
                asked < is_unwanted_at
            },
        };
        let end_ns = drive
            .run(&mut server)
            .expect("a scripted server does not break");
        let Drive {
            mut load, record, ..
        } = drive;
        let outcome = Outcome::new(&mut load, "server", record, end_ns, None);
        (outcome, server.begun)
    }
}

/// Return whole milliseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small, and checked"
)]
fn ms(seconds: f64) -> u64 {
    let whole = (seconds * 1e3).round();
    assert!(
        (seconds * 1e3 - whole).abs() < 1e-6,
        "{seconds} s is no whole number of ms"
    );
    whole as u64
}

fn all_ms(seconds: &[f64]) -> Vec<u64> {
    seconds.iter().map(|&one| ms(one)).collect()
}

fn range((low_s, high_s): (f64, f64)) -> [u64; 2] {
    [ms(low_s), ms(high_s)]
}

/// Return why a load ended, and when (ms) it and the run did.
fn ended(outcome: &Outcome<Op>) -> (StopReason, [u64; 2]) {
    (outcome.stop_reason, [ms(outcome.load_s), ms(outcome.end_s)])
}

/// Return a column of a table: counts, or times (ms).
fn values(table: &Table, name: &str) -> Vec<u64> {
    let found = table.columns.iter().find(|one| one.0 == name);
    let unit = if name.contains("_s") { 1.0 } else { 1e-3 };
    let column = found.expect("a column of that name").1.iter();
    column.map(|&value| ms(value * unit)).collect()
}
