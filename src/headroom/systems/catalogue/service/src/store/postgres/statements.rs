//! Prepared statements of a connection.

use std::collections::BTreeMap;

use tokio_postgres::{Client, Statement};

use super::super::error::Failure;
use super::super::step::Rendered;
use super::failure;
use super::values::type_of;
use crate::value::Kind;

/// A text, and the kinds of its parameters: the server converts no value, so another kind needs
/// another statement.
type Key = (String, Vec<Kind>);

/// Statements of a connection. Users' conditions make ever new texts, so the number is bounded.
pub struct Statements {
    known: BTreeMap<Key, Known>,
    max: usize,
    uses: u64,
}

struct Known {
    /// None until it runs for the second time: preparing costs a round trip.
    statement: Option<Statement>,
    last_use: u64,
}

impl Statements {
    pub fn new(max: usize) -> Self {
        Self {
            known: BTreeMap::new(),
            max,
            uses: 0,
        }
    }

    /// Return the prepared statement; None at the first time.
    pub async fn find(
        &mut self,
        client: &Client,
        step: &Rendered,
    ) -> Result<Option<Statement>, Failure> {
        self.uses += 1;
        let last_use = self.uses;
        let kinds: Vec<Kind> = step.values.iter().map(|(_, kind)| *kind).collect();
        let key = (step.text.clone(), kinds);
        if let Some(known) = self.known.get_mut(&key) {
            known.last_use = last_use;
            if known.statement.is_none() {
                let types: Vec<_> = key.1.iter().map(|kind| type_of(*kind)).collect();
                let prepared = client.prepare_typed(&step.text, &types).await;
                known.statement = Some(prepared.map_err(|error| failure(&error))?);
            }
            return Ok(known.statement.clone());
        }
        self.make_room();
        let statement = None;
        self.known.insert(
            key,
            Known {
                statement,
                last_use,
            },
        );
        Ok(None)
    }

    /// Forget the statement that was not used for the longest time.
    fn make_room(&mut self) {
        if self.known.len() < self.max {
            return;
        }
        let oldest = self.known.iter().min_by_key(|(_, known)| known.last_use);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.known.remove(&key);
        }
    }
}
