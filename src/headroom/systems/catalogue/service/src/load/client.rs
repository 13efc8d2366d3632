//! A client: it opens its connection, carries out operations and counts what they cost.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use super::amga::{self, Access};
use super::failure::Failure;
use super::job::{Connections, Entries};
use super::journal::Journal;
use super::meter::Meter;
use super::postgres;
use super::reactor::{Ends, Mailbox, Work};
use super::script::{Entry, Script, Scripts};
use super::source::{Kind, Operation};
use super::target::{AmgaTarget, PostgresTarget};

/// The part of a job that all clients of a process share.
pub struct Plan {
    /// The server.
    pub server: Server,
    /// The texts of operations.
    pub scripts: Option<Scripts>,
    /// How long a connection lives.
    pub connections: Connections,
    /// Whether an operation is begun again if its connection was closed before the first reply.
    pub reopens: bool,
    /// How long a client waits when a connection is open.
    pub pause: Duration,
    /// Names of entries.
    pub entries: Entries,
    /// Successes and failures.
    pub notes: RefCell<Notes>,
    /// The end of each operation.
    pub journal: RefCell<Journal>,
}

/// A server.
pub enum Server {
    /// A catalogue.
    Amga(AmgaTarget),
    /// A database.
    Postgres(PostgresTarget),
    /// Nothing.
    Nothing,
}

/// Successes and failures by kind.
#[derive(Debug, Default)]
pub struct Notes {
    /// Good operations by their number of message pairs.
    pub by_pairs: BTreeMap<u64, u64>,
    /// The first failure of each number.
    pub failures: BTreeMap<i32, Failure>,
}

/// One client.
pub struct Client {
    plan: Rc<Plan>,
    access: Access,
    connection: Option<Connection>,
    /// The session of the catalogue that the next connection resumes.
    session: Option<String>,
    entry: Entry,
    text: String,
}

enum Connection {
    Amga(amga::Connection),
    Postgres(postgres::Connection),
}

impl Client {
    /// Return a client without a connection.
    pub fn new(plan: &Rc<Plan>, access: Access) -> Self {
        Self {
            plan: Rc::clone(plan),
            access,
            connection: None,
            session: None,
            entry: Entry::default(),
            text: String::new(),
        }
    }

    /// Do the work that comes into `mailbox`.
    pub async fn work(mut self, mailbox: Rc<Mailbox>, ends: Rc<Ends>) -> Infallible {
        loop {
            let (place, work) = mailbox.next().await;
            let pairs_before = self.meter().message_pairs.get();
            let result = match work {
                Work::Open => self.be_ready().await,
                Work::Carry(operation) => self.carry_out(operation).await,
            };
            let mut notes = self.plan.notes.borrow_mut();
            let number = match result {
                Ok(()) => {
                    let pairs = self.meter().message_pairs.get() - pairs_before;
                    *notes.by_pairs.entry(pairs).or_default() += 1;
                    0
                }
                Err(failure) => {
                    let number = failure.number();
                    notes.failures.entry(number).or_insert(failure);
                    -number
                }
            };
            drop(notes);
            ends.add(place, number);
        }
    }

    fn meter(&self) -> &Meter {
        &self.access.meter
    }

    /// Open the connection, and log in, if it is kept for the operations.
    async fn be_ready(&mut self) -> Result<(), Failure> {
        if self.plan.connections == Connections::PerOperation {
            return Ok(());
        }
        let plan = Rc::clone(&self.plan);
        self.connect(&plan).await?;
        match &mut self.connection {
            // The login is checked with the first command.
            Some(Connection::Amga(connection)) => connection.exchange("pwd", "").await.map(drop),
            _ => Ok(()),
        }
    }

    async fn carry_out(&mut self, operation: Operation) -> Result<(), Failure> {
        let plan = Rc::clone(&self.plan);
        let Some(scripts) = &plan.scripts else {
            return Ok(());
        };
        let entries = &plan.entries;
        let (prefix, divided, script) = match operation.kind {
            Kind::Insert => (&entries.new_prefix, None, &scripts.insert),
            Kind::Fill => (
                &entries.known_prefix,
                entries.per_directory,
                &scripts.insert,
            ),
            Kind::Query => (&entries.known_prefix, entries.per_directory, &scripts.query),
        };
        self.entry.set(prefix, operation.number, divided);
        let changes_at_once = script.text_count() == 1 && operation.kind != Kind::Query;
        let mut may_reopen = plan.reopens;
        let result = loop {
            let mut is_answered = false;
            let result = self.attempt(&plan, script, operation.kind, &mut is_answered);
            let result = result.await;
            if !is_fatal(&result) || is_answered || !may_reopen {
                break result;
            }
            // The first text of a transaction changes nothing, nor does a query, nor an opening.
            if changes_at_once && self.connection.is_some() {
                break result;
            }
            may_reopen = false;
            self.close(&plan).await;
        };
        plan.journal.borrow_mut().note(&result, &self.entry.name);
        if result.is_err() {
            // The refusal may mean that the server has forgotten the session.
            self.session = None;
        }
        if plan.connections == Connections::PerOperation || is_fatal(&result) {
            self.close(&plan).await;
        }
        result
    }

    async fn attempt(
        &mut self,
        plan: &Plan,
        script: &Script,
        kind: Kind,
        is_answered: &mut bool,
    ) -> Result<(), Failure> {
        if self.connection.is_none() {
            self.connect(plan).await?;
        }
        self.follow(script, kind, is_answered).await
    }

    /// Send the texts of `script` one after the other; note whether the first one had a reply.
    async fn follow(
        &mut self,
        script: &Script,
        kind: Kind,
        is_answered: &mut bool,
    ) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else {
            return Err(Failure::Closed);
        };
        let mut has_found = false;
        for index in 0..script.text_count() {
            self.text.clear();
            script.fill(index, &self.entry, &mut self.text);
            match connection.exchange(&self.text, &self.entry.guid).await {
                Ok(is_there) => {
                    *is_answered = true;
                    has_found |= is_there;
                }
                Err(failure) => {
                    let undo = script.undo_after(index).filter(|_| !failure.is_fatal());
                    if let Some(undo) = undo {
                        // A refused end of a transaction that has ended already is no second failure.
                        let _ = connection.exchange(undo, "").await;
                    }
                    return Err(failure);
                }
            }
        }
        if kind == Kind::Query && !has_found {
            return Err(Failure::WrongAnswer);
        }
        Ok(())
    }

    async fn connect(&mut self, plan: &Plan) -> Result<(), Failure> {
        let session = self.session.take();
        self.connection = match &plan.server {
            Server::Amga(target) => {
                let opening = amga::Connection::open(target, &self.access, session.as_deref());
                Some(Connection::Amga(opening.await?))
            }
            Server::Postgres(target) => {
                let opening = postgres::Connection::open(target, &self.access);
                Some(Connection::Postgres(opening.await?))
            }
            Server::Nothing => None,
        };
        if !plan.pause.is_zero() {
            let Access { poller, client, .. } = &self.access;
            poller.pause(*client, plan.pause).await;
        }
        if plan.resumes() {
            // It may be resumed again until the server gives another one.
            self.session = session;
        }
        Ok(())
    }

    async fn close(&mut self, plan: &Plan) {
        match self.connection.take() {
            Some(Connection::Amga(connection)) => {
                let session = connection.close().await;
                if plan.resumes() {
                    self.session = session.or(self.session.take());
                }
            }
            Some(Connection::Postgres(connection)) => connection.close().await,
            None => {}
        }
    }
}

impl Plan {
    fn resumes(&self) -> bool {
        matches!(&self.server, Server::Amga(target) if target.resumes)
    }
}

impl Connection {
    async fn exchange(&mut self, text: &str, wanted: &str) -> Result<bool, Failure> {
        match self {
            Self::Amga(connection) => connection.exchange(text, wanted).await,
            Self::Postgres(connection) => connection.exchange(text, wanted).await,
        }
    }
}

fn is_fatal(result: &Result<(), Failure>) -> bool {
    result.as_ref().is_err_and(Failure::is_fatal)
}
