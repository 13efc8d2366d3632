//! Databases: statements, the tables that they are about, and connections that run them.
//!
//! A store has one or several databases of one kind (`shard` is the number of one). All of them
//! return the same values, the same counts and the same errors for the same statement; `tests`
//! holds each kind to that. The invariants: a transaction that was reported as committed is, one
//! that failed left nothing, and only [`StoreError::Lost`] leaves it open.

mod definitions;
mod error;
pub mod functions;
mod link;
mod migration;
mod mysql;
mod pool;
mod postgres;
mod rows;
mod settings;
pub mod sql;
mod sqlite;
mod step;
pub mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod transaction;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use error::Failure;
pub use error::StoreError;
use link::Origin;
use pool::Pool;
pub use rows::Rows;
pub use settings::{Database, Settings};
use sql::{Dialect, Sql};
use step::Rendered;
pub use step::{Expect, Outcome, Ran, Step};
pub use transaction::Transaction;

/// How much longer than a database a store waits for the end of a statement that the database limits.
const GRACE: Duration = Duration::from_secs(5);

/// Databases with pools of connections. Clones share them.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    settings: Arc<Settings>,
    dialect: Dialect,
    shards: Vec<Shard>,
    repeated: AtomicU64,
}

/// The pools of a database: for readers and for all others. They differ in SQLite only.
struct Shard {
    reads: Arc<Pool>,
    writes: Arc<Pool>,
}

/// The connections to a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// The database, without password.
    pub database: String,
    /// Connections, those that are being opened included.
    pub open: usize,
    /// Connections that nobody uses.
    pub idle: usize,
    /// Tasks that wait for one.
    pub waiting: usize,
    /// Connections at most.
    pub size: usize,
    /// Statements that were sent, since the start.
    pub statements: u64,
    /// How often one was taken: for each transaction once, in SQLite twice if it reads and then
    /// writes.
    pub leased: u64,
}

impl Shared {
    fn row_limit(&self) -> Duration {
        let limit = self.settings.statement_timeout;
        match self.dialect {
            Dialect::Sqlite => limit,
            _ => limit + GRACE,
        }
    }
}

/// Return the statements that make all tables. A store whose tables were made so takes them as they are.
pub fn schema(dialect: Dialect) -> Vec<String> {
    migration::statements(dialect)
}

impl Store {
    /// Connect to all databases and make or change their tables. Several programs may do so at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::Away`] if a database does not answer, [`StoreError::Fault`] if the settings do
    /// not fit or a newer version of the program made its tables.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        let dialect = settings.dialect()?;
        let settings = Arc::new(settings);
        let databases = settings.databases.iter();
        let store = Self(Arc::new(Shared {
            shards: databases.map(|next| shard(next, &settings)).collect(),
            dialect,
            repeated: AtomicU64::new(0),
            settings,
        }));
        for Shard { writes, .. } in &store.0.shards {
            migration::migrate(writes, dialect, store.0.settings.max_retries).await?;
        }
        Ok(store)
    }

    /// Return the dialect of all databases.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// Return the number of databases.
    pub fn shards(&self) -> usize {
        self.0.shards.len()
    }

    /// Run all steps as one transaction, or none. A single step is a single statement that commits
    /// itself. After a conflict, or a connection that was lost before the commit, they are repeated.
    ///
    /// # Errors
    ///
    /// Any; nothing was changed then, except that nobody knows after [`StoreError::Lost`].
    ///
    /// # Panics
    ///
    /// If there is no such shard.
    pub async fn run(&self, shard: usize, steps: Vec<Step>) -> Result<Ran, StoreError> {
        let dialect = self.0.dialect;
        let steps: Arc<[Rendered]> = steps
            .iter()
            .map(|step| Rendered::new(step, dialect))
            .collect();
        if steps.is_empty() {
            return Ok(Ran::default());
        }
        let pool = self.pool(shard, steps.iter().all(|step| step.is_read));
        let mut attempts = Attempts::new(&self.0);
        loop {
            match pool.lease().await?.run(&steps).await {
                Ok(ran) => return Ok(ran),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// Return rows as they come; they hold a connection until the last one is read. PostgreSQL and
    /// MariaDB limit the time of the whole query, a slow reader included.
    ///
    /// # Errors
    ///
    /// Any of a statement.
    ///
    /// # Panics
    ///
    /// If there is no such shard.
    pub async fn rows(&self, shard: usize, statement: Sql) -> Result<Rows<'static>, StoreError> {
        let step = Arc::new(Rendered::new(&Step::new(statement), self.0.dialect));
        let pool = self.pool(shard, step.is_read);
        let mut attempts = Attempts::new(&self.0);
        loop {
            let mut lease = pool.lease().await?;
            match lease.rows(&step).await {
                Ok(stream) => return Ok(Rows::of_lease(stream, lease, self.0.row_limit())),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    /// Begin a transaction.
    ///
    /// # Errors
    ///
    /// If there is no such shard. It takes a connection at its first statement.
    #[allow(
        clippy::unused_async,
        reason = "when a transaction connects is no part of the interface"
    )]
    pub async fn begin(&self, shard: usize) -> Result<Transaction, StoreError> {
        if shard >= self.shards() {
            return Err(StoreError::Fault(format!("there is no shard {shard}")));
        }
        Ok(Transaction::new(Arc::clone(&self.0), shard))
    }

    /// Return the state of the connections of each database.
    pub fn state(&self) -> Vec<PoolState> {
        let shards = self.0.shards.iter().zip(&self.0.settings.databases);
        shards
            .map(|(shard, database)| state(shard, database))
            .collect()
    }

    /// Return how often steps were repeated after a conflict or a lost connection.
    pub fn repeated(&self) -> u64 {
        self.0.repeated.load(Ordering::Relaxed)
    }

    /// Let running statements end, for as long as one waits for a connection, and close everything.
    pub async fn close(&self) {
        for Shard { reads, writes } in &self.0.shards {
            reads.close().await;
            writes.close().await;
        }
    }

    fn pool(&self, shard: usize, is_read: bool) -> &Arc<Pool> {
        let Shard { reads, writes } = &self.0.shards[shard];
        if is_read { reads } else { writes }
    }
}

fn shard(database: &Database, settings: &Arc<Settings>) -> Shard {
    let pool = |is_reader, size| {
        let origin = Origin {
            database: database.clone(),
            settings: Arc::clone(settings),
            is_reader,
        };
        Pool::new(origin, size, settings.wait_timeout)
    };
    let size = settings.max_connections;
    if database.dialect() == Dialect::Sqlite {
        return Shard {
            writes: pool(false, 1),
            reads: pool(true, (size - 1).max(1)),
        };
    }
    let writes = pool(false, size);
    Shard {
        reads: Arc::clone(&writes),
        writes,
    }
}

fn state(Shard { reads, writes }: &Shard, database: &Database) -> PoolState {
    let (mut open, mut idle, mut waiting) = writes.counts();
    let mut leased = writes.leased();
    let (mut size, mut statements) = writes.size_and_statements();
    if !Arc::ptr_eq(reads, writes) {
        let more = reads.counts();
        (open, idle, waiting) = (open + more.0, idle + more.1, waiting + more.2);
        let more = reads.size_and_statements();
        (size, statements) = (size + more.0, statements + more.1);
        leased += reads.leased();
    }
    PoolState {
        database: database.to_string(),
        open,
        idle,
        waiting,
        size,
        statements,
        leased,
    }
}

/// Decides whether something is tried once more.
struct Attempts<'a> {
    shared: &'a Shared,
    left: u32,
    pause: Duration,
}

impl<'a> Attempts<'a> {
    fn new(shared: &'a Shared) -> Self {
        let (left, pause) = (shared.settings.max_retries, Duration::from_millis(4));
        Self {
            shared,
            left,
            pause,
        }
    }

    /// Wait for another attempt, or return the error. The wait is random, so that two transactions
    /// that were in each other's way do not meet again.
    async fn after(&mut self, failure: Failure) -> Result<(), StoreError> {
        if !failure.is_passing || self.left == 0 {
            return Err(failure.error);
        }
        self.left -= 1;
        self.shared.repeated.fetch_add(1, Ordering::Relaxed);
        let random = RandomState::new().hash_one(0_u8) >> 32;
        let pause = self.pause.mul_f64(random as f64 / f64::from(u32::MAX));
        tokio::time::sleep(pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(500));
        Ok(())
    }
}
