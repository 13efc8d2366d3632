//! A run from its job to its result.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::{Arc, Mutex};

use headroom::recording::clock::{Punctual, Usage, ns_of};
use headroom::recording::load::carrier::{self, Caller, Completion};
use headroom::recording::load::outcome::Outcome;
use headroom::recording::load::patience::Patience;
use headroom::recording::load::record::Record;
use headroom::recording::load::workers::{Shared, Workers};
use headroom::recording::load::{Limits, Load, StopReason};
use headroom_transactions::systems::transactions::inputs::{Constants, Kind, Workload};

use super::report::Report;
use super::source::{DEFERRED, Inputs, Operation, Operations};
use crate::database::Manner;
use crate::database::mark::{self, Mark, Stage, connect};
use crate::error::{DriverError, Failure};
use crate::job::{Goal, Run};
use crate::populate::runtime;
use crate::transactions::{Counts, Plan, Session};

/// Name of the target in tables.
const STATION: &str = "database";

/// A run whose sessions are open.
pub struct Ready {
    run: Run,
    mark: Mark,
    inputs: Arc<Inputs>,
    sessions: Arc<Vec<Mutex<Session>>>,
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
    sessions: Arc<Vec<Mutex<Session>>>,
    defers: bool,
}

impl Caller<Operation> for Carried {
    fn call(&self, place: u32, operation: Operation) -> i32 {
        if self.defers && operation.kind == Kind::Delivery as usize {
            return 0;
        }
        let asked = self.inputs.draw(operation);
        let mut session = self.sessions[place as usize]
            .lock()
            .expect("no thread panics with it");
        session
            .carry_out(&asked)
            .map_or_else(|number| -number, |()| 0)
    }

    fn buffer(&self, _place: u32) -> (*mut u8, usize) {
        (std::ptr::NonNull::dangling().as_ptr(), 0)
    }
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
        let sessions = (0..run.connections(mark)).map(|_| Session::open(&plan).map(Mutex::new));
        let sessions = Arc::new(sessions.collect::<Result<Vec<_>, _>>()?);
        Ok(Self {
            inputs: Arc::new(Inputs::new(&run, mark)),
            run,
            mark,
            sessions,
            journal,
        })
    }

    /// Carry the run out.
    ///
    /// # Errors
    ///
    /// If the system cannot provide enough threads.
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
        let places = run.connections(self.mark);
        let shared = Shared::new(
            Load::new(operations, classes, limits, places),
            Carrier { defers: run.defers },
            Record::new(run.sample_every_s.map(ns_of)),
            Patience::new(run.drain_s, run.silence_s),
        );
        let caller = Carried {
            inputs: Arc::clone(&self.inputs),
            sessions: Arc::clone(&self.sessions),
            defers: run.defers,
        };
        let _punctual = Punctual::begin();
        let before = Usage::now();
        let ran = Workers::run(shared, caller, is_wanted);
        let mut shared =
            ran.map_err(|error| DriverError::Job(format!("no threads for the load: {error}")))?;
        let usage = Usage::now().since(&before);
        if let Some(journal) = &self.journal {
            flush(journal)?;
        }
        let mut counts = Counts::default();
        let mut failures = Vec::new();
        for session in &*self.sessions {
            // A session whose call never returned keeps its counts.
            let Ok(session) = session.try_lock() else {
                continue;
            };
            counts.add(session.counts());
            failures.extend(session.failures().iter().cloned());
        }
        let end_ns = shared.end_ns;
        let problem = problem(&shared.load, &failures, end_ns);
        Ok(Report {
            outcome: Outcome::new(&mut shared.load, STATION, shared.record, end_ns, problem),
            usage,
            counts,
            failures,
            call_count: shared.call_count,
            connections: self.sessions.len(),
        })
    }
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
                        "the database `{}` is not loaded to the end; load it again, and it goes on",
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
