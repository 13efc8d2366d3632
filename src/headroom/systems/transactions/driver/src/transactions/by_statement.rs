//! A transaction as single statements.
//!
//! Those that do not need each other's answers go together: one round trip where they travel in a
//! pipeline, one each otherwise. Stock is changed in the order of its keys (the caller sorts the
//! lines), so that two orders do not wait for each other.

use headroom_transactions::systems::transactions::inputs::tpcb::Change;
use headroom_transactions::systems::transactions::inputs::{
    DISTRICTS, Input, Line, UNUSED_ITEM, Who, last_name,
};

use super::{Asked, Done};
use crate::database::{Cell, Link, Row, Statement, Step};
use crate::error::Failure;
use crate::step;
use crate::target::Product;

/// Orders whose lines Stock-Level reads.
const LOOKED_AT: i64 = 20;

/// Carry out a transaction; after a failure it is still open.
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
        }) => payment(link, (*warehouse, *district), *of, *who, *amount).await,
        Asked::TpcC(Input::OrderStatus {
            warehouse,
            district,
            who,
        }) => order_status(link, (*warehouse, *district), *who).await,
        Asked::TpcC(Input::Delivery { warehouse, carrier }) => {
            delivery(link, *warehouse, *carrier).await
        }
        Asked::TpcC(Input::StockLevel {
            warehouse,
            district,
            threshold,
        }) => stock_level(link, (*warehouse, *district), *threshold).await,
        Asked::TpcB(change) => tpcb(link, *change).await,
    }
}

async fn new_order(link: &mut Link, place: [u32; 3], lines: &[Line]) -> Result<Done, Failure> {
    let [warehouse, district, customer] = place;
    let mut first = vec![
        step!(Statement::Begin),
        step!(Statement::OrderNumber, warehouse, district),
    ];
    if link.product() == Product::Mariadb {
        first.push(step!(Statement::AdvanceOrderNumber, warehouse, district));
    }
    first.push(step!(
        Statement::CustomerOfOrder,
        warehouse,
        district,
        customer
    ));
    let answers = link.run(&first).await?;
    let number = only(&answers[1])?[0].number()?;
    only(answers.last().expect("a customer is requested"))?;

    let stock = Statement::Stock(u8::try_from(district).expect("ten districts"));
    let is_there = |line: &&Line| line.item != UNUSED_ITEM;
    let mut questions: Vec<Step> = lines
        .iter()
        .map(|line| step!(Statement::Item, line.item))
        .collect();
    let sold: Vec<&Line> = lines.iter().filter(is_there).collect();
    questions.extend(
        sold.iter()
            .map(|line| step!(stock, line.supplier, line.item)),
    );
    let answers = link.run(&questions).await?;
    let (items, stocks) = answers.split_at(lines.len());

    let rolls_back = sold.len() < lines.len();
    let is_local = lines.iter().all(|line| line.supplier == warehouse);
    let count = i64::try_from(lines.len()).expect("few lines");
    let mut changes = vec![
        step!(
            Statement::InsertOrder,
            warehouse,
            district,
            number,
            customer,
            count,
            i64::from(is_local)
        ),
        step!(Statement::InsertNewOrder, warehouse, district, number),
    ];
    for (index, line) in sold.iter().enumerate() {
        let price = only(&items[index])?[0].number()?;
        let district_info = only(&stocks[index])?[2].text();
        let (quantity, is_remote) = (line.quantity, u32::from(line.supplier != warehouse));
        changes.push(step!(
            Statement::SellStock,
            quantity,
            quantity,
            quantity,
            quantity,
            is_remote,
            line.supplier,
            line.item
        ));
        let line_number = i64::try_from(index + 1).expect("few lines");
        changes.push(step!(
            Statement::InsertLine,
            warehouse,
            district,
            number,
            line_number,
            line.item,
            line.supplier,
            quantity,
            i64::from(quantity) * price,
            district_info
        ));
    }
    changes.push(step!(if rolls_back {
        Statement::Rollback
    } else {
        Statement::Commit
    }));
    link.run(&changes).await?;
    Ok(Done::Order(if rolls_back { 0 } else { number }))
}

async fn payment(
    link: &mut Link,
    (warehouse, district): (u32, u32),
    (home, home_district): (u32, u32),
    who: Who,
    amount: u32,
) -> Result<Done, Failure> {
    let needs_two = link.product() == Product::Mariadb;
    let mut first = vec![step!(Statement::Begin)];
    if needs_two {
        first.push(step!(Statement::PayWarehouse, warehouse));
        first.push(step!(Statement::AddToWarehouse, amount, warehouse));
        first.push(step!(Statement::PayDistrict, warehouse, district));
        first.push(step!(Statement::AddToDistrict, amount, warehouse, district));
    } else {
        first.push(step!(Statement::PayWarehouse, amount, warehouse));
        first.push(step!(Statement::PayDistrict, amount, warehouse, district));
    }
    first.push(find(home, home_district, who));
    let answers = link.run(&first).await?;
    let warehouse_name = only(&answers[1])?[0].text();
    let district_name = only(&answers[if needs_two { 3 } else { 2 }])?[0].text();
    let customer = middle(answers.last().expect("a customer is requested"))?[0].number()?;
    let data = format!("{customer} {home_district} {home} {district} {warehouse} {amount} ");
    link.run(&[
        step!(
            Statement::PayCustomer,
            amount,
            amount,
            data,
            home,
            home_district,
            customer
        ),
        step!(
            Statement::InsertHistory,
            customer,
            home_district,
            home,
            district,
            warehouse,
            amount,
            format!("{warehouse_name}    {district_name}")
        ),
        step!(Statement::Commit),
    ])
    .await?;
    Ok(Done::Paid)
}

async fn order_status(
    link: &mut Link,
    (warehouse, district): (u32, u32),
    who: Who,
) -> Result<Done, Failure> {
    let answers = link
        .run(&[
            step!(Statement::BeginToRead),
            find(warehouse, district, who),
        ])
        .await?;
    let customer = middle(&answers[1])?[0].number()?;
    let answers = link
        .run(&[step!(Statement::LastOrder, warehouse, district, customer)])
        .await?;
    let number = only(&answers[0])?[0].number()?;
    let answers = link
        .run(&[
            step!(Statement::LinesOfOrder, warehouse, district, number),
            step!(Statement::Commit),
        ])
        .await?;
    Ok(Done::Looked(
        i64::try_from(answers[0].len()).expect("few lines"),
    ))
}

async fn delivery(link: &mut Link, warehouse: u32, carrier: u32) -> Result<Done, Failure> {
    let mut first = vec![step!(Statement::Begin)];
    first.extend((1..=DISTRICTS).map(|one| step!(Statement::OldestNewOrder, warehouse, one)));
    let answers = link.run(&first).await?;
    let mut orders = Vec::new();
    for (district, rows) in (1..=DISTRICTS).zip(&answers[1..]) {
        if let Some(number) = oldest(link, warehouse, district, rows).await? {
            orders.push((district, number));
        }
    }
    let mut changes = Vec::new();
    for &(district, number) in &orders {
        changes.extend([
            step!(Statement::DeleteNewOrder, warehouse, district, number),
            step!(Statement::CustomerOfDelivery, warehouse, district, number),
            step!(
                Statement::DeliverOrder,
                carrier,
                warehouse,
                district,
                number
            ),
            step!(Statement::AmountOfLines, warehouse, district, number),
            step!(Statement::DeliverLines, warehouse, district, number),
        ]);
    }
    let answers = link.run(&changes).await?;
    let mut credits = Vec::new();
    let mut lines = 0;
    for (answers, &(district, _)) in answers.chunks(5).zip(&orders) {
        let customer = only(&answers[1])?[0].number()?;
        let sums = only(&answers[3])?;
        lines += sums[1].number()?;
        credits.push(step!(
            Statement::CreditCustomer,
            sums[0].number()?,
            warehouse,
            district,
            customer
        ));
    }
    credits.push(step!(Statement::Commit));
    link.run(&credits).await?;
    Ok(Done::Delivered(
        i64::try_from(orders.len()).expect("ten districts"),
        lines,
    ))
}

/// Return the oldest order of a district: that of the answer, or the next one if another delivery
/// took it meanwhile, which PostgreSQL answers with no row.
async fn oldest(
    link: &mut Link,
    warehouse: u32,
    district: u32,
    rows: &[Row],
) -> Result<Option<i64>, Failure> {
    if let Some(row) = rows.first() {
        return row[0].number().map(Some);
    }
    loop {
        let answers = link
            .run(&[step!(Statement::AnyNewOrder, warehouse, district)])
            .await?;
        if answers[0].is_empty() {
            return Ok(None);
        }
        let answers = link
            .run(&[step!(Statement::OldestNewOrder, warehouse, district)])
            .await?;
        if let Some(row) = answers[0].first() {
            return row[0].number().map(Some);
        }
    }
}

async fn stock_level(
    link: &mut Link,
    (warehouse, district): (u32, u32),
    threshold: u32,
) -> Result<Done, Failure> {
    let next = step!(Statement::NextOrderOfDistrict, warehouse, district);
    let answers = link.run(&[step!(Statement::BeginToRead), next]).await?;
    let next = only(&answers[1])?[0].number()?;
    let answers = link
        .run(&[
            step!(
                Statement::LowStock,
                warehouse,
                district,
                next - LOOKED_AT,
                next,
                warehouse,
                threshold
            ),
            step!(Statement::Commit),
        ])
        .await?;
    Ok(Done::Counted(only(&answers[0])?[0].number()?))
}

async fn tpcb(link: &mut Link, change: Change) -> Result<Done, Failure> {
    let Change {
        account,
        teller,
        branch,
        delta,
    } = change;
    let delta = i64::from(delta);
    let mut steps = vec![
        step!(Statement::Begin),
        step!(Statement::ChangeAccount, delta, account),
    ];
    if link.product() == Product::Mariadb {
        steps.push(step!(Statement::AccountBalance, account));
    }
    steps.extend([
        step!(Statement::ChangeTeller, delta, teller),
        step!(Statement::ChangeBranch, delta, branch),
        step!(Statement::InsertChange, teller, branch, account, delta),
        step!(Statement::Commit),
    ]);
    let answers = link.run(&steps).await?;
    let balance = answers.iter().flatten().next();
    let balance = balance.ok_or_else(|| Failure::wrong("the account has no balance"))?;
    Ok(Done::Changed(balance[0].number()?))
}

fn find(warehouse: u32, district: u32, who: Who) -> Step {
    match who {
        Who::Number(number) => step!(Statement::CustomerByNumber, warehouse, district, number),
        Who::Name(name) => {
            step!(
                Statement::CustomersByName,
                warehouse,
                district,
                last_name(name)
            )
        }
    }
}

/// Return the row in the middle of those of a name: n / 2, rounded up (clause 2.5.2.2).
fn middle(rows: &[Row]) -> Result<&[Cell], Failure> {
    let row = rows.get(rows.len().div_ceil(2).saturating_sub(1));
    row.map(Vec::as_slice)
        .ok_or_else(|| Failure::wrong("there is no such customer"))
}

fn only(rows: &[Row]) -> Result<&[Cell], Failure> {
    match rows {
        [row] => Ok(row),
        _ => Err(Failure::wrong(format!(
            "one row was expected, not {}",
            rows.len()
        ))),
    }
}
