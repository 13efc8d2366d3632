//! SQLite: a connection is a thread with a queue of work.
//!
//! There is one writer and several readers, as SQLite has it. A change waits for the writer in the
//! pool, so it finds the file locked only by another program.

mod work;

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::{Failure, StoreError};
use super::rows::Stream;
use super::settings::Settings;
use super::step::{Outcome, Ran, Rendered};

/// An interrupt reaches only a statement that runs: one that is about to start needs another.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(20);

/// Rows that may wait for their reader.
const MAX_ROWS_AHEAD: usize = 64;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// A thread with a connection; it ends when this is dropped.
pub(in crate::store) struct Link {
    jobs: mpsc::Sender<Job>,
    interrupt: InterruptHandle,
    limit: Duration,
}

impl Link {
    pub async fn connect(
        path: &Path,
        settings: &Arc<Settings>,
        is_reader: bool,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (opened, is_opened) = oneshot::channel();
        let (path, shared) = (path.to_owned(), Arc::clone(settings));
        let serve = move || {
            let result = work::open(&path, &shared, is_reader);
            let (result, connection) = match result {
                Ok(connection) => (Ok(connection.get_interrupt_handle()), Some(connection)),
                Err(error) => (Err(error), None),
            };
            let is_wanted = opened.send(result).is_ok();
            if let Some(connection) = connection.filter(|_| is_wanted) {
                for job in queue {
                    job(&connection);
                }
            }
        };
        let thread = std::thread::Builder::new().name("sqlite".to_owned());
        let away = |reason: &dyn std::fmt::Display| StoreError::Away(reason.to_string());
        thread.spawn(serve).map_err(|error| away(&error))?;
        let interrupt = is_opened.await.map_err(|error| away(&error))??;
        Ok(Self {
            jobs,
            interrupt,
            limit: settings.statement_timeout,
        })
    }

    #[allow(clippy::unused_self, reason = "every connection answers this")]
    pub fn is_alive(&self) -> bool {
        true
    }

    pub async fn run(&mut self, steps: &Arc<[Rendered]>) -> Result<Ran, Failure> {
        let steps = Arc::clone(steps);
        let limit = self.limit * u32::try_from(steps.len()).unwrap_or(u32::MAX);
        self.ask(limit, move |connection| work::run(connection, &steps))
            .await
    }

    pub async fn batch(&mut self, text: String) -> Result<(), Failure> {
        self.ask(self.limit, move |connection| work::batch(connection, &text))
            .await
    }

    pub async fn begin(&mut self) -> Result<(), Failure> {
        self.batch("BEGIN IMMEDIATE".to_owned()).await
    }

    pub async fn step(&mut self, step: &Arc<Rendered>) -> Result<Outcome, Failure> {
        let step = Arc::clone(step);
        self.ask(self.limit, move |connection| {
            work::execute(connection, &step)
        })
        .await
    }

    pub fn rows(&mut self, step: &Arc<Rendered>) -> Result<Stream, Failure> {
        let (rows, stream) = tokio::sync::mpsc::channel(MAX_ROWS_AHEAD);
        let step = Arc::clone(step);
        self.send(Box::new(move |connection| {
            work::rows(connection, &step, &rows);
        }))?;
        Ok(Stream::Channel(stream))
    }

    pub async fn commit(&mut self) -> Result<(), Failure> {
        self.ask(self.limit, work::commit).await
    }

    pub async fn rollback(&mut self) -> Result<(), Failure> {
        self.ask(self.limit, work::rollback).await
    }

    /// Stop what runs and roll back.
    pub async fn recover(self) -> Option<Self> {
        let (reply, answer) = oneshot::channel();
        let job = move |connection: &Connection| {
            let _ = reply.send(work::rollback(connection));
        };
        self.send(Box::new(job)).ok()?;
        self.interrupted(answer).await.ok()?;
        Some(self)
    }

    /// Wait until the thread has closed the file.
    pub async fn close(self) {
        let (closing, is_closed) = oneshot::channel::<()>();
        // The job keeps its sender until the queue ends, and that is when the connection closes.
        let _ = self.send(Box::new(move |_| drop(closing)));
        drop(self);
        let _ = is_closed.await;
    }

    /// Let the thread work; interrupt it after the limit of time. Work that was done nevertheless counts.
    async fn ask<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, mut answer) = oneshot::channel();
        let job = move |connection: &Connection| {
            // Work that no caller waits for must not begin.
            if !reply.is_closed() {
                let _ = reply.send(work(connection));
            }
        };
        self.send(Box::new(job))?;
        match timeout(limit, &mut answer).await {
            Ok(result) => result.unwrap_or_else(|_| Err(Failure::broken("its thread ended"))),
            Err(_) => self.interrupted(answer).await,
        }
    }

    async fn interrupted<T>(
        &self,
        mut answer: oneshot::Receiver<Result<T, Failure>>,
    ) -> Result<T, Failure> {
        loop {
            self.interrupt.interrupt();
            if let Ok(result) = timeout(INTERRUPT_AGAIN, &mut answer).await {
                return result.unwrap_or_else(|_| Err(Failure::broken("its thread ended")));
            }
        }
    }

    fn send(&self, job: Job) -> Result<(), Failure> {
        let sent = self.jobs.send(job);
        sent.map_err(|_| Failure::broken("its thread ended"))
    }
}
