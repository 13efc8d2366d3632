//! MariaDB, and MySQL.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use headroom_transactions::systems::transactions::inputs::{Table, Type, Value};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, OptsBuilder, Params, SslOpts, Value as Their};

use super::{Cell, Manner, Row, Rows, Statement, Step};
use crate::error::{Cause, Failure};
use crate::target::{Place, Product};

/// A server that does not answer within this time is not there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of rows that are sent at once.
const CHUNK: usize = 1 << 18;
/// More than there are: the library closes statements that it has no room for.
const STATEMENTS: usize = 128;
/// Errors of the server after which a transaction may be tried again: a wait for a lock that took
/// too long, a deadlock, and a row that changed since the transaction began.
const CONFLICTS: [u16; 3] = [1205, 1213, 1020];
const LOADS_NO_FILES: [u16; 2] = [1148, 4166];

/// A connection.
pub struct Link {
    conn: Conn,
    prepared: HashMap<Statement, mysql_async::Statement>,
}

impl Link {
    pub(super) async fn open(
        place: &Place,
        database: &str,
        manner: Manner,
    ) -> Result<Self, Failure> {
        let (user, host, port) = place.server();
        let tls = place.tls_roots.clone().map(|path| {
            SslOpts::default()
                .with_root_certs(vec![path.into()])
                .with_disable_built_in_roots(true)
        });
        let mut setup = vec!["set names utf8mb4".to_owned()];
        if let Some(level) = manner.isolation.sql() {
            setup.push(format!("set session transaction isolation level {level}"));
        }
        if manner.loads {
            setup.push("set session unique_checks = 0".to_owned());
        }
        let opts = OptsBuilder::default()
            .ip_or_hostname(host)
            .tcp_port(port)
            .user(Some(user))
            .pass(place.password.clone())
            .db_name((!database.is_empty()).then_some(database))
            .ssl_opts(tls)
            .prefer_socket(false)
            .tcp_nodelay(true)
            .stmt_cache_size(STATEMENTS)
            .setup(setup);
        let opening = tokio::time::timeout(PATIENCE, Conn::new(opts)).await;
        let late = |_| Failure {
            cause: Cause::Lost,
            said: format!("no answer within {} s", PATIENCE.as_secs()),
        };
        let conn = opening.map_err(late)?.map_err(failure)?;
        Ok(Self {
            conn,
            prepared: HashMap::new(),
        })
    }

    pub(super) async fn tell(&mut self, sql: &str) -> Result<(), Failure> {
        self.conn.query_drop(sql).await.map_err(failure)
    }

    pub(super) async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        let rows: Vec<mysql_async::Row> = self.conn.query(sql).await.map_err(failure)?;
        Ok(rows.into_iter().map(row_of).collect())
    }

    pub(super) async fn run(&mut self, steps: &[Step]) -> Result<Vec<Vec<Row>>, Failure> {
        let mut answers = Vec::with_capacity(steps.len());
        for step in steps {
            answers.push(self.one(step).await?);
        }
        Ok(answers)
    }

    async fn one(&mut self, step: &Step) -> Result<Vec<Row>, Failure> {
        use Statement::{Begin, BeginToRead, Commit, Rollback};
        let statement = step.statement;
        let text = || statement.text(Product::Mariadb);
        if matches!(statement, Begin | BeginToRead | Commit | Rollback) {
            return self.tell(&text()).await.map(|()| Vec::new());
        }
        if let Entry::Vacant(free) = self.prepared.entry(statement) {
            free.insert(self.conn.prep(text()).await.map_err(failure)?);
        }
        let values: Vec<Their> = step.values.iter().map(value_of).collect();
        let values = if values.is_empty() {
            Params::Empty
        } else {
            Params::Positional(values)
        };
        let prepared = &self.prepared[&statement];
        let mut answer = self
            .conn
            .exec_iter(prepared, values)
            .await
            .map_err(failure)?;
        let rows: Vec<mysql_async::Row> = answer.collect().await.map_err(failure)?;
        answer.drop_result().await.map_err(failure)?;
        Ok(rows.into_iter().map(row_of).collect())
    }

    pub(super) async fn copy(&mut self, table: Table, rows: &mut Rows) -> Result<(), Failure> {
        let bytes = Bytes::from(std::mem::take(&mut rows.bytes));
        self.conn.set_infile_handler(async move {
            let pieces = (0..bytes.len()).step_by(CHUNK);
            let chunks: Vec<std::io::Result<Bytes>> = pieces
                .map(|start| Ok(bytes.slice(start..bytes.len().min(start + CHUNK))))
                .collect();
            Ok(stream::iter(chunks).boxed())
        });
        self.tell(&infile(table)).await.map_err(|error| {
            let said = match error.cause {
                Cause::Refused if error.said.contains("local") || is_denied(&error.said) => {
                    format!(
                        "{}; rows are sent as local files: set `local_infile = on` at the server",
                        error.said
                    )
                }
                _ => error.said.clone(),
            };
            Failure { said, ..error }
        })
    }
}

fn is_denied(said: &str) -> bool {
    LOADS_NO_FILES
        .iter()
        .any(|code| said.contains(&format!("({code})")))
}

/// Return the statement that takes rows of a table, in which times are microseconds.
fn infile(table: Table) -> String {
    let variable = |kind: Type| kind == Type::Time;
    let names: Vec<String> = table
        .columns()
        .iter()
        .map(|&(name, kind)| {
            if variable(kind) {
                format!("@{name}")
            } else {
                name.to_owned()
            }
        })
        .collect();
    let times: Vec<String> = table
        .columns()
        .iter()
        .filter(|&&(_, kind)| variable(kind))
        .map(|(name, _)| format!("{name} = from_unixtime(@{name} / 1000000)"))
        .collect();
    let set = if times.is_empty() {
        String::new()
    } else {
        format!(" set {}", times.join(", "))
    };
    format!(
        "load data local infile 'rows' into table {} character set utf8mb4 ({}){set}",
        table.name(),
        names.join(", ")
    )
}

/// Append a row as a line of values with tabs between them.
pub(super) fn encode(row: &[Value], bytes: &mut Vec<u8>) {
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            bytes.push(b'\t');
        }
        match value {
            Value::Null => bytes.extend(b"\\N"),
            Value::Number(number) => bytes.extend(number.to_string().as_bytes()),
            // Letters and digits alone.
            Value::Text(text) => bytes.extend(text.as_bytes()),
        }
    }
    bytes.push(b'\n');
}

fn value_of(cell: &Cell) -> Their {
    match cell {
        Cell::Null => Their::NULL,
        Cell::Number(number) => Their::Int(*number),
        Cell::Text(text) => Their::Bytes(text.clone().into_bytes()),
        Cell::Numbers(numbers) => {
            let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            Their::Bytes(format!("[{}]", texts.join(",")).into_bytes())
        }
    }
}

fn row_of(row: mysql_async::Row) -> Row {
    row.unwrap().into_iter().map(cell_of).collect()
}

fn cell_of(value: Their) -> Cell {
    match value {
        Their::NULL => Cell::Null,
        Their::Int(number) => Cell::Number(number),
        Their::UInt(number) => i64::try_from(number).map_or(Cell::Null, Cell::Number),
        Their::Bytes(bytes) => Cell::Text(String::from_utf8_lossy(&bytes).into_owned()),
        other => Cell::Text(other.as_sql(true)),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is mapped over results")]
fn failure(error: Error) -> Failure {
    match &error {
        Error::Server(said) => Failure {
            cause: if CONFLICTS.contains(&said.code) {
                Cause::Conflict
            } else {
                Cause::Refused
            },
            said: format!("{} ({})", said.message, said.code),
        },
        _ => Failure {
            cause: Cause::Lost,
            said: error.to_string(),
        },
    }
}
