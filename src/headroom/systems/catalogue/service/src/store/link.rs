//! A connection to a database of any kind.

use std::sync::Arc;

use super::error::{Failure, StoreError};
use super::pool::Stage;
use super::rows::Stream;
use super::settings::{Database, Settings};
use super::step::{Outcome, Ran, Rendered};
use super::{mysql, postgres, sqlite};

/// The database of a pool.
#[derive(Clone)]
pub(super) struct Origin {
    pub database: Database,
    pub settings: Arc<Settings>,
    /// Whether its connections only read; SQLite has some of these.
    pub is_reader: bool,
}

/// A connection. An operation that was begun and dropped leaves it in an unknown state: only
/// [`Link::recover`] may follow.
pub(super) enum Link {
    Sqlite(sqlite::Link),
    Postgres(Box<postgres::Link>),
    Mysql(Box<mysql::Link>),
}

/// Call a method of the connection, whatever its database.
macro_rules! each {
    ($self:expr, $link:ident => $work:expr) => {
        match $self {
            Self::Sqlite($link) => $work,
            Self::Postgres($link) => $work,
            Self::Mysql($link) => $work,
        }
    };
}

impl Link {
    pub async fn connect(origin: &Origin) -> Result<Self, StoreError> {
        let settings = &origin.settings;
        Ok(match &origin.database {
            Database::Sqlite(path) => {
                Self::Sqlite(sqlite::Link::connect(path, settings, origin.is_reader).await?)
            }
            Database::Postgres(url) => {
                Self::Postgres(Box::new(postgres::Link::connect(url, settings).await?))
            }
            Database::Mysql(url) => {
                Self::Mysql(Box::new(mysql::Link::connect(url, settings).await?))
            }
        })
    }

    /// Return whether the connection is not known to be lost.
    pub fn is_alive(&self) -> bool {
        each!(self, link => link.is_alive())
    }

    pub async fn ping(&mut self) -> Result<(), Failure> {
        each!(self, link => link.batch("SELECT 1".to_owned()).await)
    }

    /// Run all steps, or none. After an error there is no transaction.
    pub async fn run(&mut self, steps: &Arc<[Rendered]>) -> Result<Ran, Failure> {
        each!(self, link => link.run(steps).await)
    }

    pub async fn batch(&mut self, text: String) -> Result<(), Failure> {
        each!(self, link => link.batch(text).await)
    }

    pub async fn begin(&mut self) -> Result<(), Failure> {
        each!(self, link => link.begin().await)
    }

    pub async fn step(&mut self, step: &Arc<Rendered>) -> Result<Outcome, Failure> {
        each!(self, link => link.step(step).await)
    }

    pub async fn rows(&mut self, step: &Arc<Rendered>) -> Result<Stream, Failure> {
        match self {
            Self::Sqlite(link) => link.rows(step),
            Self::Postgres(link) => link.rows(step).await,
            Self::Mysql(link) => link.rows(step),
        }
    }

    /// Make the connection usable after the last row.
    pub async fn finish_rows(&mut self) -> Result<(), Failure> {
        match self {
            Self::Sqlite(_) | Self::Postgres(_) => Ok(()),
            Self::Mysql(link) => link.finish_rows().await,
        }
    }

    /// Commit. After an error of a live connection nothing was committed.
    pub async fn commit(&mut self) -> Result<(), Failure> {
        each!(self, link => link.commit().await)
    }

    pub async fn rollback(&mut self) -> Result<(), Failure> {
        each!(self, link => link.rollback().await)
    }

    /// Stop what runs and roll back. Return the connection if it can be used again.
    pub async fn recover(mut self, stage: Stage) -> Option<Self> {
        if stage != Stage::Running {
            let is_done = self.rollback().await.is_ok();
            return is_done.then_some(self);
        }
        match self {
            Self::Sqlite(link) => link.recover().await.map(Self::Sqlite),
            Self::Postgres(link) => {
                link.abort().await;
                None
            }
            Self::Mysql(link) => {
                link.abort().await;
                None
            }
        }
    }

    /// Close the connection in good order.
    pub async fn close(self) {
        match self {
            Self::Sqlite(link) => link.close().await,
            Self::Postgres(link) => link.close().await,
            Self::Mysql(link) => link.close().await,
        }
    }
}
