//! A session: one connection that carries out what terminals ask, and tries again after conflicts.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headroom_transactions::systems::transactions::inputs::{Input, UNUSED_ITEM};
use serde::Deserialize;

use super::{Asked, Counts, Done, by_function, by_statement};
use crate::database::{Link, Manner, Statement};
use crate::error::{Cause, DriverError, Failure};
use crate::step;
use crate::target::{Place, Product};

/// Longest pause before a lost connection is opened again.
const PAUSE: Duration = Duration::from_millis(200);

/// How a transaction is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One call of a function of the database; SQLite has none, and needs none.
    #[default]
    Function,
    /// Single statements.
    Statement,
}

/// What all sessions of a run share.
pub struct Plan {
    /// Where the database is; None: there is none, and each transaction succeeds at once.
    pub place: Option<Place>,
    /// Its name.
    pub database: String,
    /// How a transaction is said.
    pub form: Form,
    /// How a connection behaves.
    pub manner: Manner,
    /// How often a transaction is tried again after a conflict.
    pub retries: u32,
    /// Where the numbers of acknowledged orders go.
    pub journal: Option<Arc<Mutex<dyn Write + Send>>>,
}

/// What a session has done so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Transactions.
    pub counts: Counts,
    /// The first failure of each cause.
    pub failures: Vec<Failure>,
}

/// A connection.
pub struct Session {
    plan: Arc<Plan>,
    link: Option<Link>,
    tally: Arc<Mutex<Tally>>,
}

impl Session {
    /// Return a session that is connected.
    ///
    /// # Errors
    ///
    /// If it cannot be.
    pub async fn open(plan: &Arc<Plan>) -> Result<Self, DriverError> {
        let mut session = Self {
            plan: Arc::clone(plan),
            link: None,
            tally: Arc::default(),
        };
        if let Some(place) = &plan.place {
            let unreachable = |failure| crate::database::unreachable(place, &failure);
            session.connect().await.map_err(unreachable)?;
        }
        Ok(session)
    }

    /// Return where it counts, also for those who see it stuck in a call.
    pub fn tally(&self) -> Arc<Mutex<Tally>> {
        Arc::clone(&self.tally)
    }

    /// Carry out what is asked; return 0, or the negative number of the cause if it fails.
    pub async fn carry_out(&mut self, asked: &Asked) -> i32 {
        let asked = sorted(asked);
        let mut retries = 0;
        let result = loop {
            match self.attempt(&asked).await {
                Err(failure) if failure.cause == Cause::Conflict && retries < self.plan.retries => {
                    retries += 1;
                }
                result => break result,
            }
        };
        if let Ok(done) = &result {
            self.write_down(&asked, done);
        }
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.counts.retries += u64::from(retries);
        match result {
            Ok(done) => {
                tally.counts.note(&asked, &done);
                0
            }
            Err(failure) => {
                let number = failure.cause.number();
                if tally.failures.iter().all(|one| one.cause != failure.cause) {
                    tally.failures.push(failure);
                }
                -number
            }
        }
    }

    async fn attempt(&mut self, asked: &Asked) -> Result<Done, Failure> {
        if self.plan.place.is_none() {
            return Ok(nothing_done(asked));
        }
        if self.link.is_none() {
            tokio::time::sleep(PAUSE).await;
            self.connect().await?;
        }
        let link = self.link.as_mut().expect("it was connected");
        let result = if self.plan.form == Form::Function && link.product() != Product::Sqlite {
            by_function::carry_out(link, asked).await
        } else {
            let result = by_statement::carry_out(link, asked).await;
            if result.is_err() {
                // The failure says more than a refused rollback would.
                let _ = link.run(&[step!(Statement::Rollback)]).await;
            }
            result
        };
        let result = result.and_then(|done| checked(asked, done));
        let is_lost = |failure: &Failure| failure.cause == Cause::Lost;
        if result.as_ref().is_err_and(is_lost) {
            self.link = None;
        }
        result
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        let plan = Arc::clone(&self.plan);
        let Some(place) = &plan.place else {
            return Ok(());
        };
        self.link = Some(Link::connect(place, &plan.database, plan.manner).await?);
        Ok(())
    }

    /// Note an order that the database has acknowledged.
    fn write_down(&self, asked: &Asked, done: &Done) {
        let (
            Some(journal),
            Asked::TpcC(Input::NewOrder {
                warehouse,
                district,
                ..
            }),
            Done::Order(number),
        ) = (&self.plan.journal, asked, done)
        else {
            return;
        };
        if *number > 0 {
            let mut journal = journal.lock().expect("no thread panics with it");
            let _ = writeln!(journal, "{warehouse} {district} {number}");
        }
    }
}

/// Return what is asked with lines in the order of their stock; the unused item stays the last.
fn sorted(asked: &Asked) -> Asked {
    let mut asked = asked.clone();
    if let Asked::TpcC(Input::NewOrder { lines, .. }) = &mut asked {
        lines.sort_by_key(|line| (line.item == UNUSED_ITEM, line.supplier, line.item));
    }
    asked
}

/// Refuse an answer that cannot be.
fn checked(asked: &Asked, done: Done) -> Result<Done, Failure> {
    let is_right = match (asked, &done) {
        (Asked::TpcC(input @ Input::NewOrder { .. }), Done::Order(number)) => {
            (*number == 0) == input.rolls_back() && *number >= 0
        }
        (Asked::TpcC(Input::OrderStatus { .. }), Done::Looked(lines)) => (5..=15).contains(lines),
        (Asked::TpcC(Input::Delivery { .. }), Done::Delivered(orders, lines)) => {
            (5 * orders..=15 * orders).contains(lines)
        }
        _ => true,
    };
    if is_right {
        Ok(done)
    } else {
        Err(Failure::wrong(format!("{done:?} for {asked:?}")))
    }
}

/// Return what a database that is not there would have done.
fn nothing_done(asked: &Asked) -> Done {
    match asked {
        Asked::TpcC(input @ Input::NewOrder { .. }) => Done::Order(i64::from(!input.rolls_back())),
        Asked::TpcC(Input::Payment { .. }) => Done::Paid,
        Asked::TpcC(Input::OrderStatus { .. }) => Done::Looked(0),
        Asked::TpcC(Input::Delivery { .. }) => Done::Delivered(0, 0),
        Asked::TpcC(Input::StockLevel { .. }) => Done::Counted(0),
        Asked::TpcB(_) => Done::Changed(0),
    }
}
