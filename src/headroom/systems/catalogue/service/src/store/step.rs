//! Steps of a transaction and what came of them.

use super::sql::{Dialect, Sql};
use crate::value::{Kind, Value};

/// A statement and what it must find or change.
#[derive(Clone, Debug)]
pub struct Step {
    /// The statement.
    pub statement: Sql,
    /// Its expected outcome.
    pub expect: Expect,
}

impl Step {
    /// Return a step that may find or change nothing.
    pub fn new(statement: Sql) -> Self {
        Self::expecting(statement, Expect::Anything)
    }

    /// Return a step with an expectation.
    pub fn expecting(statement: Sql, expect: Expect) -> Self {
        Self { statement, expect }
    }
}

/// The rows that a step must find or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// All is well.
    Anything,
    /// At least a row.
    Something,
    /// No row.
    Nothing,
}

/// The outcome of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The returned rows.
    pub rows: Vec<Vec<Value>>,
    /// How many rows were inserted, deleted, or matched by an update.
    pub changed: u64,
}

impl Outcome {
    /// Return whether a row was returned or changed.
    pub fn is_something(&self) -> bool {
        self.changed > 0 || !self.rows.is_empty()
    }

    /// Return whether it is what a step expects.
    pub fn meets(&self, expect: Expect) -> bool {
        match expect {
            Expect::Anything => true,
            Expect::Something => self.is_something(),
            Expect::Nothing => !self.is_something(),
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// An outcome for each step, up to and including the one that failed.
    pub outcomes: Vec<Outcome>,
    /// The step that did not meet its expectation: then all steps were rolled back.
    pub failed: Option<usize>,
}

impl Ran {
    /// Add the outcome of the next step; return whether it meets its expectation.
    pub(super) fn add(&mut self, outcome: Outcome, expect: Expect) -> bool {
        let is_met = outcome.meets(expect);
        if !is_met {
            self.failed = Some(self.outcomes.len());
        }
        self.outcomes.push(outcome);
        is_met
    }
}

/// A step in the words of a database.
#[derive(Clone, Debug)]
pub(super) struct Rendered {
    /// The text.
    pub text: String,
    /// The values of its parameters.
    pub values: Vec<(Value, Kind)>,
    /// Its expected outcome.
    pub expect: Expect,
    /// Whether it changes nothing and locks nothing.
    pub is_read: bool,
}

impl Rendered {
    pub fn new(step: &Step, dialect: Dialect) -> Self {
        let (text, values) = step.statement.render(dialect);
        Self {
            text,
            values,
            expect: step.expect,
            is_read: step.statement.is_read(),
        }
    }

    /// Return whether it is a query: then the database counts no changed rows.
    pub fn is_query(&self) -> bool {
        self.text.starts_with("SELECT")
    }

    /// Return an outcome. A returned row of a change was changed; not every database counts it.
    pub fn outcome(&self, rows: Vec<Vec<Value>>, changed: u64) -> Outcome {
        let changed = if self.is_query() {
            0
        } else {
            changed.max(rows.len() as u64)
        };
        Outcome { rows, changed }
    }
}
