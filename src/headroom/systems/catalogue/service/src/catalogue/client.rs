//! A person at work: where commands read and write, and the transaction that is open.

use std::sync::Arc;

use super::Catalogue;
use super::directory::{Directory, Person};
use super::guard::Guard;
use super::path::Path;
use super::upload::Upload;
use crate::refusal::{Answer, Code, Refusal};
use crate::store::sql::Sql;
use crate::store::{Outcome, Ran, Rows, Step, Transaction};
use crate::value::Value;
use crate::wire::reply::Reply;

/// How an attempt at a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// It is done.
    Done,
    /// The plan was old, and nothing was changed or replied: plan again.
    Stale,
}

/// How steps ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tried {
    /// All as expected.
    Done(Vec<Outcome>),
    /// The step of this number was not, and nothing was changed.
    Unmet(usize, Vec<Outcome>),
    /// The plan was old, and nothing was changed.
    Stale,
}

/// The transaction of a client.
pub(super) enum Open {
    /// None: each command is a transaction.
    No,
    /// Begun by the client, not yet by a database.
    Begun,
    /// In the database of this number.
    In(usize, Transaction),
    /// It failed, or its command was dropped half-way: only `abort` helps.
    Lost,
}

/// A login whose certificate was remembered: it proves nothing until a statement has found that the
/// epoch is the same.
pub(super) struct Unconfirmed {
    /// Of the certificate.
    pub subject: String,
    /// The name in the login block.
    pub login: String,
    /// When the certificate belonged to the person.
    pub epoch: i64,
}

/// A person who has logged in.
pub struct Client {
    pub(super) catalogue: Arc<Catalogue>,
    /// Who logged in, or whom root became.
    pub(super) name: String,
    pub(super) here: Path,
    pub(super) open: Open,
    pub(super) upload: Option<Upload>,
    /// Paths that the running command has looked up.
    planned: Vec<Path>,
    /// Directories that it took from the cache.
    remembered: Vec<Arc<Directory>>,
    /// Whether the open transaction is of the running command alone.
    is_implicit: bool,
    unconfirmed: Option<Unconfirmed>,
}

impl Client {
    pub(super) fn new(catalogue: Arc<Catalogue>, name: String) -> Self {
        Self {
            catalogue,
            name,
            here: Path::root(),
            open: Open::No,
            upload: None,
            planned: Vec::new(),
            remembered: Vec::new(),
            is_implicit: false,
            unconfirmed: None,
        }
    }

    /// Return the client of a login that no statement has confirmed yet.
    pub(super) fn unconfirmed(
        catalogue: Arc<Catalogue>,
        name: String,
        unconfirmed: Unconfirmed,
    ) -> Self {
        Self {
            unconfirmed: Some(unconfirmed),
            ..Self::new(catalogue, name)
        }
    }

    /// Ask whom the certificate of the login belongs to, unless that is sure.
    pub(super) async fn confirm(&mut self) -> Answer<()> {
        if let Some(Unconfirmed { subject, login, .. }) = &self.unconfirmed {
            self.name = self.catalogue.certified(subject, login).await?;
            self.unconfirmed = None;
        }
        Ok(())
    }

    /// Note that a statement has compared the epoch.
    pub(super) fn is_confirmed(&mut self) {
        self.unconfirmed = None;
    }

    /// Forget what the last attempt was planned with. The epoch of other databases follows the
    /// first: a server may have stopped between raising it here and there.
    pub(super) async fn plan_again(&mut self) -> Answer<()> {
        let cache = &self.catalogue.cache;
        cache.forget(&self.planned, &self.name);
        self.planned.clear();
        self.confirm().await?;
        self.catalogue.spread_epoch().await
    }

    /// Begin an attempt. A command that was dropped half-way has lost a transaction of its own,
    /// not one of the client.
    pub(super) fn begin_plan(&mut self) {
        self.planned.clear();
        self.remembered.clear();
        if std::mem::take(&mut self.is_implicit) {
            self.open = Open::No;
        }
    }

    /// Return whether a refusal may come from something old that was remembered.
    pub(super) async fn was_misled(&mut self) -> Answer<bool> {
        let Some(person) = self.catalogue.cache.person(&self.name) else {
            return Ok(self.unconfirmed.is_some());
        };
        let remembered = std::mem::take(&mut self.remembered);
        let nothing = Guard::new(&person, []);
        let mut guards = vec![(0, nothing)];
        for directory in &remembered {
            let shard = self.catalogue.shard(&directory.path);
            guards.push((shard, Guard::new(&person, [&**directory])));
        }
        for (shard, guard) in guards {
            let question = vec![Step::new(guard.question())];
            let ran = self.catalogue.store.run(shard, question).await?;
            if !ran.outcomes.iter().any(Outcome::is_something) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Return whether directories, of one database, are as they were when they were remembered.
    pub(super) async fn is_current_of(&mut self, directories: &[&Directory]) -> Answer<bool> {
        let person = self.person().await?;
        let guard = Guard::new(&person, directories.iter().copied());
        let shard = self.catalogue.shard(&directories[0].path);
        self.is_current(shard, &guard).await
    }

    /// Return the person with groups.
    pub(super) async fn person(&mut self) -> Answer<Arc<Person>> {
        let person = self.catalogue.person(&self.name).await?;
        match &self.unconfirmed {
            Some(unconfirmed) if unconfirmed.epoch != person.epoch => {
                self.confirm().await?;
                self.catalogue.person(&self.name).await
            }
            _ => Ok(person),
        }
    }

    /// Return a directory.
    pub(super) async fn directory(&mut self, path: &Path) -> Answer<Arc<Directory>> {
        match self.find_directory(path).await? {
            Some(found) => Ok(found),
            None => Err(no_directory(path)),
        }
    }

    /// Return the directory that a path or a pattern names; none if it names entries. A pattern with
    /// wildcards is never a directory, which saves a statement.
    pub(super) async fn as_directory(&mut self, text: &str) -> Answer<Option<Arc<Directory>>> {
        if text.contains(['*', '?']) {
            return Ok(None);
        }
        let path = self.here.resolve(text)?;
        self.find_directory(&path).await
    }

    /// Return a directory if there is one. In a transaction it is read again, with the changes of the
    /// transaction.
    pub(super) async fn find_directory(&mut self, path: &Path) -> Answer<Option<Arc<Directory>>> {
        self.planned.push(path.clone());
        let is_free = matches!(self.open, Open::No);
        if let Some(found) = is_free
            .then(|| self.catalogue.cache.directory(path))
            .flatten()
        {
            self.remembered.push(Arc::clone(&found));
            return Ok(Some(found));
        }
        let shard = self.catalogue.shard(path);
        let found = self.query(shard, Directory::query(path)).await?;
        let Some(row) = found.rows.first() else {
            return Ok(None);
        };
        let directory = Arc::new(Directory::of_row(row)?);
        if is_free {
            self.catalogue.cache.keep_directory(&directory);
        }
        Ok(Some(directory))
    }

    /// Run one statement.
    pub(super) async fn query(&mut self, shard: usize, statement: Sql) -> Answer<Outcome> {
        let mut ran = self.run(shard, vec![Step::new(statement)]).await?;
        Ok(ran.outcomes.pop().unwrap_or_default())
    }

    /// Run steps, all or none of them.
    pub(super) async fn run(&mut self, shard: usize, steps: Vec<Step>) -> Answer<Ran> {
        if matches!(self.open, Open::No) {
            return Ok(self.catalogue.store.run(shard, steps).await?);
        }
        // A dropped future leaves `Lost`, and its transaction is rolled back.
        let mut transaction = self.transaction(shard).await?;
        let ran = run_inside(&mut transaction, steps).await;
        if ran.is_ok() {
            self.open = Open::In(shard, transaction);
        }
        ran
    }

    /// Take the open transaction out, for the database of this number.
    async fn transaction(&mut self, shard: usize) -> Answer<Transaction> {
        match std::mem::replace(&mut self.open, Open::Lost) {
            Open::In(at, transaction) if at == shard => Ok(transaction),
            Open::In(at, transaction) => {
                self.open = Open::In(at, transaction);
                let message = "a transaction may only use directories of one database: those \
                    whose path begins with the same name, and others that happen to be there";
                Err(Refusal::new(Code::Transaction, message))
            }
            Open::Begun | Open::No => match self.catalogue.store.begin(shard).await {
                Ok(transaction) => Ok(transaction),
                Err(error) => {
                    self.open = Open::Begun;
                    Err(error.into())
                }
            },
            Open::Lost => Err(lost()),
        }
    }

    /// Run steps; where one does not go as expected, find out whether the plan was old.
    pub(super) async fn attempt(
        &mut self,
        shard: usize,
        guard: &Guard,
        steps: Vec<Step>,
    ) -> Answer<Tried> {
        let ran = self.run(shard, steps).await?;
        match ran.failed {
            None => Ok(Tried::Done(ran.outcomes)),
            Some(step) if self.is_current(shard, guard).await? => {
                Ok(Tried::Unmet(step, ran.outcomes))
            }
            Some(_) => Ok(Tried::Stale),
        }
    }

    /// Return whether nothing has changed since a plan was made.
    pub(super) async fn is_current(&mut self, shard: usize, guard: &Guard) -> Answer<bool> {
        Ok(self.query(shard, guard.question()).await?.is_something())
    }

    /// Write a line for each value of each row. Without any row, the plan may have been old.
    pub(super) async fn stream(
        &mut self,
        shard: usize,
        guard: &Guard,
        statement: Sql,
        reply: &mut Reply<'_>,
        show: &(dyn Fn(usize, &Value) -> String + Sync),
    ) -> Answer<Streamed> {
        let count = if matches!(self.open, Open::No) {
            let mut rows = self.catalogue.store.rows(shard, statement).await?;
            write_rows(&mut rows, reply, show).await?
        } else {
            let mut transaction = self.transaction(shard).await?;
            let mut rows = transaction.rows(statement).await?;
            let count = write_rows(&mut rows, reply, show).await?;
            drop(rows);
            self.open = Open::In(shard, transaction);
            count
        };
        if count == 0 && !self.is_current(shard, guard).await? {
            return Ok(Streamed::Stale);
        }
        Ok(Streamed::Rows(count))
    }

    /// Begin a transaction.
    pub(super) fn begin(&mut self) -> Answer<()> {
        if !matches!(self.open, Open::No) {
            let message = "a transaction is open; `commit` or `abort` it first";
            return Err(Refusal::new(Code::Transaction, message));
        }
        self.open = Open::Begun;
        Ok(())
    }

    /// Begin a transaction for a command that needs one, unless the client has one.
    pub(super) fn begin_implicit(&mut self) -> bool {
        let is_own = matches!(self.open, Open::No);
        if is_own {
            self.open = Open::Begun;
            self.is_implicit = true;
        }
        is_own
    }

    /// End the transaction of [`Client::begin_implicit`].
    pub(super) async fn end_implicit<T>(&mut self, is_own: bool, result: Answer<T>) -> Answer<T> {
        if !is_own {
            return result;
        }
        self.is_implicit = false;
        match result {
            Ok(found) => self.commit().await.map(|()| found),
            Err(refusal) => {
                self.abort().await?;
                Err(refusal)
            }
        }
    }

    /// Make the changes of the transaction last.
    pub(super) async fn commit(&mut self) -> Answer<()> {
        match std::mem::replace(&mut self.open, Open::No) {
            Open::No => Err(no_transaction()),
            Open::Begun => Ok(()),
            Open::In(_, transaction) => Ok(transaction.commit().await?),
            Open::Lost => Err(Refusal::new(
                Code::Transaction,
                "the transaction failed before and was rolled back",
            )),
        }
    }

    /// Undo the changes of the transaction.
    pub(super) async fn abort(&mut self) -> Answer<()> {
        match std::mem::replace(&mut self.open, Open::No) {
            Open::No => return Err(no_transaction()),
            Open::Begun | Open::Lost => {}
            Open::In(_, transaction) => transaction.rollback().await,
        }
        Ok(())
    }
}

/// How many rows were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streamed {
    /// This many.
    Rows(u64),
    /// None, and the plan was old.
    Stale,
}

/// Several steps of one command in a transaction of the client: all or none of them, and the
/// transaction continues.
async fn run_inside(transaction: &mut Transaction, steps: Vec<Step>) -> Answer<Ran> {
    let is_several = steps.len() > 1;
    if is_several {
        transaction
            .run(Step::new(Sql::new("SAVEPOINT command")))
            .await?;
    }
    let mut ran = Ran::default();
    for (number, step) in steps.into_iter().enumerate() {
        let (outcome, is_expected) = transaction.run(step).await?;
        ran.outcomes.push(outcome);
        if !is_expected {
            ran.failed = Some(number);
            break;
        }
    }
    if is_several {
        if ran.failed.is_some() {
            let back = Sql::new("ROLLBACK TO SAVEPOINT command");
            transaction.run(Step::new(back)).await?;
        }
        let release = Sql::new("RELEASE SAVEPOINT command");
        transaction.run(Step::new(release)).await?;
    }
    Ok(ran)
}

async fn write_rows(
    rows: &mut Rows<'_>,
    reply: &mut Reply<'_>,
    show: &(dyn Fn(usize, &Value) -> String + Sync),
) -> Answer<u64> {
    let mut count = 0;
    while reply.has_room()
        && let Some(row) = rows.next().await?
    {
        for (number, value) in row.iter().enumerate() {
            let written = match value {
                Value::Null => reply.missing().await,
                value => reply.line(&show(number, value)).await,
            };
            written.map_err(gone)?;
        }
        count += 1;
    }
    Ok(count)
}

/// The connection ends with this: no client reads it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` gives the error away"
)]
pub(super) fn gone(error: std::io::Error) -> Refusal {
    Refusal::new(Code::Unavailable, format!("the client is gone: {error}"))
}

pub(super) fn no_directory(path: &Path) -> Refusal {
    let message = format!("no directory {}", path.text());
    Refusal::new(Code::NotFound, message)
}

fn no_transaction() -> Refusal {
    Refusal::new(Code::Transaction, "no transaction in progress")
}

fn lost() -> Refusal {
    let message = "the transaction failed before and was rolled back; `abort` it";
    Refusal::new(Code::Transaction, message)
}
