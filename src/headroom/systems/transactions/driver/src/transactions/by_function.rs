//! A transaction as one call of a function of the database.

use headroom_transactions::systems::transactions::inputs::{Input, Line, Who, last_name};

use super::{Asked, Done};
use crate::database::{Cell, Link, Row, Statement};
use crate::error::Failure;
use crate::step;
use crate::target::Product;

/// What PostgreSQL says of an order that is rolled back as it should.
const ROLLED_BACK: &str = "headroom: an unused item";

/// Carry out a transaction.
pub async fn carry_out(link: &mut Link, asked: &Asked) -> Result<Done, Failure> {
    match asked {
        Asked::TpcC(Input::NewOrder {
            warehouse,
            district,
            customer,
            lines,
        }) => new_order(link, [*warehouse, *district, *customer], lines).await,
        Asked::TpcC(Input::Payment {
            warehouse,
            district,
            of,
            who,
            amount,
        }) => {
            let (customer, name) = by_number_or_name(*who);
            let call = step!(
                Statement::CallPayment,
                *warehouse,
                *district,
                of.0,
                of.1,
                customer,
                name,
                *amount
            );
            let row = one(link, call).await?;
            row[0].number().map(|_| Done::Paid)
        }
        Asked::TpcC(Input::OrderStatus {
            warehouse,
            district,
            who,
        }) => {
            let (customer, name) = by_number_or_name(*who);
            let call = step!(
                Statement::CallOrderStatus,
                *warehouse,
                *district,
                customer,
                name
            );
            let row = one(link, call).await?;
            Ok(Done::Looked(row[2].number()?))
        }
        Asked::TpcC(Input::Delivery { warehouse, carrier }) => {
            let row = one(link, step!(Statement::CallDelivery, *warehouse, *carrier)).await?;
            Ok(Done::Delivered(row[0].number()?, row[1].number()?))
        }
        Asked::TpcC(Input::StockLevel {
            warehouse,
            district,
            threshold,
        }) => {
            let call = step!(Statement::CallStockLevel, *warehouse, *district, *threshold);
            Ok(Done::Counted(one(link, call).await?[0].number()?))
        }
        Asked::TpcB(change) => {
            let delta = i64::from(change.delta);
            let call = step!(
                Statement::CallChange,
                change.account,
                change.teller,
                change.branch,
                delta
            );
            Ok(Done::Changed(one(link, call).await?[0].number()?))
        }
    }
}

async fn new_order(link: &mut Link, place: [u32; 3], lines: &[Line]) -> Result<Done, Failure> {
    let column =
        |of: fn(&Line) -> u32| lines.iter().map(|line| small(of(line))).collect::<Vec<_>>();
    let call = match link.product() {
        Product::Mariadb => {
            let order: Vec<i32> = lines
                .iter()
                .flat_map(|line| [line.item, line.supplier, line.quantity].map(small))
                .collect();
            let count = i64::try_from(lines.len()).expect("few lines");
            let is_local = lines.iter().all(|line| line.supplier == place[0]);
            step!(
                Statement::CallNewOrder,
                place[0],
                place[1],
                place[2],
                i64::from(is_local),
                count,
                order
            )
        }
        _ => step!(
            Statement::CallNewOrder,
            place[0],
            place[1],
            place[2],
            column(|line| line.item),
            column(|line| line.supplier),
            column(|line| line.quantity),
        ),
    };
    match one(link, call).await {
        Ok(row) => Ok(Done::Order(row[0].number()?)),
        Err(failure) if failure.said == ROLLED_BACK => Ok(Done::Order(0)),
        Err(failure) => Err(failure),
    }
}

fn small(number: u32) -> i32 {
    i32::try_from(number).expect("a small number")
}

fn by_number_or_name(who: Who) -> (Cell, Cell) {
    match who {
        Who::Number(number) => (Cell::from(number), Cell::from("")),
        Who::Name(name) => (Cell::from(0_u32), Cell::from(last_name(name))),
    }
}

async fn one(link: &mut Link, call: crate::database::Step) -> Result<Row, Failure> {
    let mut answers = link.run(&[call]).await?;
    let row = answers.pop().and_then(|mut rows| rows.pop());
    row.ok_or_else(|| Failure::wrong("the function returned nothing"))
}
