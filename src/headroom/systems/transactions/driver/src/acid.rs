//! Atomicity and isolation, tested as the standard scripts it.
//!
//! Source: TPC-C, clauses 3.2.2 and 3.4.2. Two connections take part; the second runs in a thread
//! of its own, because it may have to wait for the first. Durability needs a server that is
//! killed, which its owner does.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::database::mark::{self, Stage, connect};
use crate::database::{Isolation, Link, Manner};
use crate::error::{Cause, DriverError, Failure};
use crate::populate::runtime;
use crate::target::{Place, Product};

/// How long the first transaction stays open for the second to show what it sees.
const OPEN: Duration = Duration::from_millis(400);
/// A customer whom all tests use: warehouse 1, district 1, customer 1.
const CUSTOMER: &str = "c_w_id = 1 and c_d_id = 1 and c_id = 1";
const DISTRICT: &str = "d_w_id = 1 and d_id = 1";
const BALANCE: &str = "select c_balance from customer where c_w_id = 1 and c_d_id = 1 and c_id = 1";
const PRICE: &str = "select i_price from item where i_id = 1";
const LAST: &str =
    "select coalesce(max(o_id), 0) from orders where o_w_id = 1 and o_d_id = 1 and o_c_id = 1";
const WAITING: &str = "select count(*) from new_order where no_w_id = 1 and no_d_id = 1";

/// What a test showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What is tested.
    pub test: &'static str,
    /// Whether it is as the standard says.
    pub passed: bool,
    /// What was seen.
    pub seen: String,
}

/// A database under test.
struct Tests<'a> {
    place: &'a Place,
    name: &'a str,
    manner: Manner,
}

/// How the first transaction ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
}

impl End {
    const fn sql(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Rollback => "rollback",
        }
    }
}

/// What the second transaction did, and whether it had to wait for the end of the first.
struct Second {
    value: i64,
    waited: bool,
}

/// Test a copy of a database, whose rows change.
///
/// # Errors
///
/// If it is no copy, or the database refuses something else than the standard foresees.
pub fn test(place: &Place, name: &str, isolation: Isolation) -> Result<Vec<Verdict>, DriverError> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut link = connect(place, name, Manner::default()).await?;
        match mark::read(&mut link, name).await?.stage {
            Stage::Copied => Ok(()),
            _ => Err(DriverError::Database(format!(
                "the tests change rows, and `{name}` is no copy; copy it first"
            ))),
        }
    })?;
    let manner = Manner {
        isolation,
        ..Manner::default()
    };
    let tests = Tests {
        place,
        name,
        manner,
    };
    let all = || -> Result<Vec<Verdict>, Failure> {
        Ok(vec![
            tests.atomicity("a payment that commits", End::Commit)?,
            tests.atomicity("a payment that is rolled back", End::Rollback)?,
            tests.unseen("Order-Status during a New-Order that commits", End::Commit)?,
            tests.unseen(
                "Order-Status during a New-Order that is rolled back",
                End::Rollback,
            )?,
            tests.numbers(
                "two New-Orders of a district, the first commits",
                End::Commit,
            )?,
            tests.numbers(
                "two New-Orders of a district, the first is rolled back",
                End::Rollback,
            )?,
            tests.balance("Payment during a Delivery that commits", End::Commit)?,
            tests.balance(
                "Payment during a Delivery that is rolled back",
                End::Rollback,
            )?,
            tests.repeats(
                "a price that is read twice",
                PRICE,
                "update item set i_price = i_price \
                 + 1 where i_id = 1",
            )?,
            tests.no_phantom("the last order, read twice", LAST, None)?,
            tests.no_phantom(
                "no order to deliver, looked for twice",
                WAITING,
                Some("delete from new_order where no_w_id = 1 and no_d_id = 1"),
            )?,
        ])
    };
    all().map_err(DriverError::of("testing atomicity and isolation"))
}

impl Tests<'_> {
    /// Let `first` begin; let `second` begin beside it; end the first with `end`, and return what
    /// both gave.
    fn both<T>(
        &self,
        end: End,
        first: impl AsyncFnOnce(&mut Link) -> Result<T, Failure>,
        again: impl AsyncFnOnce(&mut Link) -> Result<i64, Failure>,
        second: impl Fn(&Place, &str, Manner) -> Result<i64, Failure> + Send + Sync,
    ) -> Result<(T, i64, Second), Failure> {
        let runtime = runtime().map_err(|error| Failure::wrong(error.to_string()))?;
        thread::scope(|scope| {
            runtime.block_on(async {
                let mut link = self.open().await?;
                link.tell(begin(link.product())).await?;
                let found = first(&mut link).await?;
                let (done, is_done) = mpsc::channel();
                let beside = scope.spawn(move || {
                    let value = second(self.place, self.name, self.manner);
                    let _ = done.send(());
                    value
                });
                let waited = is_done.recv_timeout(OPEN).is_err();
                let again = again(&mut link).await;
                link.tell(end.sql()).await?;
                let value = beside.join().expect("it does not panic")?;
                Ok((found, again?, Second { value, waited }))
            })
        })
    }

    async fn open(&self) -> Result<Link, Failure> {
        Link::connect(self.place, self.name, self.manner).await
    }

    fn ask(&self, sql: &str) -> Result<i64, Failure> {
        alone(self.place, self.name, self.manner, async |link| {
            link.count(sql).await
        })
    }

    fn atomicity(&self, test: &'static str, end: End) -> Result<Verdict, Failure> {
        let before = [
            self.ask("select sum(w_ytd) from warehouse")?,
            self.ask(BALANCE)?,
        ];
        alone(self.place, self.name, self.manner, async |link| {
            link.tell(begin(link.product())).await?;
            link.tell("update warehouse set w_ytd = w_ytd + 100 where w_id = 1")
                .await?;
            link.tell(&format!(
                "update district set d_ytd = d_ytd + 100 where {DISTRICT}"
            ))
            .await?;
            link.tell(&format!(
                "update customer set c_balance = c_balance - 100 where {CUSTOMER}"
            ))
            .await?;
            link.tell(end.sql()).await?;
            Ok(0)
        })?;
        let after = [
            self.ask("select sum(w_ytd) from warehouse")?,
            self.ask(BALANCE)?,
        ];
        let paid = if end == End::Commit { 100 } else { 0 };
        Ok(Verdict {
            test,
            passed: after == [before[0] + paid, before[1] - paid],
            seen: format!(
                "received {}, charged {}",
                after[0] - before[0],
                before[1] - after[1]
            ),
        })
    }

    fn unseen(&self, test: &'static str, end: End) -> Result<Verdict, Failure> {
        let (number, _, second) = self.both(end, order, nothing, |place, name, manner| {
            alone(place, name, manner, async |link| link.count(LAST).await)
        })?;
        let after = self.ask(LAST)?;
        let may_see = second.waited && end == End::Commit;
        let passed =
            (second.value != number || may_see) && (after == number) == (end == End::Commit);
        let seen = format!(
            "order {number}, seen meanwhile {}, afterwards {after}",
            second.value
        );
        Ok(Verdict { test, passed, seen })
    }

    fn numbers(&self, test: &'static str, end: End) -> Result<Verdict, Failure> {
        let (number, _, second) = self.both(end, order, nothing, |place, name, manner| {
            with_retries(place, name, manner, &order)
        })?;
        let next = if end == End::Commit {
            number + 1
        } else {
            number
        };
        Ok(Verdict {
            test,
            passed: second.value == next && second.waited,
            seen: format!("numbers {number} and {}", second.value),
        })
    }

    fn balance(&self, test: &'static str, end: End) -> Result<Verdict, Failure> {
        let before = self.ask(BALANCE)?;
        let deliver = async |link: &mut Link| {
            link.tell(&format!(
                "update customer set c_balance = c_balance + 500 where {CUSTOMER}"
            ))
            .await
        };
        self.both(end, deliver, nothing, |place, name, manner| {
            with_retries(place, name, manner, &async |link: &mut Link| {
                link.tell(&format!(
                    "update customer set c_balance = c_balance - 100 where {CUSTOMER}"
                ))
                .await
                .map(|()| 0)
            })
        })?;
        let after = self.ask(BALANCE)?;
        let expected = if end == End::Commit { 400 } else { -100 };
        let seen = format!("changed by {}, expected {expected}", after - before);
        Ok(Verdict {
            test,
            passed: after - before == expected,
            seen,
        })
    }

    fn repeats(
        &self,
        test: &'static str,
        question: &str,
        change: &str,
    ) -> Result<Verdict, Failure> {
        let first = async |link: &mut Link| link.count(question).await;
        let again = async |link: &mut Link| link.count(question).await;
        let (first, again, second) =
            self.both(End::Commit, first, again, |place, name, manner| {
                with_retries(place, name, manner, &async |link: &mut Link| {
                    link.tell(change).await.map(|()| 0)
                })
            })?;
        let waited = if second.waited {
            "the change waited"
        } else {
            "the change did not wait"
        };
        let seen = format!("read {first}, then {again}; {waited}");
        Ok(Verdict {
            test,
            passed: first == again,
            seen,
        })
    }

    fn no_phantom(
        &self,
        test: &'static str,
        question: &str,
        before: Option<&str>,
    ) -> Result<Verdict, Failure> {
        let first = async |link: &mut Link| {
            if let Some(sql) = before {
                link.tell(sql).await?;
            }
            link.count(question).await
        };
        let again = async |link: &mut Link| link.count(question).await;
        let (first, again, second) =
            self.both(End::Rollback, first, again, |place, name, manner| {
                with_retries(place, name, manner, &order)
            })?;
        let waited = if second.waited {
            "the order waited"
        } else {
            "the order did not wait"
        };
        let seen = format!("found {first}, then {again}; {waited}");
        Ok(Verdict {
            test,
            passed: first == again,
            seen,
        })
    }
}

const fn begin(product: Product) -> &'static str {
    match product {
        Product::Sqlite => "begin immediate",
        _ => "begin",
    }
}

async fn nothing(_: &mut Link) -> Result<i64, Failure> {
    Ok(0)
}

/// Take the next number of the district, and put an order of the customer in.
async fn order(link: &mut Link) -> Result<i64, Failure> {
    link.tell(&format!(
        "update district set d_next_o_id = d_next_o_id + 1 where {DISTRICT}"
    ))
    .await?;
    let number = link
        .count(&format!(
            "select d_next_o_id - 1 from district where {DISTRICT}"
        ))
        .await?;
    link.tell(&format!(
        "insert into orders select 1, 1, {number}, 1, o_entry_d, null, 5, 1 from orders \
         where o_w_id = 1 and o_d_id = 1 and o_id = 1"
    ))
    .await?;
    link.tell(&format!("insert into new_order values (1, 1, {number})"))
        .await?;
    Ok(number)
}

/// Carry out work with a connection of its own.
fn alone(
    place: &Place,
    name: &str,
    manner: Manner,
    work: impl AsyncFnOnce(&mut Link) -> Result<i64, Failure>,
) -> Result<i64, Failure> {
    let runtime = runtime().map_err(|error| Failure::wrong(error.to_string()))?;
    runtime.block_on(async {
        let mut link = Link::connect(place, name, manner).await?;
        work(&mut link).await
    })
}

/// Carry out a transaction, again and again while it conflicts with others.
fn with_retries(
    place: &Place,
    name: &str,
    manner: Manner,
    work: &impl AsyncFn(&mut Link) -> Result<i64, Failure>,
) -> Result<i64, Failure> {
    loop {
        let result = alone(place, name, manner, async |link| {
            link.tell(begin(link.product())).await?;
            let value = work(link).await?;
            link.tell("commit").await?;
            Ok(value)
        });
        match result {
            Err(failure) if failure.cause == Cause::Conflict => (),
            other => return other,
        }
    }
}
