//! The rows of a database when it is loaded.
//!
//! Each part of a table (a district's customers, a warehouse's stock) has a stream of its own, so
//! that parts may be loaded in any order, by several connections, and again after a failure, with
//! the same rows.
//!
//! Source: TPC-C, clauses 1.3 and 4.3.3.1; TPC-B, clauses 3.1 and 3.2.

use super::chance::{Chance, Constants, last_name};
use super::columns::{self, Columns};
use super::scale::{
    BAD_CREDIT, CARRIERS, CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, LINES, LOADED_QUANTITY,
    NAMED_IN_ORDER, ORDERS,
};
use super::tpcb::{ACCOUNTS, TELLERS};

/// What is loaded, and then asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Nine tables, five transactions; it grows by warehouses.
    TpcC,
    /// Four tables, one transaction; it grows by branches.
    TpcB,
}

impl Workload {
    /// Tables, in an order in which they may refer to those before.
    pub const fn tables(self) -> &'static [Table] {
        use Table::{
            Account, Branch, Customer, District, History, Item, Ledger, NewOrder, OrderLine,
            Orders, Stock, Teller, Warehouse,
        };
        match self {
            Self::TpcC => &[
                Item, Warehouse, District, Stock, Customer, History, Orders, OrderLine, NewOrder,
            ],
            Self::TpcB => &[Branch, Teller, Account, Ledger],
        }
    }

    /// Return all parts of a database with so many warehouses or branches.
    pub fn parts(self, scale: u32) -> Vec<Part> {
        match self {
            Self::TpcC => Part::of_warehouses(scale).collect(),
            Self::TpcB => (1..=scale).map(Part::Branch).collect(),
        }
    }
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the standard")]
pub enum Table {
    Item,
    Warehouse,
    District,
    Stock,
    Customer,
    History,
    Orders,
    OrderLine,
    NewOrder,
    Branch,
    Teller,
    Account,
    Ledger,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A whole number below 2^31.
    Number,
    /// Money, in hundredths.
    Money,
    /// A tax or a discount, in ten thousandths.
    Rate,
    /// A text of at most so many characters.
    Text(u16),
    /// A time, in microseconds since 1970.
    Time,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// Nothing yet.
    Null,
    /// A number, money (hundredths), a rate (ten thousandths) or a time (microseconds).
    Number(i64),
    /// A text.
    Text(String),
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Part of a table that is loaded as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// All items.
    Items,
    /// A warehouse, its districts and its stock.
    Warehouse(u32),
    /// Customers and history of a district.
    Customers(u32, u32),
    /// Orders, lines and new orders of a district.
    Orders(u32, u32),
    /// A branch, its tellers and its accounts.
    Branch(u32),
}

impl Part {
    fn of_warehouses(warehouses: u32) -> impl Iterator<Item = Self> {
        let of_district = move |warehouse: u32| {
            (1..=DISTRICTS).flat_map(move |district| {
                [
                    Self::Customers(warehouse, district),
                    Self::Orders(warehouse, district),
                ]
            })
        };
        let of_warehouse = move |warehouse: u32| {
            std::iter::once(Self::Warehouse(warehouse)).chain(of_district(warehouse))
        };
        std::iter::once(Self::Items).chain((1..=warehouses).flat_map(of_warehouse))
    }

    /// Return its number, which no other part of its database has.
    pub fn key(self) -> u64 {
        match self {
            Self::Items => 0,
            Self::Warehouse(warehouse) | Self::Branch(warehouse) => u64::from(warehouse) << 8,
            Self::Customers(warehouse, district) => u64::from(warehouse) << 8 | u64::from(district),
            Self::Orders(warehouse, district) => {
                u64::from(warehouse) << 8 | 0x80 | u64::from(district)
            }
        }
    }
}

impl Table {
    /// Name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Stock => "stock",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::OrderLine => "order_line",
            Self::NewOrder => "new_order",
            Self::Branch => "branch",
            Self::Teller => "teller",
            Self::Account => "account",
            Self::Ledger => "ledger",
        }
    }

    /// Columns of the primary key, the first of its columns; none of the history.
    pub const fn key(self) -> usize {
        match self {
            Self::Item | Self::Warehouse | Self::Branch | Self::Teller | Self::Account => 1,
            Self::District | Self::Stock => 2,
            Self::Customer | Self::Orders | Self::NewOrder => 3,
            Self::OrderLine => 4,
            Self::History | Self::Ledger => 0,
        }
    }

    /// Columns.
    pub const fn columns(self) -> Columns {
        match self {
            Self::Item => columns::ITEM,
            Self::Warehouse => columns::WAREHOUSE,
            Self::District => columns::DISTRICT,
            Self::Stock => columns::STOCK,
            Self::Customer => columns::CUSTOMER,
            Self::History => columns::HISTORY,
            Self::Orders => columns::ORDERS,
            Self::OrderLine => columns::ORDER_LINE,
            Self::NewOrder => columns::NEW_ORDER,
            Self::Branch => columns::BRANCH,
            Self::Teller => columns::TELLER,
            Self::Account => columns::ACCOUNT,
            Self::Ledger => columns::LEDGER,
        }
    }
}

/// Makes the rows of a database from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// Seed.
    pub seed: u64,
    /// Constants, of which that of loaded names counts.
    pub constants: Constants,
    /// Time of loading, in microseconds since 1970.
    pub loaded_us: i64,
}

/// Receives a row of a table.
pub type Sink<'a> = dyn FnMut(Table, &[Value]) + 'a;

impl Population {
    /// Make the rows of a part.
    pub fn fill(&self, part: Part, sink: &mut Sink<'_>) {
        let mut chance = Chance::new(self.seed, part.key(), self.constants);
        match part {
            Part::Items => items(&mut chance, sink),
            Part::Warehouse(warehouse) => {
                warehouse_row(&mut chance, warehouse, sink);
                for district in 1..=DISTRICTS {
                    district_row(&mut chance, warehouse, district, sink);
                }
                stock(&mut chance, warehouse, sink);
            }
            Part::Customers(warehouse, district) => {
                self.customers(&mut chance, warehouse, district, sink);
            }
            Part::Orders(warehouse, district) => {
                self.orders(&mut chance, warehouse, district, sink);
            }
            Part::Branch(branch) => branch_rows(&mut chance, branch, sink),
        }
    }

    fn customers(&self, chance: &mut Chance, warehouse: u32, district: u32, sink: &mut Sink<'_>) {
        let time = Value::Number(self.loaded_us);
        for number in 1..=CUSTOMERS {
            let name = if number <= NAMED_IN_ORDER {
                number - 1
            } else {
                chance.loaded_name()
            };
            let first = text(chance, (8, 16));
            let mut row = vec![
                warehouse.into(),
                district.into(),
                number.into(),
                first,
                word("OE"),
                last_name(name).into(),
            ];
            row.extend(address(chance));
            let credit = if chance.happens(BAD_CREDIT) {
                "BC"
            } else {
                "GC"
            };
            row.extend([
                digits(chance, 16),
                time.clone(),
                word(credit),
                Value::Number(5_000_000),
                chance.number(0, 5_000).into(),
                Value::Number(-1_000),
                Value::Number(1_000),
                1_u32.into(),
                0_u32.into(),
                text(chance, (300, 500)),
            ]);
            sink(Table::Customer, &row);
            sink(
                Table::History,
                &[
                    number.into(),
                    district.into(),
                    warehouse.into(),
                    district.into(),
                    warehouse.into(),
                    time.clone(),
                    Value::Number(1_000),
                    text(chance, (12, 24)),
                ],
            );
        }
    }

    fn orders(&self, chance: &mut Chance, warehouse: u32, district: u32, sink: &mut Sink<'_>) {
        let time = Value::Number(self.loaded_us);
        let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
        chance.shuffle(&mut customers);
        for (order, customer) in (1..=ORDERS).zip(customers) {
            let is_delivered = order < FIRST_NEW_ORDER;
            let lines = chance.number(LINES.0, LINES.1);
            let carrier = if is_delivered {
                chance.number(1, CARRIERS).into()
            } else {
                Value::Null
            };
            sink(
                Table::Orders,
                &[
                    warehouse.into(),
                    district.into(),
                    order.into(),
                    customer.into(),
                    time.clone(),
                    carrier,
                    lines.into(),
                    1_u32.into(),
                ],
            );
            for line in 1..=lines {
                let delivered = if is_delivered {
                    time.clone()
                } else {
                    Value::Null
                };
                let amount = if is_delivered {
                    0
                } else {
                    chance.number(1, 999_999)
                };
                sink(
                    Table::OrderLine,
                    &[
                        warehouse.into(),
                        district.into(),
                        order.into(),
                        line.into(),
                        chance.number(1, ITEMS).into(),
                        warehouse.into(),
                        delivered,
                        LOADED_QUANTITY.into(),
                        amount.into(),
                        text(chance, (24, 24)),
                    ],
                );
            }
            if !is_delivered {
                sink(
                    Table::NewOrder,
                    &[warehouse.into(), district.into(), order.into()],
                );
            }
        }
    }
}

fn items(chance: &mut Chance, sink: &mut Sink<'_>) {
    for number in 1..=ITEMS {
        let row = [
            number.into(),
            chance.number(1, 10_000).into(),
            text(chance, (14, 24)),
            chance.number(100, 10_000).into(),
            data(chance),
        ];
        sink(Table::Item, &row);
    }
}

fn warehouse_row(chance: &mut Chance, warehouse: u32, sink: &mut Sink<'_>) {
    let mut row = vec![warehouse.into(), text(chance, (6, 10))];
    row.extend(address(chance));
    row.extend([chance.number(0, 2_000).into(), Value::Number(30_000_000)]);
    sink(Table::Warehouse, &row);
}

fn district_row(chance: &mut Chance, warehouse: u32, district: u32, sink: &mut Sink<'_>) {
    let mut row = vec![warehouse.into(), district.into(), text(chance, (6, 10))];
    row.extend(address(chance));
    row.extend([
        chance.number(0, 2_000).into(),
        Value::Number(3_000_000),
        (ORDERS + 1).into(),
    ]);
    sink(Table::District, &row);
}

fn branch_rows(chance: &mut Chance, branch: u32, sink: &mut Sink<'_>) {
    let none = || Value::Number(0);
    sink(
        Table::Branch,
        &[branch.into(), none(), text(chance, (88, 88))],
    );
    for teller in (branch - 1) * TELLERS + 1..=branch * TELLERS {
        sink(
            Table::Teller,
            &[teller.into(), branch.into(), none(), text(chance, (84, 84))],
        );
    }
    for account in (branch - 1) * ACCOUNTS + 1..=branch * ACCOUNTS {
        sink(
            Table::Account,
            &[
                account.into(),
                branch.into(),
                none(),
                text(chance, (84, 84)),
            ],
        );
    }
}

fn stock(chance: &mut Chance, warehouse: u32, sink: &mut Sink<'_>) {
    for item in 1..=ITEMS {
        let mut row = vec![warehouse.into(), item.into(), chance.number(10, 100).into()];
        row.extend((0..DISTRICTS).map(|_| text(chance, (24, 24))));
        row.extend([0_u32.into(), 0_u32.into(), 0_u32.into(), data(chance)]);
        sink(Table::Stock, &row);
    }
}

/// Return two streets, city, state and zip code.
fn address(chance: &mut Chance) -> [Value; 5] {
    let [street, another, city] = std::array::from_fn(|_| text(chance, (10, 20)));
    let mut state = String::new();
    for _ in 0..2 {
        state.push(char::from(
            b'A' + u8::try_from(chance.number(0, 25)).expect("a letter"),
        ));
    }
    let mut zip = String::with_capacity(9);
    chance.zip(&mut zip);
    [street, another, city, state.into(), zip.into()]
}

fn text(chance: &mut Chance, lengths: (u32, u32)) -> Value {
    let mut text = String::with_capacity(lengths.1 as usize);
    chance.text(&mut text, lengths);
    text.into()
}

fn digits(chance: &mut Chance, length: u32) -> Value {
    let mut text = String::with_capacity(length as usize);
    chance.digits(&mut text, length);
    text.into()
}

/// Return data of an item or of stock.
fn data(chance: &mut Chance) -> Value {
    let mut text = String::with_capacity(50);
    chance.data(&mut text, (26, 50));
    text.into()
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}
