//! A run from its job to its result.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use headroom::recording::clock::{Punctual, Usage, ns_of};
use headroom::recording::load::carrier::{self, Backend as _, Caller, Completion};
use headroom::recording::load::drive::Drive;
use headroom::recording::load::outcome::Outcome;
use headroom::recording::load::patience::Patience;
use headroom::recording::load::record::Record;
use headroom::recording::load::workers::{Shared, Workers};
use headroom::recording::load::{Limits, Load, StopReason};
use headroom_transactions::systems::transactions::inputs::{Constants, Kind, Workload};
use tokio::runtime::Runtime;

use super::reactor::Reactor;
use super::report::Report;
use super::source::{DEFERRED, Inputs, Operation, Operations};
use crate::database::Manner;
use crate::database::mark::{self, Mark, Stage, connect};
use crate::error::{DriverError, Failure};
use crate::job::{Goal, Run};
use crate::populate::runtime;
use crate::target::Product;
use crate::transactions::{Plan, Session, Tally};

/// Name of the target in tables.
const STATION: &str = "database";

/// A run whose sessions are open.
pub struct Ready {
    run: Run,
    mark: Mark,
    inputs: Arc<Inputs>,
    sessions: Sessions,
    tallies: Tallies,
    journal: Option<Arc<Mutex<BufWriter<File>>>>,
}

/// Hands operations to sessions, and deliveries to their queue.
struct Carrier {
    defers: bool,
}

impl carrier::Carrier for Carrier {
    type Source = Operations;
    type Step = Operation;

    fn begin<'b>(
        &mut self,
        load: &Load<Operations>,
        place: u32,
        _buffer: impl FnOnce() -> &'b mut [u8],
    ) -> Operation {
        *load.operation(place)
    }

    fn end<'b>(
        &mut self,
        load: &mut Load<Operations>,
        completion: Completion,
        _buffer: impl FnOnce() -> &'b [u8],
    ) -> Option<Operation> {
        let Completion {
            place,
            result,
            done_ns,
        } = completion;
        if result < 0 {
            load.fail(place, -result, done_ns);
            return None;
        }
        let operation = *load.operation(place);
        load.succeed(place, done_ns);
        if self.defers && operation.kind == Kind::Delivery as usize {
            let queue = load.source().queue();
            load.append(
                queue,
                Operation {
                    kind: DEFERRED,
                    due_ns: None,
                    ..operation
                },
                done_ns,
            );
        }
        None
    }
}

/// Carries operations out in the thread of a session.
struct Carried {
    inputs: Arc<Inputs>,
    sessions: Vec<Mutex<(Runtime, Session)>>,
    is_free: fn(Operation) -> bool,
}

impl Caller<Operation> for Carried {
    fn call(&self, place: u32, operation: Operation) -> i32 {
        if (self.is_free)(operation) {
            return 0;
        }
        let asked = self.inputs.draw(operation);
        let mut own = self.sessions[place as usize]
            .lock()
            .expect("no thread panics with it");
        let (runtime, session) = &mut *own;
        runtime.block_on(session.carry_out(&asked))
    }

    fn buffer(&self, _place: u32) -> (*mut u8, usize) {
        (std::ptr::NonNull::dangling().as_ptr(), 0)
    }
}

/// A delivery that only has to be put into the queue.
const fn is_queued(operation: Operation) -> bool {
    operation.kind == Kind::Delivery as usize
}

/// Nothing is free where deliveries are carried out at once.
const fn never(_: Operation) -> bool {
    false
}

/// What each session has done so far.
type Tallies = Vec<Arc<Mutex<Tally>>>;

/// How sessions are carried: those with a server share a thread; SQLite, which works in the thread
/// that calls, has one for each.
enum Sessions {
    Together(Reactor),
    Apart(Carried),
}

impl Ready {
    /// Open the sessions of a run.
    ///
    /// # Errors
    ///
    /// If the database is not one of this program's, is not loaded, or cannot be reached.
    pub fn new(run: Run) -> Result<Self, DriverError> {
        let mark = mark_of(&run)?;
        run.check(mark)?;
        let journal = run.journal.as_ref().map(|path| {
            let file = File::create(path).map_err(|error| DriverError::file(path.display(), error));
            file.map(|file| Arc::new(Mutex::new(BufWriter::new(file))))
        });
        let journal = journal.transpose()?;
        let place = match &run.goal {
            Goal::Nothing { .. } => None,
            Goal::Database(target) => Some(target.place()?),
        };
        let has_server = place
            .as_ref()
            .is_some_and(|place| place.product != Product::Sqlite);
        let plan = Arc::new(Plan {
            place,
            database: run.database.clone(),
            form: run.form,
            manner: Manner {
                isolation: run.isolation,
                pipelines: run.pipelines,
                loads: false,
            },
            retries: run.retries,
            journal: journal.clone().map(|journal| journal as _),
        });
        let inputs = Arc::new(Inputs::new(&run, mark));
        let is_free = if run.defers { is_queued } else { never };
        let count = run.connections(mark);
        let (sessions, tallies) = if has_server {
            let reactor = Reactor::open(&plan, count, &inputs, is_free)?;
            let tallies = reactor.tallies();
            (Sessions::Together(reactor), tallies)
        } else {
            apart(&plan, count, &inputs, is_free)?
        };
        Ok(Self {
            run,
            mark,
            inputs,
            sessions,
            tallies,
            journal,
        })
    }

    /// Carry the run out.
    ///
    /// # Errors
    ///
    /// If the system cannot provide what it takes.
    pub fn run(self, is_wanted: &mut dyn FnMut() -> bool) -> Result<Report, DriverError> {
        let run = &self.run;
        let operations = Operations::new(run, &self.inputs)?;
        let classes = operations.classes(self.mark.workload);
        let limits = Limits {
            seconds: run.stop.seconds,
            operations: run.stop.operations,
            bytes: None,
            failures_in_a_row: run.failure_limit,
        };
        let connections = run.connections(self.mark);
        let load = Load::new(operations, classes, limits, connections);
        let carrier = Carrier { defers: run.defers };
        let record = Record::new(run.sample_every_s.map(ns_of));
        let patience = Patience::new(run.drain_s, run.silence_s);
        let _punctual = Punctual::begin();
        let before = Usage::now();
        let (mut load, record, end_ns, breakage) = match self.sessions {
            Sessions::Together(mut reactor) => {
                let mut drive = Drive {
                    load,
                    carrier,
                    record,
                    patience,
                    is_wanted,
                };
                reactor.start();
                let ended = drive.run(&mut reactor);
                let end_ns = ended
                    .as_ref()
                    .map_or_else(|_| reactor.now_ns(), |&end_ns| end_ns);
                (drive.load, drive.record, end_ns, ended.err())
            }
            Sessions::Apart(caller) => {
                let shared = Shared::new(load, carrier, record, patience);
                let ran = Workers::run(shared, caller, is_wanted);
                let shared = ran.map_err(|error| {
                    DriverError::Job(format!("no threads for the load: {error}"))
                })?;
                (shared.load, shared.record, shared.end_ns, None)
            }
        };
        let usage = Usage::now().since(&before);
        if let Some(journal) = &self.journal {
            flush(journal)?;
        }
        let Tally { counts, failures } = together(&self.tallies);
        let problem = breakage
            .map(|error| format!("waiting for answers: {error}"))
            .or_else(|| problem(&load, &failures, end_ns));
        Ok(Report {
            outcome: Outcome::new(&mut load, STATION, record, end_ns, problem),
            usage,
            counts,
            failures,
            connections,
        })
    }
}

fn apart(
    plan: &Arc<Plan>,
    count: u32,
    inputs: &Arc<Inputs>,
    is_free: fn(Operation) -> bool,
) -> Result<(Sessions, Tallies), DriverError> {
    let (mut sessions, mut tallies) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let runtime = runtime()?;
        let session = runtime.block_on(Session::open(plan))?;
        tallies.push(session.tally());
        sessions.push(Mutex::new((runtime, session)));
    }
    let carried = Carried {
        inputs: Arc::clone(inputs),
        sessions,
        is_free,
    };
    Ok((Sessions::Apart(carried), tallies))
}

/// Return what all sessions have done.
fn together(tallies: &[Arc<Mutex<Tally>>]) -> Tally {
    let mut all = Tally::default();
    for tally in tallies {
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        all.counts.add(&tally.counts);
        for failure in &tally.failures {
            if all.failures.iter().all(|one| one.cause != failure.cause) {
                all.failures.push(failure.clone());
            }
        }
    }
    all
}

fn flush(journal: &Mutex<BufWriter<File>>) -> Result<(), DriverError> {
    let flushed = journal.lock().expect("no thread panics with it").flush();
    flushed.map_err(|error| DriverError::file("the journal", error))
}

fn mark_of(run: &Run) -> Result<Mark, DriverError> {
    match &run.goal {
        Goal::Nothing { scale } => Ok(Mark {
            workload: Workload::TpcC,
            scale: *scale,
            seed: 1,
            constants: Constants {
                names_loaded: 157,
                names: 223,
                customers: 259,
                items: 7_911,
            },
            stage: Stage::Copied,
        }),
        Goal::Database(target) => {
            let place = target.place()?;
            mark::check_name(&run.database)?;
            runtime()?.block_on(async {
                let mut link = connect(&place, &run.database, Manner::default()).await?;
                let mark = mark::read(&mut link, &run.database).await?;
                if mark.stage == Stage::Loading {
                    return Err(DriverError::Database(format!(
                        "the database `{}` is not loaded to the end; load it again, and it continues",
                        run.database
                    )));
                }
                if run.is_fresh {
                    mark::check_fresh(&mut link, mark, &run.database).await?;
                }
                Ok(mark)
            })
        }
    }
}

/// Return why a run is not sound, or nothing.
fn problem(load: &Load<Operations>, failures: &[Failure], end_ns: u64) -> Option<String> {
    if let Some((_, begun_ns)) = load.oldest_outstanding() {
        let waited_s = end_ns.saturating_sub(begun_ns) as f64 / 1e9;
        return Some(format!(
            "{} transactions had no answer when the run ended, the oldest after {waited_s:.1} s",
            load.outstanding_count()
        ));
    }
    match load.stopped()?.0 {
        StopReason::TargetFailed => {
            let number = load.failures().all().last()?.errno;
            let failure = failures.iter().find(|one| one.cause.number() == number)?;
            Some(format!(
                "{} transactions in a row failed; the last kind of failure: {failure}",
                load.failures().in_a_row()
            ))
        }
        StopReason::Overload => Some(format!(
            "the database cannot keep up with the load: {} transactions were due but had not begun",
            load.waiting_count()
        )),
        _ => None,
    }
}
