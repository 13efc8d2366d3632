//! Tables, keys, indexes and functions.
//!
//! Keys of PostgreSQL are made after loading; MariaDB and SQLite keep rows in the order of their
//! keys, so those have them from the beginning.

use std::fmt::Write as _;

use headroom_transactions::systems::transactions::inputs::{Table, Type, Workload};

use crate::target::Product;

const FUNCTIONS_OF_POSTGRES: &str = include_str!("functions/postgres.sql");
const PROCEDURES_OF_MARIADB: &str = include_str!("functions/mariadb.sql");
/// Columns without a value at first.
const MAY_BE_NULL: [&str; 2] = ["o_carrier_id", "ol_delivery_d"];
/// The ways to rows that are not by key.
const INDEXES: [(Table, &str, &str); 2] = [
    (
        Table::Customer,
        "customer_by_name",
        "c_w_id, c_d_id, c_last, c_first",
    ),
    (
        Table::Orders,
        "orders_by_customer",
        "o_w_id, o_d_id, o_c_id, o_id",
    ),
];

/// Return the statement that makes a table.
pub fn table(table: Table, product: Product) -> String {
    let mut columns: Vec<String> = table
        .columns()
        .iter()
        .map(|&(name, kind)| column(name, kind, product))
        .collect();
    let key = key(table);
    if product != Product::Postgres && !key.is_empty() {
        columns.push(format!("primary key ({key})"));
    }
    let options = match product {
        Product::Mariadb => " engine = InnoDB",
        Product::Sqlite if !key.is_empty() => " without rowid",
        _ => "",
    };
    format!(
        "create table if not exists {} ({}){options}",
        table.name(),
        columns.join(", ")
    )
}

/// Return the statements that make what is missing once the rows are there.
pub fn after_loading(workload: Workload, product: Product) -> Vec<String> {
    let tables = workload.tables();
    let mut all = Vec::new();
    if product == Product::Postgres {
        let keyed = tables.iter().filter(|&&table| !key(table).is_empty());
        all.extend(keyed.map(|&table| {
            format!(
                "alter table {} add primary key ({})",
                table.name(),
                key(table)
            )
        }));
    }
    let of_workload = |table: &Table| tables.contains(table);
    for (table, name, columns) in INDEXES.iter().filter(|(table, ..)| of_workload(table)) {
        all.push(format!(
            "create index {name} on {} ({columns})",
            table.name()
        ));
    }
    all.extend(functions(product));
    all
}

/// Return the statements that make the transactions as functions.
pub fn functions(product: Product) -> Vec<String> {
    match product {
        Product::Postgres => vec![FUNCTIONS_OF_POSTGRES.to_owned()],
        Product::Mariadb => {
            let pieces = PROCEDURES_OF_MARIADB.split("//\n").map(str::trim);
            pieces
                .filter(|piece| !piece.is_empty())
                .map(ToOwned::to_owned)
                .collect()
        }
        Product::Sqlite => Vec::new(),
    }
}

/// Return the statements after which plans are made with what is known of the rows.
pub fn statistics(workload: Workload, product: Product) -> Vec<String> {
    match product {
        Product::Postgres => vec!["vacuum analyze".to_owned()],
        Product::Mariadb => {
            let names: Vec<&str> = workload.tables().iter().map(|table| table.name()).collect();
            vec![format!("analyze table {}", names.join(", "))]
        }
        Product::Sqlite => {
            vec![
                "analyze".to_owned(),
                "pragma wal_checkpoint(truncate)".to_owned(),
            ]
        }
    }
}

fn column(name: &str, kind: Type, product: Product) -> String {
    let mut text = name.to_owned();
    let kind = match (kind, product) {
        (Type::Text(longest), _) => format!("varchar({longest})"),
        (_, Product::Sqlite) | (Type::Number | Type::Rate, _) => "integer".to_owned(),
        (Type::Money, _) => "bigint".to_owned(),
        (Type::Time, Product::Postgres) => "timestamptz".to_owned(),
        (Type::Time, Product::Mariadb) => "datetime(6)".to_owned(),
    };
    let _ = write!(text, " {kind}");
    if !MAY_BE_NULL.contains(&name) {
        text.push_str(" not null");
    }
    text
}

fn key(table: Table) -> String {
    let names: Vec<&str> = table.columns()[..table.key()]
        .iter()
        .map(|&(name, _)| name)
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_last_where_rows_are_not_kept_in_their_order() {
        assert!(!table(Table::Stock, Product::Postgres).contains("primary key"));
        assert!(table(Table::Stock, Product::Mariadb).contains("primary key (s_w_id, s_i_id)"));
        let after = after_loading(Workload::TpcC, Product::Postgres);
        assert!(after.contains(&"alter table stock add primary key (s_w_id, s_i_id)".to_owned()));
        assert!(!table(Table::History, Product::Sqlite).contains("without rowid"));
    }

    #[test]
    fn there_are_six_procedures() {
        assert_eq!(functions(Product::Mariadb).len(), 6);
        assert_eq!(
            PROCEDURES_OF_MARIADB
                .matches("create or replace procedure")
                .count(),
            6
        );
    }
}
