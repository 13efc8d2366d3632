//! TPC-C and TPC-B on real databases: loads them, checks them, and puts the load on.
//!
//! One process of a load runs on the shared load driver (`recording/load` of the core), in one
//! thread for a server and in one for each connection for SQLite; inputs come from `transactions/inputs`, which also holds the
//! constants of the simulated transactions. Money and rates are whole numbers (hundredths, ten
//! thousandths), as clause 1.3.1 of TPC-C allows.
//!
//! Invariant: no table is made, changed or dropped in a database without the mark of this program
//! (see `database/mark.rs`); no password is printed or stored.

pub mod acid;
pub mod check;
pub mod command;
pub mod database;
pub mod error;
pub mod job;
pub mod load;
pub mod populate;
pub mod target;
pub mod transactions;
