//! Sizes, shares and times of the standard.
//!
//! Source: TPC-C Standard Specification, revision 5.11, clauses 1.2, 2.4 to 2.8, 4.3 and 5.2.

/// Districts of a warehouse, each with a terminal.
pub const DISTRICTS: u32 = 10;
/// Customers of a district.
pub const CUSTOMERS: u32 = 3_000;
/// Customers of a district who have the last names in order; the others draw theirs.
pub const NAMED_IN_ORDER: u32 = 1_000;
/// Last names.
pub const NAMES: u32 = 1_000;
/// Items, each in the stock of every warehouse.
pub const ITEMS: u32 = 100_000;
/// An item that nobody has: the order with it rolls back.
pub const UNUSED_ITEM: u32 = ITEMS + 1;
/// Orders of a district at first.
pub const ORDERS: u32 = 3_000;
/// The first order of a district that is not delivered yet.
pub const FIRST_NEW_ORDER: u32 = 2_101;
/// Fewest and most lines of an order.
pub const LINES: (u32, u32) = (5, 15);
/// Most copies of an item in a line.
pub const MOST_QUANTITY: u32 = 10;
/// Copies of an item in each line that is loaded.
pub const LOADED_QUANTITY: u32 = 5;
/// Least and most paid, in hundredths.
pub const PAID: (u32, u32) = (100, 500_000);
/// Carriers.
pub const CARRIERS: u32 = 10;
/// Least and most stock below which Stock-Level counts an item.
pub const THRESHOLD: (u32, u32) = (10, 20);
/// Share of the lines that another warehouse supplies.
pub const REMOTE_LINES: f64 = 0.01;
/// Share of the payments by customers of another warehouse.
pub const REMOTE_PAYMENTS: f64 = 0.15;
/// Share of the orders that roll back.
pub const ROLLBACKS: f64 = 0.01;
/// Share of the customers who are asked for by last name.
pub const BY_NAME: f64 = 0.60;
/// Share of items and of stock whose data hold the word `ORIGINAL`.
pub const ORIGINAL: f64 = 0.10;
/// Share of the customers with bad credit.
pub const BAD_CREDIT: f64 = 0.10;

/// The five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An order of 5 to 15 lines.
    NewOrder,
    /// A payment.
    Payment,
    /// The newest order of a customer.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// How many recently sold items are low.
    StockLevel,
}

impl Kind {
    /// All five, in the order of the standard.
    pub const ALL: [Self; 5] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// Name in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Cards in a deck of 23 (clause 5.2.4.2).
    pub const fn cards(self) -> usize {
        match self {
            Self::NewOrder | Self::Payment => 10,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 1,
        }
    }

    /// Time (s) to key in its input (clause 5.2.5.2).
    pub const fn keying_s(self) -> f64 {
        match self {
            Self::NewOrder => 18.0,
            Self::Payment => 3.0,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2.0,
        }
    }

    /// Mean time (s) to think about its answer (clause 5.2.5.4).
    pub const fn thinking_s(self) -> f64 {
        match self {
            Self::NewOrder | Self::Payment => 12.0,
            Self::OrderStatus => 10.0,
            Self::Delivery | Self::StockLevel => 5.0,
        }
    }
}
