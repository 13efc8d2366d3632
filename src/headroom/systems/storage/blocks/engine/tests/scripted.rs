//! A backend that follows a script in its own time, and a source backed by a list.

use serde_json::json;

use crate::recording::clock::ns_of;
use crate::recording::load::carrier::{Backend, Completion};
use crate::recording::load::drive::Drive;
use crate::recording::load::patience::Patience;
use crate::recording::load::record::Record;
use crate::systems::storage::blocks::engine::Outcome;
use crate::systems::storage::blocks::engine::backend::Operation;
use crate::systems::storage::blocks::engine::carrier::{self, Blocks};
use crate::systems::storage::blocks::engine::carry::STATION;
use crate::systems::storage::blocks::engine::content::Content;
use crate::systems::storage::blocks::engine::error::EngineError;
use crate::systems::storage::blocks::engine::job::Job;
use crate::systems::storage::blocks::engine::pattern::Pattern;
use crate::systems::storage::blocks::engine::target::Layout;
use crate::systems::storage::soft::virtual_time::VirtualTime;
use crate::systems::storage::workloads::request::{Kind, Request, Source, Stream};

/// The answer of an operation, and the time (ns) until then.
pub type Script = Box<dyn FnMut(&Operation) -> (u64, i32)>;

/// A backend without a system.
pub struct Scripted {
    time: VirtualTime,
    script: Script,
    pushed: Vec<(u32, Operation)>,
    buffer: Vec<u8>,
    /// Largest number of operations at once.
    pub running_max: usize,
}

impl Scripted {
    /// Return a backend that follows `script`.
    pub fn new(script: impl FnMut(&Operation) -> (u64, i32) + 'static) -> Self {
        Self {
            time: VirtualTime::default(),
            script: Box::new(script),
            pushed: Vec::new(),
            buffer: vec![0; 1 << 20],
            running_max: 0,
        }
    }

    /// Return a backend whose operations all take `service_ns` and succeed.
    pub fn constant(service_ns: u64) -> Self {
        Self::new(move |operation| (service_ns, whole(operation)))
    }
}

/// Return the answer of a successful operation.
pub fn whole(operation: &Operation) -> i32 {
    match operation.kind {
        Kind::Read | Kind::Write => operation.length.cast_signed(),
        _ => 0,
    }
}

impl Backend<Operation> for Scripted {
    type Error = EngineError;

    fn now_ns(&mut self) -> u64 {
        self.time.now_ns()
    }

    fn buffer(&mut self, _place: u32) -> &mut [u8] {
        &mut self.buffer
    }

    fn push(&mut self, place: u32, operation: Operation) {
        self.pushed.push((place, operation));
    }

    fn turn(
        &mut self,
        until_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        for (place, operation) in self.pushed.drain(..) {
            let (service_ns, result) = (self.script)(&operation);
            let end_ns = self.time.now_ns() + service_ns;
            self.time.begin(place, end_ns, result);
        }
        self.running_max = self.running_max.max(self.time.pending_count());
        self.time.turn(until_ns, done);
        Ok(())
    }
}

/// A source of given requests.
pub struct Listed {
    streams: Vec<Stream>,
    requests: Vec<std::vec::IntoIter<Request>>,
    /// How long (ns) a request may take.
    pub allowance_ns: Option<u64>,
}

impl Listed {
    /// Return a source with a stream of each depth and its requests.
    pub fn new(streams: Vec<(u32, Vec<Request>)>) -> Self {
        let named = |(index, (depth, _)): (usize, &(u32, Vec<Request>))| Stream {
            name: format!("stream{index}"),
            depth: *depth,
        };
        Self {
            streams: streams.iter().enumerate().map(named).collect(),
            requests: streams.into_iter().map(|one| one.1.into_iter()).collect(),
            allowance_ns: None,
        }
    }
}

impl Source for Listed {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn next(&mut self, stream: usize) -> Option<Request> {
        self.requests[stream].next()
    }

    fn allowance_ns(&self, _stream: usize) -> Option<u64> {
        self.allowance_ns
    }
}

/// Return a request of `kind` for `length` bytes at `offset`, due at `due_ns`.
pub fn request(kind: Kind, offset: u64, length: u32, due_ns: Option<u64>) -> Request {
    Request {
        kind,
        offset,
        length,
        due_ns,
    }
}

/// Return `count` reads of 4 KiB, one after the other, due at `due_ns`.
pub fn reads(count: u64, due_ns: impl Fn(u64) -> Option<u64>) -> Vec<Request> {
    (0..count)
        .map(|index| request(Kind::Read, 4096 * index, 4096, due_ns(index)))
        .collect()
}

/// Return a job on nothing, with `changes`.
pub fn job(changes: &serde_json::Value) -> Job {
    let mut job = json!({"seed": 1, "target": {"kind": "nothing"}, "drain_s": 1.0});
    for (key, value) in changes.as_object().expect("an object") {
        job[key] = value.clone();
    }
    Job::read(job.to_string().as_bytes()).expect("a job")
}

/// Run `source` on `backend` and return the outcome.
pub fn run(job: &Job, source: Listed, backend: &mut Scripted) -> Outcome {
    run_with(job, source, backend, Pattern::new(1, 0.0)).0
}

/// Run `source` on `backend` with `content`; return the outcome, and what carried it.
pub fn run_with<C: Content>(
    job: &Job,
    source: Listed,
    backend: &mut Scripted,
    content: C,
) -> (Outcome, Blocks<C>) {
    let places = source.streams.iter().map(|one| one.depth.min(64)).sum();
    let layout = Layout::new(&job.target, 1 << 20);
    let mut drive = Drive {
        load: carrier::load(job, Box::new(source), places),
        carrier: Blocks::new(job, layout, content),
        record: Record::new(job.sample_every_s.map(ns_of)),
        patience: Patience::new(job.drain_s, job.silence_s),
        is_wanted: &mut || true,
    };
    let end_ns = drive.run(backend).expect("a scripted backend never breaks");
    let outcome = Outcome::new(&mut drive.load, STATION, drive.record, end_ns, None);
    (outcome, drive.carrier)
}

/// Return the column `name` of the only station at all snapshots.
pub fn station(outcome: &Outcome, name: &str) -> Vec<f64> {
    let columns = &outcome.snapshots.stations.columns;
    let found = columns.iter().find(|column| column.0 == name);
    found.expect("a column").1.clone()
}

/// Return the column `name` of the only station at the end.
pub fn at_end(outcome: &Outcome, name: &str) -> f64 {
    *station(outcome, name).last().expect("a snapshot")
}

/// Assert Little's law and the conservation of requests at every snapshot.
pub fn assert_laws(outcome: &Outcome) {
    let column = |name| station(outcome, name);
    let ([arrivals, ends, failures], [jobs, left, lost, ages]) = (
        ["arrival_count", "completion_count", "lost_count"].map(column),
        ["jobs_s", "response_s_sum", "lost_s_sum", "age_s"].map(column),
    );
    let ([queue, waits, queue_ages], busy) = (
        ["queue_s", "wait_s_sum", "queue_age_s"].map(column),
        column("busy_s"),
    );
    assert!(outcome.snapshots.times_s.is_sorted());
    for at in 0..jobs.len() {
        let rounding = 1e-12 * (1.0 + jobs[at]);
        assert!((jobs[at] - left[at] - lost[at] - ages[at]).abs() <= rounding);
        assert!((queue[at] - waits[at] - queue_ages[at]).abs() <= rounding);
        assert!((jobs[at] - queue[at] - busy[at]).abs() <= rounding);
        assert!(arrivals[at] >= ends[at] + failures[at]);
    }
    let present = (outcome.outstanding_count + outcome.waiting_count) as f64;
    let end = jobs.len() - 1;
    let rest = arrivals[end] - ends[end] - failures[end];
    assert!((rest - present).abs() < 0.5, "{rest} {present}");
}
