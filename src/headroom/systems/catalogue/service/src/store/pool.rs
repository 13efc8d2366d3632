//! A bounded pool of connections to a database.
//!
//! The invariant: there are never more connections than places, those that are being closed included,
//! and an idle connection has neither a transaction nor a running statement. A lease that is dropped
//! in the middle of something is cleaned up by a task, which keeps its place until that is done.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::{Failure, StoreError};
use super::link::{Link, Origin};
use super::rows::Stream;
use super::step::{Outcome, Ran, Rendered};

/// An idle connection may have been closed by a server or a firewall; after this time it is asked.
const CHECK_AFTER: Duration = Duration::from_secs(30);

/// Connections to one database.
pub(super) struct Pool {
    origin: Origin,
    size: usize,
    wait_timeout: Duration,
    places: Arc<Semaphore>,
    idle: Mutex<Idles>,
    open: Arc<AtomicUsize>,
    waiting: Arc<AtomicUsize>,
    statements: AtomicU64,
    leased: AtomicU64,
}

/// Idle connections.
struct Idles {
    links: Vec<Idle>,
    /// Connections that are idle since an earlier time are asked whether they are alive: one of the
    /// others was lost then.
    suspect_before: Instant,
}

struct Idle {
    link: Link,
    since: Instant,
    open: Counted,
}

impl Pool {
    pub fn new(origin: Origin, size: usize, wait_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            origin,
            size,
            wait_timeout,
            places: Arc::new(Semaphore::new(size)),
            idle: Mutex::new(Idles {
                links: Vec::new(),
                suspect_before: Instant::now(),
            }),
            open: Arc::default(),
            waiting: Arc::default(),
            statements: AtomicU64::new(0),
            leased: AtomicU64::new(0),
        })
    }

    /// Return a connection that no other task uses.
    pub async fn lease(self: &Arc<Self>) -> Result<Lease, StoreError> {
        let _waiting = Counted::new(&self.waiting);
        timeout(self.wait_timeout, self.take())
            .await
            .unwrap_or_else(|_| Err(self.no_connection()))
    }

    async fn take(self: &Arc<Self>) -> Result<Lease, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| StoreError::Away("the store is closed".to_owned()))?;
        let (link, open) = if let Some(found) = self.healthy().await {
            found
        } else {
            let open = Counted::new(&self.open);
            (Link::connect(&self.origin).await?, open)
        };
        self.leased.fetch_add(1, Ordering::Relaxed);
        Ok(Lease {
            held: Some((link, open, place)),
            stage: Stage::Free,
            pool: Arc::clone(self),
        })
    }

    async fn healthy(&self) -> Option<(Link, Counted)> {
        loop {
            let (
                Idle {
                    mut link,
                    since,
                    open,
                },
                suspect_before,
            ) = self.pop()?;
            let is_fresh = since.elapsed() < CHECK_AFTER && since >= suspect_before;
            if link.is_alive() && (is_fresh || link.ping().await.is_ok()) {
                return Some((link, open));
            }
        }
    }

    fn pop(&self) -> Option<(Idle, Instant)> {
        let mut idle = self.idle();
        let suspect_before = idle.suspect_before;
        idle.links.pop().map(|link| (link, suspect_before))
    }

    fn no_connection(&self) -> StoreError {
        let limit = self.wait_timeout.as_millis();
        StoreError::Away(format!("no connection became free within {limit} ms"))
    }

    fn put_back(&self, link: Link, open: Counted, place: OwnedSemaphorePermit) {
        // A closed pool needs its connections no more: dropping closes them.
        if link.is_alive() && !self.places.is_closed() {
            let since = Instant::now();
            self.idle().links.push(Idle { link, since, open });
        }
        drop(place);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idles> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return how many connections are open, idle and waited for.
    pub fn counts(&self) -> (usize, usize, usize) {
        let [open, waiting] =
            [&self.open, &self.waiting].map(|count| count.load(Ordering::Relaxed));
        (open, self.idle().links.len(), waiting)
    }

    /// Return the number of connections at most, and of statements that were sent.
    pub fn size_and_statements(&self) -> (usize, u64) {
        (self.size, self.statements.load(Ordering::Relaxed))
    }

    /// Return how often a connection was taken.
    pub fn leased(&self) -> u64 {
        self.leased.load(Ordering::Relaxed)
    }

    /// Wait for leases to end, as long as for a connection, and close all connections.
    pub async fn close(&self) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        let ended = timeout(self.wait_timeout, self.places.acquire_many(all)).await;
        self.places.close();
        drop(ended);
        let idle = std::mem::take(&mut self.idle().links);
        for Idle { link, open, .. } in idle {
            link.close().await;
            drop(open);
        }
    }
}

/// One more, until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing.
    Free,
    /// A transaction.
    Open,
    /// A transaction that can only be rolled back.
    Failed,
    /// A statement, perhaps: what was begun did not end.
    Running,
}

/// A connection that belongs to one task.
pub(super) struct Lease {
    /// There until the lease is dropped.
    held: Option<(Link, Counted, OwnedSemaphorePermit)>,
    stage: Stage,
    pool: Arc<Pool>,
}

impl Lease {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Return the connection for an operation; until [`Lease::end`] it counts as running.
    fn start(&mut self) -> &mut Link {
        self.stage = Stage::Running;
        let (link, ..) = self.held.as_mut().expect("a lease has its connection");
        link
    }

    fn count(&self, statements: usize) {
        let count = &self.pool.statements;
        count.fetch_add(statements as u64, Ordering::Relaxed);
    }

    /// Note how an operation ended.
    pub fn end<T>(
        &mut self,
        result: Result<T, Failure>,
        done: Stage,
        failed: Stage,
    ) -> Result<T, Failure> {
        self.stage = match &result {
            Ok(_) => done,
            Err(failure) if failure.is_broken => {
                self.pool.idle().suspect_before = Instant::now();
                Stage::Running
            }
            Err(_) => failed,
        };
        result
    }

    /// Run a transaction or, with one step, a statement.
    pub async fn run(&mut self, steps: &Arc<[Rendered]>) -> Result<Ran, Failure> {
        self.count(steps.len());
        let result = self.start().run(steps).await;
        self.end(result, Stage::Free, Stage::Free)
    }

    /// Run statements of the program that have no parameters and return nothing.
    pub async fn batch(&mut self, text: String) -> Result<(), Failure> {
        let stage = self.stage;
        let result = self.start().batch(text).await;
        self.end(result, stage, failed(stage))
    }

    pub async fn begin(&mut self) -> Result<(), Failure> {
        let result = self.start().begin().await;
        self.end(result, Stage::Open, Stage::Free)
    }

    /// Run a statement of a transaction, or a reading one outside of it.
    pub async fn step(&mut self, step: &Arc<Rendered>) -> Result<Outcome, Failure> {
        let stage = self.stage;
        self.count(1);
        let result = self.start().step(step).await;
        self.end(result, stage, failed(stage))
    }

    /// Start a query; it runs until the caller ends it.
    pub async fn rows(&mut self, step: &Arc<Rendered>) -> Result<Stream, Failure> {
        let stage = self.stage;
        self.count(1);
        let result = self.start().rows(step).await;
        self.end(result, Stage::Running, failed(stage))
    }

    /// End a query whose rows were all read.
    pub async fn finish_rows(&mut self, stage: Stage) -> Result<(), Failure> {
        let result = self.start().finish_rows().await;
        self.end(result, stage, failed(stage))
    }

    pub async fn commit(&mut self) -> Result<(), Failure> {
        let result = self.start().commit().await;
        self.end(result.map_err(Failure::of_change), Stage::Free, Stage::Free)
    }

    pub async fn rollback(&mut self) -> Result<(), Failure> {
        let result = self.start().rollback().await;
        self.end(result, Stage::Free, Stage::Running)
    }
}

/// Return the stage after a failed statement.
pub(super) fn failed(stage: Stage) -> Stage {
    match stage {
        Stage::Free => Stage::Free,
        _ => Stage::Failed,
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((link, open, place)) = self.held.take() else {
            return;
        };
        if self.stage == Stage::Free {
            return self.pool.put_back(link, open, place);
        }
        // Without a runtime there is no task: dropping closes the connection.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (pool, stage) = (Arc::clone(&self.pool), self.stage);
        runtime.spawn(async move {
            // Until then it counts as open, and its place is taken.
            let (open, place) = (open, place);
            if let Some(link) = link.recover(stage).await {
                pool.put_back(link, open, place);
            }
        });
    }
}
