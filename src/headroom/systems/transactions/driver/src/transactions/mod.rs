//! The transactions, as a terminal of a database has them carried out.

mod by_function;
mod by_statement;
mod counts;
mod session;

pub use counts::Counts;
pub use session::{Form, Plan, Session, Tally};

use headroom_transactions::systems::transactions::inputs::Input;
use headroom_transactions::systems::transactions::inputs::tpcb::Change;

/// What a terminal asks for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// One of TPC-C.
    TpcC(Input),
    /// That of TPC-B.
    TpcB(Change),
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// An order with its number; 0 if it was rolled back as it should.
    Order(i64),
    /// A payment.
    Paid,
    /// Lines of the order that was looked at.
    Looked(i64),
    /// Orders that were delivered, and their lines.
    Delivered(i64, i64),
    /// Items that are low.
    Counted(i64),
    /// The balance of the account.
    Changed(i64),
}
