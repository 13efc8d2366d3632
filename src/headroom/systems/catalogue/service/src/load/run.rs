//! One run: clients get ready, the shared driver runs them, the result is reported.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use headroom::recording::clock::{Punctual, Usage, ns_of};
use headroom::recording::load::carrier::Backend as _;
use headroom::recording::load::drive::Drive;
use headroom::recording::load::outcome::Outcome;
use headroom::recording::load::patience::Patience;
use headroom::recording::load::record::Record;
use headroom::recording::load::{Limits, Load, StopReason};

use super::amga::Access;
use super::carrier::Carrier;
use super::client::{Client, Notes, Plan, Server};
use super::error::LoadError;
use super::job::{Connections, Job};
use super::journal::Journal;
use super::limits::allow_files;
use super::meter::Meter;
use super::problem::problem;
use super::reactor::Reactor;
use super::report::Report;
use super::script::Scripts;
use super::source::Operations;
use super::target::{Target, Tls};
use super::tls;

/// Name of the target in tables.
const STATION: &str = "target";
/// Files of a process that are no client's socket.
const OTHER_FILES: u64 = 64;

/// Clients that are ready to begin.
pub struct Ready {
    job: Job,
    plan: Rc<Plan>,
    meters: Vec<Rc<Meter>>,
    reactor: Reactor,
}

impl Ready {
    /// Make the clients of `job` ready: those that keep their connections open them.
    ///
    /// # Errors
    ///
    /// If the job is wrong, or a client cannot connect.
    pub fn new(job: Job) -> Result<Self, LoadError> {
        let client_count = job.load.client_count();
        allow_files(u64::from(client_count) + OTHER_FILES)?;
        let shared = tls_of(&job.target).map(tls::Shared::new).transpose()?;
        let journal = Journal::begin(job.journal.as_deref());
        let journal = journal.map_err(LoadError::system("beginning the journal"))?;
        let plan = Rc::new(plan(&job, journal));
        let mut reactor = Reactor::new()?;
        let mut meters = Vec::new();
        for client in 0..client_count {
            let meter = Rc::new(Meter::default());
            let access = Access {
                encryption: shared.as_ref().map(|shared| shared.for_client(&meter)),
                poller: reactor.poller().clone(),
                client: u64::from(client),
                meter: Rc::clone(&meter),
            };
            let client = Client::new(&plan, access);
            reactor.add(|mailbox, ends| client.work(mailbox, ends));
            meters.push(meter);
        }
        if let Some((client, number)) = reactor.open(job.opening_limit)? {
            return Err(refused(&plan, client, meters.len(), number));
        }
        Ok(Self {
            job,
            plan,
            meters,
            reactor,
        })
    }

    /// Carry the job out.
    ///
    /// # Errors
    ///
    /// If the job is wrong.
    pub fn run(mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<Report, LoadError> {
        let mut drive = Drive {
            load: load(&self.job)?,
            carrier: Carrier,
            record: Record::new(self.job.sample_every_s.map(ns_of)),
            patience: Patience::new(self.job.drain_s, self.job.silence_s),
            is_wanted,
        };
        self.plan.notes.take();
        self.meters.iter().for_each(|meter| meter.reset());
        let _punctual = Punctual::begin();
        let before = Usage::now();
        self.reactor.start();
        let (end_ns, breakage) = match drive.run(&mut self.reactor) {
            Ok(end_ns) => (end_ns, None),
            Err(error) => {
                let now_ns = self.reactor.now_ns();
                drive.load.stop(StopReason::InterfaceFailed, now_ns);
                (now_ns, Some(format!("waiting for answers: {error}")))
            }
        };
        let usage = Usage::now().since(&before);
        let written = self.plan.journal.borrow_mut().end();
        written.map_err(LoadError::system("writing the journal"))?;
        let notes = self.plan.notes.take();
        let problem = breakage.or_else(|| problem(&drive.load, &notes, end_ns));
        Ok(Report {
            outcome: Outcome::new(&mut drive.load, STATION, drive.record, end_ns, problem),
            usage,
            notes,
            meters: self.meters,
            wait_count: self.reactor.call_count(),
        })
    }
}

fn plan(job: &Job, journal: Journal) -> Plan {
    let (server, scripts) = match &job.target {
        Target::Amga(target) => (
            Server::Amga(target.clone()),
            Some(Scripts::of_amga(target, job.form)),
        ),
        Target::Postgres(target) => (
            Server::Postgres(target.clone()),
            Some(Scripts::of_postgres(target, job.form)),
        ),
        Target::Nothing {} => (Server::Nothing, None),
    };
    let connections = match server {
        Server::Nothing => Connections::PerOperation,
        _ => job.connections,
    };
    Plan {
        server,
        scripts,
        connections,
        reopens: job.reopens,
        pause: Duration::from_secs_f64(job.pause_s),
        entries: job.entries.clone(),
        notes: RefCell::new(Notes::default()),
        journal: RefCell::new(journal),
    }
}

fn tls_of(target: &Target) -> Option<&Tls> {
    match target {
        Target::Amga(target) => target.tls.as_ref(),
        Target::Postgres(target) => target.tls.as_ref(),
        Target::Nothing {} => None,
    }
}

fn load(job: &Job) -> Result<Load<Operations>, LoadError> {
    let operations = Operations::new(job)?;
    let classes = operations.classes();
    let limits = Limits {
        seconds: job.stop.seconds,
        operations: job.stop.operations,
        bytes: None,
        failures_in_a_row: job.failure_limit,
    };
    Ok(Load::new(
        operations,
        classes,
        limits,
        job.load.client_count(),
    ))
}

fn refused(plan: &Plan, client: usize, count: usize, number: i32) -> LoadError {
    let notes = plan.notes.borrow();
    let failure = notes.failures.get(&number);
    LoadError::Opening {
        client: client + 1,
        count,
        reason: failure.map(ToString::to_string).unwrap_or_default(),
    }
}
