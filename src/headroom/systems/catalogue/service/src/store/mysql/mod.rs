//! MariaDB.
//!
//! The library reads a result with the connection borrowed; so a task reads the rows of a streamed
//! query, and gives the connection back after the last one.

mod errors;
mod values;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use mysql_async::prelude::Queryable as _;
use mysql_async::{BinaryProtocol, Conn, Opts, OptsBuilder, QueryResult, SslOpts};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::GRACE;
use super::error::{Failure, StoreError};
use super::rows::{Row, Stream};
use super::settings::{Settings, split_tls};
use super::step::{Expect, Outcome, Ran, Rendered};
use errors::failure;
use values::{decode, parameters};

/// A dead connection must not stay unnoticed longer than this.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Rows that may wait for their reader.
const MAX_ROWS_AHEAD: usize = 64;

/// Settings that every statement relies on: errors instead of changed values, `UPDATE` that reads old values
/// only, and texts, `||` and quoted names as in the other databases.
const MODE: &str = "STRICT_ALL_TABLES,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,\
                    NO_ENGINE_SUBSTITUTION,SIMULTANEOUS_ASSIGNMENT,PIPES_AS_CONCAT,ANSI_QUOTES";

/// `INSERT IGNORE` ignores more than rows that exist: it also changes values until they fit.
const INSERT_IGNORE: &str = "INSERT IGNORE";

/// The warning about a row that exists.
const DUPLICATE: i64 = 1062;

/// A connection.
pub(in crate::store) struct Link {
    /// None while a task reads rows with it.
    conn: Option<Conn>,
    /// Where the task gives it back.
    back: Option<oneshot::Receiver<Conn>>,
    opts: Opts,
    /// The server's number of the connection.
    id: u32,
    limit: Duration,
}

impl Link {
    pub async fn connect(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        // The error of the library may repeat the password.
        let unclear = |_| StoreError::Fault("the URL of MariaDB cannot be read".to_owned());
        let (url, roots) = split_tls(url)?;
        let tls = roots.map(|path| {
            SslOpts::default()
                .with_root_certs(vec![PathBuf::from(path).into()])
                .with_disable_built_in_roots(true)
        });
        let opts = OptsBuilder::from_opts(Opts::from_url(&url).map_err(unclear)?)
            .ssl_opts(tls)
            .prefer_socket(false)
            .tcp_keepalive(Some(KEEPALIVE))
            .client_found_rows(true)
            .stmt_cache_size(settings.max_statements)
            .setup(session(settings));
        let opts = Opts::from(opts);
        let conn = Conn::new(opts.clone()).await;
        let conn = conn.map_err(|error| StoreError::Away(failure(&error).error.to_string()))?;
        Ok(Self {
            id: conn.id(),
            conn: Some(conn),
            back: None,
            opts,
            limit: settings.statement_timeout + GRACE,
        })
    }

    pub fn is_alive(&self) -> bool {
        self.conn
            .as_ref()
            .is_some_and(|conn| !conn.is_disconnected())
    }

    /// Run all steps, or none.
    pub async fn run(&mut self, steps: &[Rendered]) -> Result<Ran, Failure> {
        let mut ran = Ran::default();
        if let [step] = steps
            && (step.expect != Expect::Nothing || step.is_read)
            && !step.text.starts_with(INSERT_IGNORE)
        {
            let result = self.step(step).await;
            let result = if step.is_read {
                result
            } else {
                result.map_err(Failure::of_change)
            };
            ran.add(result?, step.expect);
            return Ok(ran);
        }
        self.begin().await?;
        let result = self.all(steps, &mut ran).await;
        match result {
            Ok(()) if ran.failed.is_none() => self.commit().await.map_err(Failure::of_change)?,
            Err(failure) if failure.is_broken => return Err(failure),
            _ => self.rollback().await?,
        }
        result.map(|()| ran)
    }

    async fn all(&mut self, steps: &[Rendered], ran: &mut Ran) -> Result<(), Failure> {
        for step in steps {
            if !ran.add(self.step(step).await?, step.expect) {
                break;
            }
        }
        Ok(())
    }

    /// Run a statement without parameters.
    pub async fn batch(&mut self, text: String) -> Result<(), Failure> {
        let limit = self.limit;
        within(limit, self.conn()?.query_drop(text)).await
    }

    pub async fn begin(&mut self) -> Result<(), Failure> {
        self.batch("START TRANSACTION".to_owned()).await
    }

    pub async fn step(&mut self, step: &Rendered) -> Result<Outcome, Failure> {
        let (outcome, warnings) = within_all(self.limit, execute(self.conn()?, step)).await?;
        if warnings > 0 && step.text.starts_with(INSERT_IGNORE) {
            self.refuse_changed_values().await?;
        }
        Ok(outcome)
    }

    async fn refuse_changed_values(&mut self) -> Result<(), Failure> {
        let limit = self.limit;
        let warnings = self
            .conn()?
            .query::<(String, i64, String), _>("SHOW WARNINGS");
        let warnings = within(limit, warnings).await?;
        match warnings.into_iter().find(|(_, code, _)| *code != DUPLICATE) {
            Some((_, _, message)) => Err(StoreError::Unfit(message).into()),
            None => Ok(()),
        }
    }

    pub fn rows(&mut self, step: &Rendered) -> Result<Stream, Failure> {
        let mut conn = self.conn.take().ok_or_else(lost)?;
        let (rows, stream) = mpsc::channel(MAX_ROWS_AHEAD);
        let (give_back, back) = oneshot::channel();
        let step = step.clone();
        tokio::spawn(async move {
            match send(&mut conn, &step, &rows).await {
                Ok(true) => {
                    let _ = give_back.send(conn);
                }
                // No caller listens any more: the connection is closed when it is dropped.
                Ok(false) => {}
                Err(mut failure) => {
                    failure.is_broken = true;
                    let _ = rows.send(Err(failure)).await;
                }
            }
        });
        self.back = Some(back);
        Ok(Stream::Channel(stream))
    }

    /// Take the connection back from the task that read its rows.
    pub async fn finish_rows(&mut self) -> Result<(), Failure> {
        let back = self.back.take().ok_or_else(lost)?;
        self.conn = Some(back.await.map_err(|_| lost())?);
        Ok(())
    }

    pub async fn commit(&mut self) -> Result<(), Failure> {
        self.batch("COMMIT".to_owned()).await
    }

    pub async fn rollback(&mut self) -> Result<(), Failure> {
        self.batch("ROLLBACK".to_owned()).await
    }

    /// Stop what runs and close the connection: the server rolls back.
    pub async fn abort(self) {
        let Self { conn, opts, id, .. } = self;
        drop(conn);
        let kill = async {
            let mut other = Conn::new(opts).await?;
            // It fails if the connection is gone, which is as well.
            let _ = other.query_drop(format!("KILL CONNECTION {id}")).await;
            other.disconnect().await
        };
        let _ = timeout(GRACE, kill).await;
    }

    /// Wait until the server knows that the connection ends.
    pub async fn close(self) {
        if let Some(conn) = self.conn {
            let _ = timeout(GRACE, conn.disconnect()).await;
        }
    }

    fn conn(&mut self) -> Result<&mut Conn, Failure> {
        self.conn.as_mut().ok_or_else(lost)
    }
}

fn lost() -> Failure {
    Failure::broken("the connection was lost while it read rows")
}

/// Return the statements that begin a connection.
fn session(settings: &Settings) -> Vec<String> {
    // A lock is waited for in whole seconds, at least one.
    let lock = settings.lock_timeout.as_secs_f64().ceil().max(1.0);
    let limit = settings.statement_timeout.as_secs_f64();
    vec![
        format!("SET SESSION sql_mode = '{MODE}', SESSION time_zone = '+00:00'"),
        format!(
            "SET SESSION innodb_lock_wait_timeout = {lock}, SESSION max_statement_time = {limit}"
        ),
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
        "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin".to_owned(),
    ]
}

/// Wait for an answer, but no longer than this: the network may be gone.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = mysql_async::Result<T>>,
) -> Result<T, Failure> {
    within_all(limit, async { work.await.map_err(|error| failure(&error)) }).await
}

async fn within_all<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(Failure::silent()))
}

type Answer<'a> = QueryResult<'a, 'static, BinaryProtocol>;

async fn start<'a>(conn: &'a mut Conn, step: &Rendered) -> Result<Answer<'a>, Failure> {
    let text = step.text.as_str();
    let started = conn.exec_iter(text, parameters(&step.values)).await;
    started.map_err(|error| failure(&error))
}

async fn next(answer: &mut Answer<'_>) -> Result<Option<Row>, Failure> {
    match answer.next().await.map_err(|error| failure(&error))? {
        Some(row) => Ok(Some(decode(&row)?)),
        None => Ok(None),
    }
}

/// Run a statement; return what came of it and how many warnings there are.
async fn execute(conn: &mut Conn, step: &Rendered) -> Result<(Outcome, u16), Failure> {
    let mut answer = start(conn, step).await?;
    let mut rows = Vec::new();
    while let Some(row) = next(&mut answer).await? {
        rows.push(row);
    }
    let changed = answer.affected_rows();
    Ok((step.outcome(rows, changed), answer.warnings()))
}

/// Send all rows; return whether there was a listener until the end.
async fn send(
    conn: &mut Conn,
    step: &Rendered,
    rows: &mpsc::Sender<Result<Row, Failure>>,
) -> Result<bool, Failure> {
    let mut answer = start(conn, step).await?;
    while let Some(row) = next(&mut answer).await? {
        if rows.send(Ok(row)).await.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
