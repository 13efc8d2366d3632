//! The consistency conditions of the standards, as counts of what breaks them.
//!
//! Source: TPC-C, clauses 3.3.2.1 to 3.3.2.12; TPC-B, clause 2.3.2. Condition 11 of TPC-C holds
//! right after loading alone; afterwards the orders that were delivered take the place of 2,100.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headroom_transactions::systems::transactions::inputs::{ORDERS, Workload};

use crate::database::mark::{self, Mark, Stage, connect};
use crate::database::{Link, Manner, Row};
use crate::error::{DriverError, Failure};
use crate::populate::runtime;
use crate::target::{Place, Product};

/// A condition, and how often it is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Number in the standard.
    pub number: u32,
    /// What has to hold.
    pub condition: &'static str,
    /// Rows or groups that break it.
    pub broken: i64,
}

type Condition = (u32, &'static str, &'static str);

const TPC_C: [Condition; 11] = [
    (
        1,
        "W_YTD = sum of D_YTD",
        "select count(*) from warehouse left join (select d_w_id, sum(d_ytd) as paid \
         from district group by d_w_id) d on d_w_id = w_id where w_ytd <> coalesce(paid, 0)",
    ),
    (
        2,
        "D_NEXT_O_ID - 1 = max O_ID = max NO_O_ID",
        "select count(*) from district left join (select o_w_id, o_d_id, max(o_id) as last_order \
         from orders group by o_w_id, o_d_id) o on o_w_id = d_w_id and o_d_id = d_id \
         left join (select no_w_id, no_d_id, max(no_o_id) as last_new from new_order \
         group by no_w_id, no_d_id) n on no_w_id = d_w_id and no_d_id = d_id \
         where d_next_o_id - 1 <> coalesce(last_order, 0) \
         or d_next_o_id - 1 <> coalesce(last_new, d_next_o_id - 1)",
    ),
    (
        3,
        "max NO_O_ID - min NO_O_ID + 1 = rows of NEW-ORDER",
        "select count(*) from (select no_w_id from new_order group by no_w_id, no_d_id \
         having max(no_o_id) - min(no_o_id) + 1 <> count(*)) n",
    ),
    (
        4,
        "sum of O_OL_CNT = rows of ORDER-LINE",
        "select count(*) from (select o_w_id, o_d_id, sum(o_ol_cnt) as stated from orders \
         group by o_w_id, o_d_id) o left join (select ol_w_id, ol_d_id, count(*) as found \
         from order_line group by ol_w_id, ol_d_id) l on ol_w_id = o_w_id and ol_d_id = o_d_id \
         where stated <> coalesce(found, 0)",
    ),
    (
        5,
        "O_CARRIER_ID is null exactly when a row of NEW-ORDER exists",
        "select (select count(*) from orders left join new_order on no_w_id = o_w_id \
         and no_d_id = o_d_id and no_o_id = o_id \
         where (o_carrier_id is null) <> (no_o_id is not null)) \
         + (select count(*) from new_order left join orders on no_w_id = o_w_id \
         and no_d_id = o_d_id and no_o_id = o_id where o_id is null)",
    ),
    (
        6,
        "O_OL_CNT = lines of the order",
        "select (select count(*) from orders left join (select ol_w_id, ol_d_id, ol_o_id, \
         count(*) as found from order_line group by ol_w_id, ol_d_id, ol_o_id) l \
         on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where o_ol_cnt <> coalesce(found, 0)) \
         + (select count(*) from order_line left join orders on ol_w_id = o_w_id \
         and ol_d_id = o_d_id and ol_o_id = o_id where o_id is null)",
    ),
    (
        7,
        "OL_DELIVERY_D is null exactly when O_CARRIER_ID is",
        "select count(*) from order_line join orders on ol_w_id = o_w_id and ol_d_id = o_d_id \
         and ol_o_id = o_id where (ol_delivery_d is null) <> (o_carrier_id is null)",
    ),
    (
        8,
        "W_YTD = sum of H_AMOUNT of the warehouse",
        "select count(*) from warehouse left join (select h_w_id, sum(h_amount) as paid \
         from history group by h_w_id) h on h_w_id = w_id where w_ytd <> coalesce(paid, 0)",
    ),
    (
        9,
        "D_YTD = sum of H_AMOUNT of the district",
        "select count(*) from district left join (select h_w_id, h_d_id, sum(h_amount) as paid \
         from history group by h_w_id, h_d_id) h on h_w_id = d_w_id and h_d_id = d_id \
         where d_ytd <> coalesce(paid, 0)",
    ),
    (
        10,
        "C_BALANCE = delivered OL_AMOUNT - H_AMOUNT of the customer",
        "select count(*) from customer \
         left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as bought from orders \
         join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) o \
         on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id \
         left join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid from history \
         group by h_c_w_id, h_c_d_id, h_c_id) h \
         on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id \
         where c_balance <> coalesce(bought, 0) - coalesce(paid, 0)",
    ),
    (
        12,
        "C_BALANCE + C_YTD_PAYMENT = delivered OL_AMOUNT",
        "select count(*) from customer \
         left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as bought from orders \
         join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id \
         where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) o \
         on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id \
         where c_balance + c_ytd_payment <> coalesce(bought, 0)",
    ),
];

const AFTER_LOADING: Condition = (
    11,
    "orders - rows of NEW-ORDER = 2,100 in each district",
    "select count(*) from (select o_w_id, o_d_id, count(*) as all_orders from orders \
     group by o_w_id, o_d_id) o left join (select no_w_id, no_d_id, count(*) as waiting \
     from new_order group by no_w_id, no_d_id) n on no_w_id = o_w_id and no_d_id = o_d_id \
     where all_orders - coalesce(waiting, 0) <> 2100",
);

const AFTER_RUNS: Condition = (
    11,
    "orders - rows of NEW-ORDER = orders that were delivered, in each district",
    "select count(*) from (select o_w_id, o_d_id, count(*) as all_orders, \
     count(o_carrier_id) as delivered from orders group by o_w_id, o_d_id) o \
     left join (select no_w_id, no_d_id, count(*) as waiting from new_order \
     group by no_w_id, no_d_id) n on no_w_id = o_w_id and no_d_id = o_d_id \
     where all_orders - coalesce(waiting, 0) <> delivered",
);

const TPC_B: [Condition; 3] = [
    (
        1,
        "B_BALANCE = sum of T_BALANCE of the branch",
        "select count(*) from branch left join (select t_b_id, sum(t_balance) as total \
         from teller group by t_b_id) t on t_b_id = b_id where b_balance <> coalesce(total, 0)",
    ),
    (
        2,
        "B_BALANCE = sum of the changes by the branch's tellers",
        "select count(*) from branch left join (select g_b_id, sum(g_delta) as total \
         from ledger group by g_b_id) g on g_b_id = b_id where b_balance <> coalesce(total, 0)",
    ),
    (
        3,
        "sum of A_BALANCE = sum of all changes",
        "select case when (select coalesce(sum(a_balance), 0) from account) \
         = (select coalesce(sum(g_delta), 0) from ledger) then 0 else 1 end",
    ),
];

/// Return the conditions of a database, each with how often it is broken.
///
/// # Errors
///
/// If the database is not this program's, or refuses.
pub fn check(place: &Place, name: &str) -> Result<(Mark, Vec<Finding>), DriverError> {
    runtime()?.block_on(async {
        let mut link = connect(place, name, Manner::default()).await?;
        let mark = mark::read(&mut link, name).await?;
        if mark.stage == Stage::Loading {
            return Err(DriverError::Database(format!(
                "the database `{name}` is not loaded to the end; load it again, and it continues"
            )));
        }
        Ok((mark, findings(&mut link, mark).await?))
    })
}

/// Return the orders of a journal that a database does not have.
///
/// # Errors
///
/// If the journal cannot be read, or the database refuses.
pub fn missing_orders(
    place: &Place,
    name: &str,
    journal: &Path,
) -> Result<Vec<String>, DriverError> {
    let text =
        fs::read_to_string(journal).map_err(|error| DriverError::file(journal.display(), error))?;
    runtime()?.block_on(async {
        let mut link = connect(place, name, Manner::default()).await?;
        mark::read(&mut link, name).await?;
        let said = || DriverError::of("looking for the orders of the journal");
        let sql = format!("select o_w_id, o_d_id, o_id from orders where o_id > {ORDERS}");
        let rows = link.ask(&sql).await.map_err(said())?;
        let number = |row: &Row| -> Result<String, Failure> {
            let [warehouse, district, order] =
                [row[0].number()?, row[1].number()?, row[2].number()?];
            Ok(format!("{warehouse} {district} {order}"))
        };
        let found = rows.iter().map(number).collect::<Result<BTreeSet<_>, _>>();
        let found = found.map_err(said())?;
        Ok(text
            .lines()
            .filter(|line| !found.contains(*line))
            .map(ToOwned::to_owned)
            .collect())
    })
}

async fn findings(link: &mut Link, mark: Mark) -> Result<Vec<Finding>, DriverError> {
    let eleventh = if mark.stage == Stage::Loaded {
        AFTER_LOADING
    } else {
        AFTER_RUNS
    };
    let conditions: Vec<Condition> = match mark.workload {
        Workload::TpcC => TPC_C.into_iter().chain([eleventh]).collect(),
        Workload::TpcB => TPC_B.to_vec(),
    };
    let mut findings = Vec::with_capacity(conditions.len());
    for (number, condition, sql) in conditions {
        let broken = link.count(sql).await;
        let broken = broken.map_err(DriverError::of(format!("checking condition {number}")))?;
        findings.push(Finding {
            number,
            condition,
            broken,
        });
    }
    findings.sort_by_key(|finding| finding.number);
    Ok(findings)
}

/// What a database has counted since it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCounts {
    /// Table; `all` where the server counts all together, other databases too.
    pub table: String,
    /// Rows that were inserted, also by transactions that were rolled back.
    pub inserted: i64,
    /// Rows that were changed.
    pub updated: i64,
    /// Rows that were deleted.
    pub deleted: i64,
}

const ROWS_OF_POSTGRES: &str =
    "select relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables";
const ROWS_OF_MARIADB: &str = "select variable_name, variable_value \
     from information_schema.global_status \
     where variable_name in ('HANDLER_WRITE', 'HANDLER_UPDATE', 'HANDLER_DELETE')";

/// Return a database's own counters of rows; SQLite has none.
///
/// # Errors
///
/// If the database is not this program's, or refuses.
pub fn rows(place: &Place, name: &str) -> Result<Vec<RowCounts>, DriverError> {
    let said = || DriverError::of("reading the counters of rows");
    runtime()?.block_on(async {
        let mut link = connect(place, name, Manner::default()).await?;
        mark::read(&mut link, name).await?;
        match place.product {
            Product::Postgres => {
                let found = link.ask(ROWS_OF_POSTGRES).await.map_err(said())?;
                let counts = found.iter().map(|row| {
                    Ok::<_, Failure>(RowCounts {
                        table: row[0].text().to_owned(),
                        inserted: row[1].number()?,
                        updated: row[2].number()?,
                        deleted: row[3].number()?,
                    })
                });
                counts.collect::<Result<_, _>>().map_err(said())
            }
            Product::Mariadb => {
                let found = link.ask(ROWS_OF_MARIADB).await.map_err(said())?;
                let number = |name: &str| {
                    let row = found.iter().find(|row| row[0].text() == name);
                    row.map_or(Ok(0), |row| row[1].number())
                };
                let all = RowCounts {
                    table: "all".to_owned(),
                    inserted: number("HANDLER_WRITE").map_err(said())?,
                    updated: number("HANDLER_UPDATE").map_err(said())?,
                    deleted: number("HANDLER_DELETE").map_err(said())?,
                };
                Ok(vec![all])
            }
            Product::Sqlite => Ok(Vec::new()),
        }
    })
}
