//! PostgreSQL, and servers that speak like it.
//!
//! A statement that a connection sees for the first time is one round trip; from the second time on
//! it is prepared. `BEGIN` travels with the first statement of a transaction, and the statements of
//! [`Link::run`] travel together, with `COMMIT` if nothing is expected of them.

mod errors;
mod flight;
mod statements;
mod tls;
mod values;

use std::future::Future;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, RowStream, Statement};

use super::GRACE;
use super::error::{Failure, StoreError};
use super::rows::Stream;
use super::settings::Settings;
use super::step::{Expect, Outcome, Ran, Rendered};
pub(in crate::store) use errors::failure;
use flight::{Flight, in_order};
use statements::Statements;
use tls::{Target, Tls};
pub(in crate::store) use values::decode;
use values::{Parameter, typed};

/// A dead connection must not stay unnoticed longer than this.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection.
pub(in crate::store) struct Link {
    client: Client,
    /// The task that reads and writes; it ends when the client is dropped and all is answered.
    driver: JoinHandle<()>,
    tls: Tls,
    statements: Statements,
    limit: Duration,
    /// Whether a transaction was begun of which the server knows nothing yet.
    is_begin_due: bool,
}

impl Link {
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        let Target { mut config, tls } = Target::parse(url)?;
        let limit = settings.statement_timeout;
        config
            .connect_timeout(settings.wait_timeout)
            .keepalives_idle(KEEPALIVE)
            .tcp_user_timeout(limit + GRACE);
        if config.get_application_name().is_none() {
            config.application_name("headroom-catalogue");
        }
        let connected = config.connect(tls.clone()).await;
        let (client, connection) = connected.map_err(|error| failure(&error).error)?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to PostgreSQL was lost");
            }
        });
        let prepared = client.batch_execute(&session(settings)).await;
        prepared.map_err(|error| failure(&error).error)?;
        Ok(Self {
            client,
            driver,
            tls,
            statements: Statements::new(settings.max_statements),
            limit: limit + GRACE,
            is_begin_due: false,
        })
    }

    pub fn is_alive(&self) -> bool {
        !self.client.is_closed()
    }

    /// Run all steps, or none.
    pub async fn run(&mut self, steps: &[Rendered]) -> Result<Ran, Failure> {
        if let [step] = steps
            && (step.expect != Expect::Nothing || step.is_read)
        {
            let mut ran = Ran::default();
            ran.add(self.single(step).await?, step.expect);
            return Ok(ran);
        }
        let mut statements = Vec::with_capacity(steps.len());
        for step in steps {
            statements.push(self.statement(step).await?);
        }
        let is_committing = steps.iter().all(|step| step.expect == Expect::Anything);
        let all = self.together(steps, statements, is_committing);
        let limit = self.limit * u32::try_from(steps.len()).unwrap_or(u32::MAX);
        let result = within(limit, all).await;
        match &result {
            _ if is_committing => return result.map_err(Failure::of_change),
            Ok(Ran { failed: None, .. }) => self.commit().await.map_err(Failure::of_change)?,
            Err(failure) if failure.is_broken => {}
            _ => self.rollback().await?,
        }
        result
    }

    async fn single(&mut self, step: &Rendered) -> Result<Outcome, Failure> {
        let statement = self.statement(step).await?;
        let result = within(self.limit, query(&self.client, step, statement)).await;
        if step.is_read {
            result
        } else {
            result.map_err(Failure::of_change)
        }
    }

    /// Send `BEGIN`, all steps and perhaps `COMMIT`, then read the answers. After an error the
    /// server refuses the other steps, and a commit is a rollback.
    async fn together(
        &self,
        steps: &[Rendered],
        statements: Vec<Option<Statement>>,
        is_committing: bool,
    ) -> Result<Ran, Failure> {
        let mut flight: Flight<'_> = vec![Box::pin(command(&self.client, "BEGIN"))];
        for (step, statement) in steps.iter().zip(statements) {
            flight.push(Box::pin(query(&self.client, step, statement)));
        }
        if is_committing {
            flight.push(Box::pin(command(&self.client, "COMMIT")));
        }
        let mut results = in_order(flight).await.into_iter();
        begun(results.next())?;
        let mut ran = Ran::default();
        for (step, result) in steps.iter().zip(&mut results) {
            if !ran.add(result?, step.expect) {
                return Ok(ran);
            }
        }
        results.try_for_each(|result| result.map(drop))?;
        Ok(ran)
    }

    /// Run statements without parameters.
    pub async fn batch(&mut self, text: String) -> Result<(), Failure> {
        self.begin_now().await?;
        within(self.limit, command(&self.client, &text))
            .await
            .map(drop)
    }

    #[allow(clippy::unused_async, reason = "the other databases begin at once")]
    pub async fn begin(&mut self) -> Result<(), Failure> {
        self.is_begin_due = true;
        Ok(())
    }

    async fn begin_now(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_begin_due) {
            within(self.limit, command(&self.client, "BEGIN")).await?;
        }
        Ok(())
    }

    pub async fn step(&mut self, step: &Rendered) -> Result<Outcome, Failure> {
        let statement = self.statement(step).await?;
        let query = query(&self.client, step, statement);
        if !std::mem::take(&mut self.is_begin_due) {
            return within(self.limit, query).await;
        }
        let flight: Flight<'_> = vec![Box::pin(command(&self.client, "BEGIN")), Box::pin(query)];
        let both = async {
            let mut results = in_order(flight).await.into_iter();
            begun(results.next())?;
            results.next().unwrap_or_else(|| Err(Failure::silent()))
        };
        within(self.limit, both).await
    }

    pub async fn rows(&mut self, step: &Rendered) -> Result<Stream, Failure> {
        let statement = self.statement(step).await?;
        self.begin_now().await?;
        let opened = within(self.limit, open(&self.client, step, statement)).await?;
        Ok(Stream::Postgres(Box::pin(opened)))
    }

    pub async fn commit(&mut self) -> Result<(), Failure> {
        self.end("COMMIT").await
    }

    pub async fn rollback(&mut self) -> Result<(), Failure> {
        self.end("ROLLBACK").await
    }

    async fn end(&mut self, text: &'static str) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_begin_due) {
            return Ok(());
        }
        within(self.limit, command(&self.client, text))
            .await
            .map(drop)
    }

    async fn statement(&mut self, step: &Rendered) -> Result<Option<Statement>, Failure> {
        within(self.limit, self.statements.find(&self.client, step)).await
    }

    /// Stop what runs and close the connection: the server rolls back.
    pub async fn abort(self) {
        let cancel = self.client.cancel_token();
        let _ = timeout(GRACE, cancel.cancel_query(self.tls.clone())).await;
        self.close().await;
    }

    /// Wait until the server knows that the connection ends.
    pub async fn close(self) {
        let Self {
            client, mut driver, ..
        } = self;
        drop(client);
        if timeout(GRACE, &mut driver).await.is_err() {
            driver.abort();
        }
    }
}

/// Return the settings of a connection. The URL does not have them, so that a pooler may be between.
fn session(settings: &Settings) -> String {
    format!(
        "SET statement_timeout = {}; SET lock_timeout = {}; SET TimeZone = 'UTC'; \
         SET default_transaction_isolation = 'read committed'; SET client_min_messages = 'warning'",
        settings.statement_timeout.as_millis(),
        settings.lock_timeout.as_millis(),
    )
}

/// Wait for an answer, but no longer than this: the network may be gone.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(Failure::silent()))
}

/// Without a transaction, the steps that travelled with `BEGIN` were committed one by one.
fn begun(result: Option<Result<Outcome, Failure>>) -> Result<(), Failure> {
    match result {
        Some(Err(failure)) if !failure.is_broken => {
            Err(Failure::broken("no transaction began").of_change())
        }
        Some(Err(failure)) => Err(failure),
        _ => Ok(()),
    }
}

async fn command(client: &Client, text: &str) -> Result<Outcome, Failure> {
    let result = client.batch_execute(text).await;
    result.map_err(|error| failure(&error))?;
    Ok(Outcome::default())
}

async fn open(
    client: &Client,
    step: &Rendered,
    statement: Option<Statement>,
) -> Result<RowStream, Failure> {
    let result = match statement {
        Some(statement) => {
            let values: Vec<_> = step
                .values
                .iter()
                .map(|(value, _)| Parameter(value))
                .collect();
            client.query_raw(&statement, values).await
        }
        None => {
            client
                .query_typed_raw(&step.text, typed(&step.values))
                .await
        }
    };
    result.map_err(|error| failure(&error))
}

async fn query(
    client: &Client,
    step: &Rendered,
    statement: Option<Statement>,
) -> Result<Outcome, Failure> {
    let mut stream = std::pin::pin!(open(client, step, statement).await?);
    let mut rows = Vec::new();
    while let Some(row) = stream.try_next().await.map_err(|error| failure(&error))? {
        rows.push(decode(&row)?);
    }
    let changed = stream.rows_affected().unwrap_or(0);
    Ok(step.outcome(rows, changed))
}
