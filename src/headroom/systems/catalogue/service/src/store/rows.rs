//! Rows of a query as they come.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::error::{Failure, StoreError};
use super::pool::{Lease, Stage, failed};
use super::postgres;
use crate::value::Value;

/// A row.
pub(super) type Row = Vec<Value>;

/// Where rows come from.
pub(super) enum Stream {
    /// From a thread or a task, which stops when no caller listens.
    Channel(mpsc::Receiver<Result<Row, Failure>>),
    /// From PostgreSQL.
    Postgres(Pin<Box<tokio_postgres::RowStream>>),
}

impl Stream {
    async fn next(&mut self) -> Result<Option<Row>, Failure> {
        match self {
            Self::Channel(rows) => rows.recv().await.transpose(),
            Self::Postgres(rows) => match rows.next().await {
                None => Ok(None),
                Some(Ok(row)) => postgres::decode(&row).map(Some).map_err(Failure::of),
                Some(Err(error)) => Err(postgres::failure(&error)),
            },
        }
    }
}

/// A connection of its own, or that of a transaction.
enum Held<'a> {
    Own(Lease),
    Borrowed(&'a mut Lease),
}

/// Rows of a query as they come. If it is dropped before the last row, the query is stopped; that
/// ends a transaction which it belongs to.
pub struct Rows<'a> {
    stream: Stream,
    held: Held<'a>,
    /// The stage of the connection after the last row.
    stage: Stage,
    limit: Duration,
    is_done: bool,
}

impl Rows<'_> {
    /// Return the next row.
    ///
    /// # Errors
    ///
    /// [`StoreError::Away`] if it does not come in time, [`StoreError::Unfit`] if it cannot be
    /// computed. No row follows an error.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let next = timeout(self.limit, self.stream.next()).await;
        let next = next.unwrap_or_else(|_| Err(Failure::silent()));
        let stage = self.stage;
        let lease = match &mut self.held {
            Held::Own(lease) => lease,
            Held::Borrowed(lease) => lease,
        };
        let result = match next {
            Ok(Some(row)) => return Ok(Some(row)),
            Ok(None) => lease.finish_rows(stage).await,
            Err(failure) => lease.end(Err(failure), stage, failed(stage)),
        };
        self.is_done = true;
        result.map(|()| None).map_err(|failure| failure.error)
    }
}

impl Rows<'static> {
    /// Return the rows of a query that has a connection of its own.
    pub(super) fn of_lease(stream: Stream, lease: Lease, limit: Duration) -> Self {
        Self {
            stream,
            held: Held::Own(lease),
            stage: Stage::Free,
            limit,
            is_done: false,
        }
    }
}

impl<'a> Rows<'a> {
    /// Return the rows of a query in a transaction, whose connection was in this stage.
    pub(super) fn of_transaction(
        stream: Stream,
        lease: &'a mut Lease,
        stage: Stage,
        limit: Duration,
    ) -> Self {
        Self {
            stream,
            held: Held::Borrowed(lease),
            stage,
            limit,
            is_done: false,
        }
    }
}
