//! PostgreSQL.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error as StdError;
use std::fs;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::future::join_all;
use futures_util::{SinkExt as _, TryStreamExt as _};
use headroom_transactions::systems::transactions::inputs::{Table, Type as Kind, Value};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Cell, Manner, Row, Rows, Statement, Step};
use crate::error::{Cause, Failure};
use crate::target::Place;

/// A server that does not answer within this time is not there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of rows that are sent at once.
const CHUNK: usize = 1 << 18;
/// Microseconds from 1970 to 2000, where PostgreSQL begins to count.
const SINCE_1970_US: i64 = 946_684_800_000_000;
/// What a binary copy begins with: its sign, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// A connection.
pub struct Link {
    client: Client,
    prepared: HashMap<Statement, tokio_postgres::Statement>,
    pipelines: bool,
}

impl Link {
    pub(super) async fn open(
        place: &Place,
        database: &str,
        manner: Manner,
    ) -> Result<Self, Failure> {
        let config = config(place, database);
        let client = match &place.tls_roots {
            None => {
                let (client, connection) = config.connect(NoTls).await.map_err(failure)?;
                tokio::spawn(connection);
                client
            }
            Some(path) => {
                let tls = MakeRustlsConnect::new(encryption(path)?);
                let (client, connection) = config.connect(tls).await.map_err(failure)?;
                tokio::spawn(connection);
                client
            }
        };
        let mut link = Self {
            client,
            prepared: HashMap::new(),
            pipelines: manner.pipelines,
        };
        if let Some(level) = manner.isolation.sql() {
            link.tell(&format!("set default_transaction_isolation = '{level}'"))
                .await?;
        }
        if manner.loads {
            link.tell("set synchronous_commit = off").await?;
        }
        Ok(link)
    }

    pub(super) async fn tell(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).await.map_err(failure)
    }

    pub(super) async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        let messages = self.client.simple_query(sql).await.map_err(failure)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let cell = |text: Option<&str>| text.map_or(Cell::Null, Cell::from);
        Ok(rows
            .map(|row| (0..row.len()).map(|index| cell(row.get(index))).collect())
            .collect())
    }

    pub(super) async fn run(&mut self, steps: &[Step]) -> Result<Vec<Vec<Row>>, Failure> {
        for step in steps {
            self.prepare(step.statement).await?;
        }
        if let [step] = steps {
            return Ok(vec![self.one(step).await?]);
        }
        if !self.pipelines {
            let mut answers = Vec::with_capacity(steps.len());
            for step in steps {
                answers.push(self.one(step).await?);
            }
            return Ok(answers);
        }
        // All have to be awaited: an answer that nobody reads would be read as another's.
        join_all(steps.iter().map(|step| self.one(step)))
            .await
            .into_iter()
            .collect()
    }

    async fn prepare(&mut self, statement: Statement) -> Result<(), Failure> {
        if let Entry::Vacant(free) = self.prepared.entry(statement) {
            let text = statement.text(crate::target::Product::Postgres);
            free.insert(self.client.prepare(&text).await.map_err(failure)?);
        }
        Ok(())
    }

    async fn one(&self, step: &Step) -> Result<Vec<Row>, Failure> {
        let prepared = &self.prepared[&step.statement];
        let stream = self
            .client
            .query_raw(prepared, step.values.iter())
            .await
            .map_err(failure)?;
        let mut stream = pin!(stream);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await.map_err(failure)? {
            let cells = (0..row.len()).map(|index| row.try_get::<_, Cell>(index));
            rows.push(cells.collect::<Result<Row, _>>().map_err(failure)?);
        }
        Ok(rows)
    }

    pub(super) async fn copy(&mut self, table: Table, rows: &mut Rows) -> Result<(), Failure> {
        let text = format!("copy {} from stdin (format binary)", table.name());
        let sink = self
            .client
            .copy_in::<_, Bytes>(&text)
            .await
            .map_err(failure)?;
        let mut sink = pin!(sink);
        sink.feed(Bytes::from_static(HEADER))
            .await
            .map_err(failure)?;
        for chunk in rows.bytes.chunks(CHUNK) {
            sink.feed(Bytes::copy_from_slice(chunk))
                .await
                .map_err(failure)?;
        }
        sink.feed(Bytes::from_static(&[0xff, 0xff]))
            .await
            .map_err(failure)?;
        rows.bytes.clear();
        sink.finish().await.map(drop).map_err(failure)
    }
}

fn config(place: &Place, database: &str) -> Config {
    let (user, host, port) = place.server();
    let mut config = Config::new();
    config
        .user(user)
        .host(host)
        .port(port)
        .dbname(database)
        .application_name("headroom-transactions")
        .connect_timeout(PATIENCE)
        .ssl_mode(if place.tls_roots.is_some() {
            SslMode::Require
        } else {
            SslMode::Disable
        });
    if let Some(password) = &place.password {
        config.password(password);
    }
    config
}

fn encryption(path: &Path) -> Result<ClientConfig, Failure> {
    let unusable = |reason: &dyn std::fmt::Display| Failure {
        cause: Cause::Refused,
        said: format!("`tls_roots`: {}: {reason}", path.display()),
    };
    let text = fs::read(path).map_err(|error| unusable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unusable(&error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[allow(clippy::needless_pass_by_value, reason = "it is mapped over results")]
fn failure(error: tokio_postgres::Error) -> Failure {
    let cause = match error.code() {
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Cause::Conflict,
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Cause::Conflict,
        Some(code) if code.code().starts_with("57P") || code.code().starts_with("08") => {
            Cause::Lost
        }
        Some(_) => Cause::Refused,
        None => Cause::Lost,
    };
    let said = match (error.as_db_error(), error.source()) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    };
    Failure { cause, said }
}

/// Append a row in the binary form of a copy.
pub(super) fn encode(table: Table, row: &[Value], bytes: &mut Vec<u8>) {
    bytes.put_i16(i16::try_from(row.len()).expect("few columns"));
    for (value, (_, kind)) in row.iter().zip(table.columns()) {
        match (value, kind) {
            (Value::Null, _) => bytes.put_i32(-1),
            (Value::Text(text), _) => {
                bytes.put_i32(i32::try_from(text.len()).expect("a short text"));
                bytes.put_slice(text.as_bytes());
            }
            (Value::Number(number), Kind::Number | Kind::Rate) => {
                bytes.put_i32(4);
                bytes.put_i32(i32::try_from(*number).expect("a small number"));
            }
            (Value::Number(time_us), Kind::Time) => {
                bytes.put_i32(8);
                bytes.put_i64(*time_us - SINCE_1970_US);
            }
            (Value::Number(number), _) => {
                bytes.put_i32(8);
                bytes.put_i64(*number);
            }
        }
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        kind: &Type,
        into: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Number(number) if *kind == Type::INT4 => {
                i32::try_from(*number)?.to_sql(kind, into)
            }
            Self::Number(number) if *kind == Type::INT2 => {
                i16::try_from(*number)?.to_sql(kind, into)
            }
            Self::Number(number) => number.to_sql(kind, into),
            Self::Text(text) => text.to_sql(kind, into),
            Self::Numbers(numbers) => numbers.to_sql(kind, into),
        }
    }

    fn accepts(kind: &Type) -> bool {
        <i64 as ToSql>::accepts(kind)
            || <i32 as ToSql>::accepts(kind)
            || <i16 as ToSql>::accepts(kind)
            || <Vec<i32> as ToSql>::accepts(kind)
            || <String as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(match *kind {
            Type::INT2 => Self::Number(i64::from(i16::from_sql(kind, raw)?)),
            Type::INT4 => Self::Number(i64::from(i32::from_sql(kind, raw)?)),
            Type::INT8 => Self::Number(i64::from_sql(kind, raw)?),
            Type::VOID => Self::Null,
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8 | Type::VOID)
            || <String as FromSql<'_>>::accepts(kind)
    }
}
