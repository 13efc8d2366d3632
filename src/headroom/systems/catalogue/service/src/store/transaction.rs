//! A transaction of a client: statements that come one after another.

use std::sync::Arc;

use super::error::{Failure, StoreError};
use super::pool::{Lease, Stage};
use super::rows::Rows;
use super::sql::Sql;
use super::step::{Outcome, Rendered, Step};
use super::{Shard, Shared};

/// A transaction. It takes a connection at its first statement. Every statement sees what was
/// committed before it (READ COMMITTED). Any error ends the transaction; so does dropping it, and
/// then it is rolled back in the background.
///
/// In SQLite, statements before the first change or lock use a reading connection, so that a
/// transaction that only reads waits for no other one.
pub struct Transaction {
    shared: Arc<Shared>,
    shard: usize,
    lease: Option<Lease>,
    has_failed: bool,
}

impl Transaction {
    pub(super) fn new(shared: Arc<Shared>, number: usize) -> Self {
        Self {
            shared,
            shard: number,
            lease: None,
            has_failed: false,
        }
    }

    /// Run a step; return what came of it and whether that was expected. An unexpected outcome rolls
    /// nothing back: the caller decides.
    ///
    /// # Errors
    ///
    /// Any of a statement; they end the transaction. A conflict must be repeated by the client.
    pub async fn run(&mut self, step: Step) -> Result<(Outcome, bool), StoreError> {
        let step = Arc::new(Rendered::new(&step, self.shared.dialect));
        let lease = self.lease(step.is_read).await?;
        let result = lease.step(&step).await;
        let outcome = self.note(result)?;
        let is_expected = outcome.meets(step.expect);
        Ok((outcome, is_expected))
    }

    /// Return rows as they come.
    ///
    /// # Errors
    ///
    /// Any of a statement.
    pub async fn rows(&mut self, statement: Sql) -> Result<Rows<'_>, StoreError> {
        let step = Arc::new(Rendered::new(&Step::new(statement), self.shared.dialect));
        let limit = self.shared.row_limit();
        let lease = self.lease(step.is_read).await?;
        let stage = lease.stage();
        let result = lease.rows(&step).await;
        let stream = self.note(result)?;
        let lease = self.lease.as_mut().ok_or_else(ended)?;
        Ok(Rows::of_transaction(stream, lease, stage, limit))
    }

    /// Commit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Lost`] if nobody knows whether it took place; with any other error it did not.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        if self.is_ended() {
            return Err(ended());
        }
        match &mut self.lease {
            Some(lease) if lease.stage() == Stage::Open => {
                lease.commit().await.map_err(|failure| failure.error)
            }
            _ => Ok(()),
        }
    }

    /// Roll back.
    pub async fn rollback(mut self) {
        if let Some(lease) = &mut self.lease
            && matches!(lease.stage(), Stage::Open | Stage::Failed)
        {
            // If it fails, the dropped connection is closed, and the database rolls back.
            let _ = lease.rollback().await;
        }
    }

    /// Return a connection that can run a reading or any statement.
    async fn lease(&mut self, is_read: bool) -> Result<&mut Lease, StoreError> {
        if self.is_ended() {
            return Err(ended());
        }
        let is_enough = match &self.lease {
            None => false,
            Some(lease) => is_read || lease.stage() == Stage::Open,
        };
        if !is_enough {
            let result = self.connect(is_read).await;
            let lease = result.inspect_err(|_| self.has_failed = true)?;
            self.lease = Some(lease);
        }
        self.lease.as_mut().ok_or_else(ended)
    }

    async fn connect(&mut self, is_read: bool) -> Result<Lease, StoreError> {
        let Shard { reads, writes } = &self.shared.shards[self.shard];
        if is_read && !Arc::ptr_eq(reads, writes) {
            return reads.lease().await;
        }
        self.lease = None;
        let mut lease = writes.lease().await?;
        lease.begin().await.map_err(|failure| failure.error)?;
        Ok(lease)
    }

    fn is_ended(&self) -> bool {
        let stage = self.lease.as_ref().map(Lease::stage);
        self.has_failed || matches!(stage, Some(Stage::Failed | Stage::Running))
    }

    fn note<T>(&mut self, result: Result<T, Failure>) -> Result<T, StoreError> {
        result.map_err(|failure| {
            self.has_failed = true;
            failure.error
        })
    }
}

fn ended() -> StoreError {
    StoreError::Fault("an error ended the transaction before".to_owned())
}
